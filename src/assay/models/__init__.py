"""Models behind an address: `endpoint` is the one client of services that speak JSON, and alone tries again.

`http_pool` keeps the connections that it sends over, and alone uses `httpcore`.
`chat` is what a chat model is, `endpoint_chat` one behind an OpenAI-compatible address. `budget`, `cached` and
`limited` go around any model; `structured` reads what it replied; `fingerprints` finds out which weights answered.
"""
