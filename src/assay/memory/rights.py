"""Who may change a memory after it was saved. Every surface uses these rules, so all refuse with the same message.

A person (the command line, `assay.Memory`, a token made with `--person`) may change any memory of the tenant. A program
(an MCP agent, any other token, an API call without a token) may change what its own principal wrote, and neither
constitutional memories nor what a person wrote by hand or took in from a file.
"""

from __future__ import annotations

from assay.errors import NotAllowed
from assay.records import AuthorKind, MemoryRecord, MemoryStatus, Scope, Tier
from assay.records.memory import INGESTED_WITH


def check_change(memory: MemoryRecord, scope: Scope, verb: str, *, automated: bool, command: str | None = None) -> None:
    """Refuse a change that this writer may not make; `verb` is `forget`, `update`, `restore` or `change the tier of`.

    `command` is what a person would run; left out: the command of the verb.
    """
    if not automated:
        return
    if memory.tier is Tier.CONSTITUTIONAL:
        why = f"the memory {memory.id!r} is constitutional, and only a person may {verb} it"
    elif memory.written_by != scope.principal:
        why = f"the memory {memory.id!r} was not written by {scope.principal!r}, who may only {verb} its own memories"
    elif memory.author.kind is AuthorKind.PERSON:
        how = "taken in from a file" if memory.written_with == INGESTED_WITH else "written by hand"
        why = f"the memory {memory.id!r} was {how}, and only a person may {verb} it"
    else:
        return
    if command is None:
        command = f"assay forget {memory.id} --reversible" if verb == "forget" else f"assay {verb} {memory.id}"
    raise NotAllowed(
        why,
        remedy=f"Ask a person to run `{command}`, or use the token of a person (`assay token create --person`).",
    )


def check_readable(memory: MemoryRecord) -> None:
    """Refuse to show a forgotten memory, except to those who maintain the store."""
    if memory.status is MemoryStatus.FORGOTTEN:
        raise NotAllowed(f"the memory {memory.id!r} is forgotten", remedy="Restore it first, if it is needed again.")
