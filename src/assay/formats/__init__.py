"""Files in and out: TREC and BEIR judgments, TREC runs, gzip or plain.

`source` bytes in blocks, `fields` where fields stand, `words`, `identity` and `decimals` what they say, `trec`,
`beir` and `qrels` the files, `writing` the way back. `memory_files` memories that other tools exported, `front_matter`
the properties of a Markdown file.
"""
