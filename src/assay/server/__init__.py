"""The HTTP server: REST API and dashboard over the same use-cases as the command line. Thin: parse, call, render.

`application` puts it together, `services` is what every route works with, `routing` how a route is declared (with the
policy it must have), `security` what stands in front of all of them, `routers` the API by resource, `pages` the
dashboard, `live` the questions on their way, `lifespan` how it begins and ends.
"""
