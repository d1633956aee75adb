"""Verbs on who may come in: tokens, and the sign-ins of browsers, for admins; the list of tenants, for operators.

The text of a token is shown once, in the answer that makes it. The store keeps a hash of it, and so does nothing else:
a repeat of the same HTTP request under its `Idempotency-Key` is answered without the text.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.errors import PersonNeeded
from assay.records.access import (
    LONGEST_DAYS,
    Access,
    CreatedToken,
    SignInLine,
    SignInList,
    TenantPage,
    TokenLine,
    TokenList,
)
from assay.verbs.fields import Id, YesNo
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor, row_id
from assay.verbs.verb import Caller, Family, HttpRoute, Request, ShownOnce, Verb

TOKEN_ONCE = ShownOnce(
    fields=("token",),
    notice="The token's text was shown once, in the first answer, and is not kept. If it is lost, revoke this token "
    "and make another.",
)


TENANTS = "tenants"


class ListTenantsRequest(Request):
    """Which page."""

    cursor: PageCursor = None
    limit: PageLimit = 100


class ListTokensRequest(Request):
    """Whose tokens."""

    # Not strict: in an address everything is text.
    all_tenants: Annotated[bool, Field(description="Of every tenant; for operators.")] = False


class CreateTokenRequest(Request):
    """What the token is to open."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "ci", "access": "read", "days": 90}]})

    name: Annotated[
        str, Field(min_length=1, max_length=200, description="Who or what it is for; the audit log has it.")
    ]
    access: Annotated[
        Access, Field(description=f"How far it reaches; each includes the ones before it: {', '.join(Access)}.")
    ] = Access.READ
    days: Annotated[
        int | None,
        Field(
            strict=True,
            ge=1,
            le=LONGEST_DAYS,
            description=f"After how many days it opens nothing, 1 to {LONGEST_DAYS:,}. Left out: it does not expire.",
        ),
    ] = None
    person: Annotated[
        YesNo,
        Field(
            description="A person uses it: notes saved with it count as written by hand. Only a person can make one."
        ),
    ] = False


class RevokeTokenRequest(Request):
    """Which token."""

    token_id: Annotated[Id, Field(description="The token's id, as the list of tokens has it.")]


class ListSignInsRequest(Request):
    """Nothing: every sign-in of the tenant is listed."""


class EndSignInRequest(Request):
    """Which sign-in."""

    session_id: Annotated[Id, Field(description="The sign-in's id, as the list of sign-ins has it.")]


def list_tenants(caller: Caller, request: ListTenantsRequest) -> TenantPage:
    """Read one page of the tenants of the store."""
    after = read_cursor(TENANTS, request.cursor, row_id, "")
    with caller.engine.store.reading(caller.scope) as work:
        rows = work.tenants.page(after=after, limit=request.limit + 1, now=work.now())
    shown, following = cut_page(TENANTS, rows, request.limit, lambda line: line.tenant)
    return TenantPage(tenants=tuple(shown), next_cursor=following)


def list_tokens(caller: Caller, request: ListTokensRequest) -> TokenList:
    """Read the tokens of the tenant, or of every tenant, without their hashes."""
    if not request.all_tenants:
        own = caller.scope.tenant
        return TokenList(tokens=tuple(token.describe(own) for token in caller.tokens.all(caller.scope)))
    caller.require(
        Access.OPERATOR,
        person=False,
        what=f"tokens of every tenant need operator access, and the caller has {caller.grant.access}",
        remedy="Leave all_tenants out, or use an operator's token.",
    )
    found = caller.tokens.list_everywhere(caller.scope)
    return TokenList(tokens=tuple(token.describe(tenant) for tenant, token in found))


