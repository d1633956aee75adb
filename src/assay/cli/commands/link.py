"""`assay link`: join two memories."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.records import EdgeKind
from assay.verbs import memory as memory_verbs

FromArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory the edge leaves.")]
KindArgument = Annotated[EdgeKind, typer.Argument(help="How the first bears on the second.")]
ToArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory it leads to.")]
StrengthOption = Annotated[float, typer.Option(help="From 0 to 1.")]
EvidenceOption = Annotated[str, typer.Option(help="Why this is so.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "link")
    def link(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        source: FromArgument,
        kind: KindArgument,
        target: ToArgument,
        strength: StrengthOption = 1.0,
        evidence: EvidenceOption = "",
    ) -> None:
        """Join two memories: the first caused, enabled, supports, ... the second."""
        edge = surface.call(
            memory_verbs.LINK, source_id=source, kind=kind, target_id=target, strength=strength, evidence=evidence
        )
        surface.show(memory_verbs.LINK, edge, f"{source} {kind.value} {target} ({strength:.2f})")
