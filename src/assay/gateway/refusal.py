"""The error that ends a request before it reaches its route."""

from __future__ import annotations

from collections.abc import Mapping


class RequestRefused(Exception):
    """A refused request. It concerns HTTP alone, so it is not an `AssayError`; its JSON has the same shape."""

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
        """Return the error in the shape that every surface uses."""
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}
