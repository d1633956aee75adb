"""Chat models and other services behind an address.

- `endpoint`: the client of services that use JSON over HTTP. Only it repeats failed calls.
- `http_pool`: the pooled connections that `endpoint` uses. Only it opens connections.
- `chat`: the protocol of a chat model, a limit on concurrent calls, a cache of replies, and fingerprints of weights.
- `endpoint_chat`: a chat model behind an OpenAI-compatible address.
- `budget`: budgets that cannot be overdrawn, and the usage of calls.
- `recorded`: a chat model that replays recorded replies.
- `structured`: reads JSON from replies, with one repair request for a reply that cannot be read.
"""