def create_token(caller: Caller, request: CreateTokenRequest) -> CreatedToken:
    """Make a token that reaches no further than the caller's own access."""
    if request.person and caller.is_program:
        raise PersonNeeded(
            "a program cannot make a token for a person",
            remedy="Run `assay token create --person`, or ask with the token of a person.",
        )
    made = caller.tokens.create(
        caller.scope,
        request.name,
        request.access,
        days=request.days,
        by=caller.grant.access,
        person=request.person,
    )
    return CreatedToken(**asdict(made.kept.describe(caller.scope.tenant)), token=made.text)


def revoke_token(caller: Caller, request: RevokeTokenRequest) -> TokenLine:
    """Let a token open nothing from now on."""
    revoked = caller.tokens.revoke(caller.scope, request.token_id, by=caller.grant.access)
    caller.forget_tokens()
    return revoked.describe(caller.scope.tenant)


def list_sign_ins(caller: Caller, request: ListSignInsRequest) -> SignInList:  # noqa: ARG001 - one shape for all verbs
    """Read the sign-ins of the tenant, without the secrets of their cookies."""
    return SignInList(sign_ins=tuple(caller.sign_ins.all(caller.scope)))


def end_sign_in(caller: Caller, request: EndSignInRequest) -> SignInLine:
    """Let a browser's sign-in open nothing from now on."""
    return caller.sign_ins.end(caller.scope, request.session_id)


LIST_TENANTS = Verb(
    name="tenant.list",
    summary="List the tenants of the store with their memories and tokens, by name, page by page; for operators.",
    act=acts.TENANT_READ,
    request=ListTenantsRequest,
    result=TenantPage,
    call=list_tenants,
    http=HttpRoute("GET", "/api/tenants"),
    command="tenant list",
    client="tenants",
    python="Memory.tenants",
)
LIST_TOKENS = Verb(
    name="token.list",
    summary="List every token of the tenant, or of all tenants, oldest first; revoked and expired ones too, never "
    "their text.",
    act=acts.TOKEN_READ,
    request=ListTokensRequest,
    result=TokenList,
    call=list_tokens,
    http=HttpRoute("GET", "/api/tokens"),
    command="token list",
    client="tokens",
    python="Memory.tokens",
)
CREATE_TOKEN = Verb(
    name="token.create",
    summary="Make a token for this tenant that reaches no further than your own; its text is shown now, never again.",
    act=acts.TOKEN_CHANGE,
    request=CreateTokenRequest,
    result=CreatedToken,
    call=create_token,
    http=HttpRoute("POST", "/api/tokens", shown_once=TOKEN_ONCE),
    command="token create",
    client="create_token",
    python="Memory.create_token",
)
REVOKE_TOKEN = Verb(
    name="token.revoke",
    summary="Let a token open nothing from now on.",
    act=acts.TOKEN_CHANGE,
    request=RevokeTokenRequest,
    result=TokenLine,
    call=revoke_token,
    http=HttpRoute("DELETE", "/api/tokens/{token_id}", (404,)),
    command="token revoke",
    client="revoke_token",
    python="Memory.revoke_token",
)
LIST_SIGN_INS = Verb(
    name="sign_in.list",
    summary="List the browsers that signed in with a token of the tenant, newest first; those that are over for a "
    "month.",
    act=acts.TOKEN_READ,
    request=ListSignInsRequest,
    result=SignInList,
    call=list_sign_ins,
    http=HttpRoute("GET", "/api/sign-ins"),
    command="token sessions",
    client="sign_ins",
    python="Memory.sign_ins",
)
END_SIGN_IN = Verb(
    name="sign_in.end",
    summary="Let a browser's sign-in open nothing from now on.",
    act=acts.TOKEN_CHANGE,
    request=EndSignInRequest,
    result=SignInLine,
    call=end_sign_in,
    http=HttpRoute("DELETE", "/api/sign-ins/{session_id}", (404,)),
    command="token end",
    client="end_sign_in",
    python="Memory.end_sign_in",
)

FAMILY = Family(
    name="access", verbs=(LIST_TENANTS, LIST_TOKENS, CREATE_TOKEN, REVOKE_TOKEN, LIST_SIGN_INS, END_SIGN_IN)
)
