"""`assay why`: what stands behind a memory, as a tree."""

from __future__ import annotations

import typer
from rich.text import Text
from rich.tree import Tree

from assay.cli.commands.show import IdArgument
from assay.cli.surface import Surface, command
from assay.records import Reason, Why
from assay.verbs import memory as memory_verbs


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "why")
    def why(surface: Surface, memory_id: IdArgument) -> None:
        """Show what caused, enabled or supports a memory, and what stands behind that in turn."""
        found = surface.call(memory_verbs.WHY, memory_id=memory_id)
        surface.show(memory_verbs.WHY, found, _tree(found))
        if not found.chain.behind:
            surface.note("Nothing is known to stand behind it. Say what does: assay link CAUSE caused " + memory_id)
        for other in found.contradicted_by:
            surface.note(f"contradicted by {other}")
        if found.cut:
            surface.note("The chain goes on; ask about the last memory shown.")


def _tree(found: Why) -> Tree:
    tree = Tree(_label(found.chain), guide_style="dim")
    _grow(tree, found.chain)
    return tree


def _grow(tree: Tree, reason: Reason) -> None:
    for one in reason.behind:
        _grow(tree.add(_label(one)), one)


def _label(one: Reason) -> Text:
    kind = "" if one.kind is None else f"{one.kind.value} "
    strength = "" if one.kind is None else f"  {one.strength:.2f}"
    evidence = f"  ({one.evidence})" if one.evidence else ""
    return Text.assemble((kind, "cyan"), one.title, (f"  {one.memory_id}{strength}{evidence}", "dim"))
