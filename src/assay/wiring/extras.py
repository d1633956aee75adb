"""Optional parts: what each needs, and the refusal that names the install command."""

from __future__ import annotations

import importlib.util

from assay.errors import MissingExtra

ENGINE_MODULES = ("sqlalchemy", "alembic", "tantivy", "usearch", "semantic_text_splitter", "markdown_it")
"""What the engine cannot do without."""


def need_extra(extra: str, *modules: str) -> None:
    """Refuse, with the install command, when an optional part is not there."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"this needs the Python package {missing[0]!r}, which is not installed",
            remedy=f"Install it: pip install 'assay[{extra}]'.",
        )
