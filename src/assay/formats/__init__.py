"""Files in and out: test collections, judgments, runs, golden JSON, other tools' datasets and exported memories.

- `files`: reading in blocks (gzip or plain) and writing whole files.
- `blocks`: the fields, ids and numbers of a block of lines, parsed with arrays.
- `strict_json`: JSON that people edit, with line numbers and checked keys.
- `trec`: TREC and BEIR judgments and runs.
- `test_collections`: whole BEIR and TREC datasets.
- `document_text`: the text of web pages and PDF files, or why there is none.
- `web_pages`: a web page as Markdown.
- `golden`: golden JSON, Assay's own dataset format.
- `anchored`: cases with the places that support their answers, and a vault of notes.
- `longmemeval`: LongMemEval datasets.
- `ragas`: Ragas samples.
- `question_table`: a CSV table of questions and expected documents, with a folder of documents.
- `parquet`: datasets in Parquet tables.
- `case_fields`: fields of a case that several formats share.
- `memory_files`: memories that other tools exported.
- `conversations`: chat exports, turn by turn.
- `front_matter`: the properties at the top of a Markdown file.
- `grid`: columns of text side by side.
"""
