"""Remove the texts of tokens that version 0.1 left in stored answers.

`POST /api/tokens` with an `Idempotency-Key` left the whole answer in `request_keys`, with the token in it. Newer
versions store no such answers. The statements are plain SQL, since they run on schemas of old versions.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, text

from assay.hashing import canonical_json
from assay.records.access import TOKEN_SHAPE

REMOVED = "(removed)"
"""Replaces the text of a token."""
_FIND = text("SELECT tenant, principal, key, answer FROM request_keys WHERE answer LIKE '%assay\\_%' ESCAPE '\\'")
_REPLACE = text(
    "UPDATE request_keys SET answer = :answer WHERE tenant = :tenant AND principal = :principal AND key = :key"
)


def remove_token_texts(connection: Connection) -> int:
    """Remove the texts of tokens from stored answers; return how many answers held one."""
    rows = connection.execute(_FIND).all()
    held = [(row, without_token_texts(row.answer)) for row in rows]
    held = [(row, answer) for row, answer in held if answer != row.answer]
    for row, answer in held:
        connection.execute(
            _REPLACE, {"answer": answer, "tenant": row.tenant, "principal": row.principal, "key": row.key}
        )
    return len(held)


def without_token_texts(answer: str) -> str:
    """Return an answer without texts of tokens: null where the field `token` held one, a mark elsewhere."""
    try:
        value: Any = json.loads(answer)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get("token"), str) and TOKEN_SHAPE.search(value["token"]):
        answer = canonical_json({**value, "token": None})
    return TOKEN_SHAPE.sub(REMOVED, answer)
