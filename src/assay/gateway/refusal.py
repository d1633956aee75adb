"""The error that ends a request before it reaches what it asked for."""

from __future__ import annotations

from collections.abc import Mapping


class RequestRefused(Exception):
    """A request that goes no further: a matter of HTTP alone, so no part of the error tree, and of the same shape."""

    def __init__(
        self, status: int, code: str, message: str, *, remedy: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.remedy = remedy
        self.headers = dict(headers or {})

    def as_json(self) -> dict[str, dict[str, str]]:
        """The one shape an error has on every surface."""
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}
