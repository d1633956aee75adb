"""Embedders: text into vectors. Which one is used is a setting; none replaces another unasked.

- `protocol`: what an embedder and a cross-encoder are, and batches of texts of like length.
- `files`: where model files are, and whether they are the expected ones.
- `registry`: every embedder by name, and the decorator that adds one.
- `bundled`: the model that comes with the extra `memory`.
- `granite`: a model trained for retrieval, of the extra `granite`.
- `onnx_format`: writes a network as onnxruntime reads it.
- `onnx`: runs any sentence encoder in ONNX format.
- `cross_encoder`: runs any pair model in ONNX format, which reads a query and a text together.
- `static`: the fast embedder of the extra `fast`.
- `remote`: an OpenAI-compatible endpoint.
- `spread`: an embedder whose texts are embedded by workers.
- `wrappers`: a cache of query vectors, and loading on first use.
- `quiet_runtime`: onnxruntime with its telemetry switched off.
"""
