"""What checks a request before a route sees it.

- `guard`: runs all checks in their order; a request that fails one is refused.
- `callers`: who calls, by token, sign-in or being on this machine.
- `browsers`: the sign-in page and its cookie, the token in every form, and security headers.
"""
