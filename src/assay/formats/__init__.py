"""Files in and out: test collections, judgments, runs, golden JSON, other tools' datasets and exported memories.

- `files`: reading in blocks (gzip or plain) and writing whole files.
- `blocks`: the fields, ids and numbers of a block of lines, parsed with arrays.
- `strict_json`: JSON that people edit, with line numbers and checked keys.
- `trec`: TREC and BEIR judgments and runs; `test_collections`: whole BEIR and TREC datasets.
- `golden`, `anchored`, `longmemeval`, `ragas`, `parquet`: datasets in other formats; `case_fields`: fields they share.
- `memory_files`: memories that other tools exported; `front_matter`: the properties of a Markdown file.
- `grid`: columns of text side by side.
"""
