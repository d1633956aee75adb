"""Embedders: `protocol` what one is; the others are one adapter each, or what adapters share.

`bundled` is the model that comes with the extra `memory`, `local` any ONNX model in a folder, `onnx` what runs both.
`static` is the fast one of the extra `fast`, `remote` an endpoint. `files` finds model files and checks their hashes,
`batching` puts texts of like length together, `around` is what embedders around another share, `cached` is one that
remembers the vectors of recent queries. Which one is used is a setting; none stands in for another unasked.
"""
