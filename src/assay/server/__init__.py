"""The HTTP server: REST API and dashboard over the same use-cases as the command line. Thin: parse, call, render.

- `application`: routes, pages, errors and the guard in front of them; start and end of the server.
- `services`: what every route and page works with.
- `routing`: how a route is declared, with the policy it must have.
- `verb_routes`: routes made from the table of verbs.
- `routers`: routes that are not made from verbs.
- `pages`: the dashboard.
- `security`: sign-in, tokens and the guard.
- `errors`: one shape for every error, and its status.
- `limits`: size, depth and values of a request.
- `idempotency`: writes that may be sent again.
- `streaming`: event streams and live questions.
- `serving`: the socket, and one or several processes on it.
- `demo`: a store with something on every page.
"""
