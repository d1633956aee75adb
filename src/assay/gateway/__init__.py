"""What stands in front of both HTTP servers (`assay serve`, `assay mcp --http`), so that one policy holds for both.

- `front`: the checks in their order, from the first byte to a caller that is known and a body that is read.
- `connections`: how many there may be, and how long each may keep the server waiting.
- `protocol`, `plain_protocol`, `quick_protocol`: tell `connections` what the HTTP parser sees on each connection.
- `serving`: sockets, open files, and how uvicorn is set up.
- `proxies`: the address and scheme of a caller behind a trusted proxy.
- `framing`: requests whose end could be read in two ways.
- `hosts`: the Host a request is meant for, the Origin of the page that sent it.
- `rates`: how often a caller may ask, and how often tokens may fail.
- `bodies`: how long a body may be, and how much memory all bodies may take together.
- `refusal`: the error that ends a request here.
"""
