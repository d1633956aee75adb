"""Who may come in: tokens. For admins of the tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.access.tokens import LONGEST_DAYS
from assay.records.access import Access, AccessToken
from assay.server.errors import Refused
from assay.server.fields import IdInPath, YesNo
from assay.server.routing import Asked, Body, Resource, Result, ShownOnce

RESOURCE = Resource("/api", "governing")


class TokenFound(Result):
    """A token; never the token itself."""

    token_id: str
    name: str
    access: Access
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    person: bool = Field(description="Whether a person uses it; otherwise a program does.")


class TokensFound(Result):
    """Every token of the tenant, oldest first."""

    tokens: list[TokenFound]


class TokenBody(Body):
    """What the token is to open."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ci", "access": "read", "days": 90}]})

    name: Annotated[str, Field(min_length=1, max_length=200)]
    access: Access = Access.READ
    days: Annotated[int | None, Field(strict=True, ge=1, le=LONGEST_DAYS)] = None
    person: Annotated[
        YesNo,
        Field(
            description="A person uses it: notes saved with it count as written by hand. Only a person can make one."
        ),
    ] = False


class TokenMade(TokenFound):
    """A new token, this once with its text."""

    token: str | None = Field(description="Its text; null when the same request is answered again under its key.")
    notice: str | None = Field(None, description="Why there is no text, and what to do.")


TOKEN_ONCE = ShownOnce(
    fields=("token",),
    notice="The token's text was shown once, in the first answer, and is not kept. If it is lost, revoke this token "
    "and make another.",
)


@RESOURCE.get("/tokens", acts.TOKEN_READ)
def list_tokens(asked: Asked) -> TokensFound:
    """Every token of the tenant; revoked and expired ones too."""
    return TokensFound(tokens=[_token(one) for one in asked.services.tokens.all(asked.scope)])


@RESOURCE.post("/tokens", acts.TOKEN_CHANGE, shown_once=TOKEN_ONCE)
def create_token(asked: Asked, body: TokenBody) -> TokenMade:
    """Make a token for this tenant that reaches no further than your own. Its text is shown now and never again.

    The same request under the same `Idempotency-Key` makes no second token: it is answered with the record of the
    first, without its text.
    """
    if body.person and not asked.grant.person:
        raise Refused(
            403,
            "person_needed",
            "a program cannot make a token for a person",
            remedy="Run `assay token create --person`, or ask with the token of a person.",
        )
    made = asked.services.tokens.create(
        asked.scope, body.name, body.access, days=body.days, by=asked.grant.access, person=body.person
    )
    return TokenMade(**_token(made.kept).model_dump(), token=made.text)


@RESOURCE.delete("/tokens/{token_id}", acts.TOKEN_CHANGE, 404)
def revoke_token(asked: Asked, token_id: IdInPath) -> TokenFound:
    """Let a token open nothing from now on."""
    gone = asked.services.tokens.revoke(asked.scope, token_id, by=asked.grant.access)
    asked.services.stored_tokens.forget()
    return _token(gone)


def _token(token: AccessToken) -> TokenFound:
    return TokenFound(**{name: getattr(token, name) for name in TokenFound.model_fields})
