"""What both HTTP servers (`assay serve`, `assay mcp --http`) have in front, so that one policy holds for both.

- `front`: the checks in their order, from the first byte to a caller that is known and a body that is read.
- `connections`: how many there may be, and how long each may keep the server waiting.
- `protocol`: reports to `connections` what the HTTP parser in Python sees on each connection.
- `quick_protocol`: the same for `httptools`, where that is installed.
- `serving`: sockets, open files, and how uvicorn is set up.
- `headers`: one stated end of the body, Host and Origin, and the caller's address behind a trusted proxy.
- `quotas`: how often a caller may ask, how long a body may be, and how much memory all bodies may take.
- `refusal`: the error that ends a request here.
- `logs`: the log of requests and of problems, as text or JSON lines without secrets.
"""
