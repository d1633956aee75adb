"""The entities of a golden file: one document each, its text inside or in a file of its own."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.files import inside
from assay.formats.keys import Keys, a_moment, an_object, texts
from assay.records.datasets import Document
from assay.records.memory import Format, Tier
from assay.regular_files import read_regular

SUFFIXES = {Format.MARKDOWN: ".md", Format.TEXT: ".txt", Format.JSON: ".json"}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def entity(value: Any, *, folder: Path) -> Document:
    """A document from its object; a `content_file` is looked for in the folder."""
    keys = Keys(value, "the entity")
    ident = keys.need("entity_id")
    metadata = an_object(keys.take("metadata", {}), "metadata")
    given: dict[str, Any] = keys.given(
        entity_type="entity_type", title="title", rel_path="rel_path", folder="folder", tier="tier"
    )
    for name in ("tags", "triggers"):
        given[name] = texts(keys.take(name, []), name)
    dated = keys.take("dated")
    given["dated"] = None if dated is None else a_moment(dated, "dated")
    given["format"] = _format(keys.take("format"), metadata)
    text = _text(keys, folder)
    keys.done()
    return Document(id=ident, text=text, metadata=metadata, **given)


def entity_fields(one: Document, *, text: bool = True) -> dict[str, Any]:
    """A document as its object; what is at its default is left out."""
    said = _format_in(one.metadata)
    optional = {
        "format": None if said is one.format or (said is None and one.format is Format.MARKDOWN) else one.format.value,
        "rel_path": one.rel_path,
        "folder": one.folder,
        "tier": None if one.tier is Tier.NORMAL else one.tier.value,
        "triggers": list(one.triggers),
        "dated": one.dated and one.dated.isoformat(),
        "metadata": dict(one.metadata),
        "tags": list(one.tags),
    }
    return {
        "entity_id": one.id,
        "entity_type": one.entity_type,
        "title": one.title,
        **({"content": one.text} if text else {}),
        **{key: value for key, value in optional.items() if value},
    }


def name_file(one: Document, taken: set[str]) -> str:
    """A file name for a document's text that no other has, also where case does not count."""
    plain = _UNSAFE.sub("_", one.id).strip(".")[:80]
    if plain != one.id or plain.lower() in taken:
        plain = f"{plain}-{hashlib.sha256(one.id.encode()).hexdigest()[:12]}"
    taken.add(plain.lower())
    return plain + SUFFIXES[one.format]


def read_content(path: Path) -> str:
    """The text of a file, byte for byte."""
    try:
        return read_regular(path).decode()
    except UnicodeDecodeError as problem:
        raise MalformedFile(f"{path} is not UTF-8 at byte {problem.start:,}", remedy="Save it as UTF-8.") from problem
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(f"{path} cannot be read: {reason}", remedy="Check the path and its permissions.") from problem


def _text(keys: Keys, folder: Path) -> Any:
    content, file = keys.take("content"), keys.take("content_file")
    if (content is None) == (file is None):
        many = "neither" if content is None else "both"
        raise BadValue(
            f"the entity has {many} of 'content' and 'content_file'", remedy="Give the text, or the file that holds it."
        )
    if content is not None:
        return content
    place = inside(folder, file) if isinstance(file, str) else None
    if place is None:
        raise BadValue(f"content_file {file!r} is no file beside it", remedy="Name a file below the golden file.")
    return read_content(place)


def _format(given: Any, metadata: dict[str, Any]) -> Any:
    if given is not None:
        return given
    said = _format_in(metadata)
    if said is None and "format" in metadata:
        raise BadValue(
            f"metadata.format {metadata['format']!r} is not known",
            remedy="Use MARKDOWN, TEXT or JSON; or add a 'format' to the entity itself.",
        )
    return Format.MARKDOWN if said is None else said


def _format_in(metadata: Any) -> Format | None:
    said = str(metadata.get("format", "")).upper()
    return Format(said) if said in set(Format) else None
