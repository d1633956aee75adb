"""Prompts: what models are told, its versions, questions split between two of them, and what sessions came to."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records.plain import plain
from assay.records.research_log import LONGEST_PROMPT
from assay.server.fields import IdInPath, YesNo
from assay.server.routing import Asked, Body, Resource, Result

if TYPE_CHECKING:
    from assay.analysis.prompts import PromptBook
    from assay.records.research_log import PromptSplit

RESOURCE = Resource("/api/prompts", "prompts")
SEED = 0
Version = Annotated[int, Query(ge=0, le=2**31 - 1)]


class PromptFound(Result):
    """One version of a prompt; version 0 came with Assay."""

    prompt_id: str
    version: int
    text: str
    active: bool
    created_at: datetime | None
    created_by: str
    note: str


class PromptsFound(Result):
    """Every prompt as it is in use, in the order of the pipeline."""

    prompts: list[PromptFound]


class PromptVersions(Result):
    """Every version of one prompt, the newest first."""

    versions: list[PromptFound]


class PromptBody(Body):
    """A new version."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": 'system = "You plan."\ntask = "Plan."', "note": "shorter"}]}
    )

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT)]
    note: Annotated[str, Field(max_length=1_000)] = ""
    active: Annotated[YesNo, Field(description="false: keep it without using it yet.")] = True


class UseBody(Body):
    """Which version."""

    version: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]


class SplitBody(Body):
    """Which version half of the questions are asked with; the other half stays with the one in use."""

    version: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]


class SplitFound(Result):
    """How a split stands: both sides with their scores, by question, and what the sequential test says of the second.

    Null: the questions of this prompt were never split.
    """

    split: dict[str, Any] | None


class PromptDiff(Result):
    """What changed, line by line; empty: both say the same."""

    diff: str


class PromptsCompared(Result):
    """What sessions came to under two versions."""

    comparison: dict[str, Any]


@RESOURCE.get("", acts.PROMPT_READ)
def list_prompts(asked: Asked) -> PromptsFound:
    """Every prompt with the version in use."""
    return PromptsFound(prompts=[_found(one) for one in _book(asked).in_use(asked.scope).values()])


@RESOURCE.get("/{prompt_id}", acts.PROMPT_READ)
def get_prompt(asked: Asked, prompt_id: IdInPath) -> PromptVersions:
    """Every version of a prompt."""
    return PromptVersions(versions=[_found(one) for one in _book(asked).versions(asked.scope, prompt_id)])


@RESOURCE.put("/{prompt_id}", acts.PROMPT_CHANGE)
def write_prompt(asked: Asked, prompt_id: IdInPath, body: PromptBody) -> PromptFound:
    """Write a new version of a prompt; earlier ones stay, and can be used again."""
    return _found(_book(asked).write(asked.scope, prompt_id, body.text, note=body.note, active=body.active))


@RESOURCE.post("/{prompt_id}/use", acts.PROMPT_CHANGE)
def use_prompt(asked: Asked, prompt_id: IdInPath, body: UseBody) -> PromptFound:
    """Use a version from now on; 0 is the one that came with Assay."""
    return _found(_book(asked).use(asked.scope, prompt_id, body.version))


@RESOURCE.get("/{prompt_id}/split", acts.PROMPT_READ)
def get_split(asked: Asked, prompt_id: IdInPath) -> SplitFound:
    """The split that runs, else the one that ended last."""
    return _standing(asked, _book(asked).last_split(asked.scope, prompt_id))


@RESOURCE.post("/{prompt_id}/split", acts.PROMPT_CHANGE)
def split_prompt(asked: Asked, prompt_id: IdInPath, body: SplitBody) -> SplitFound:
    """Ask half of the questions with another version than the one in use, from now on."""
    return _standing(asked, _book(asked).split(asked.scope, prompt_id, body.version))


@RESOURCE.delete("/{prompt_id}/split", acts.PROMPT_CHANGE)
def end_split(asked: Asked, prompt_id: IdInPath) -> SplitFound:
    """Ask all questions with the version in use again."""
    return _standing(asked, _book(asked).end_split(asked.scope, prompt_id))


@RESOURCE.get("/{prompt_id}/diff", acts.PROMPT_READ)
def diff_prompt(asked: Asked, prompt_id: IdInPath, first: Version, second: Version) -> PromptDiff:
    """What changed between two versions."""
    return PromptDiff(diff=_book(asked).diff(asked.scope, prompt_id, first, second))


@RESOURCE.get("/{prompt_id}/compare", acts.PROMPT_READ)
def compare_prompt(asked: Asked, prompt_id: IdInPath, first: Version, second: Version) -> PromptsCompared:
    """What sessions came to under two versions, with intervals."""
    import numpy as np  # noqa: PLC0415 - only when there is something to compute

    from assay.analysis.offline import compare_prompts  # noqa: PLC0415 - the same

    rng = np.random.default_rng(SEED)
    found = compare_prompts(asked.engine.store, asked.scope, prompt_id, first, second, rng=rng)
    return PromptsCompared(comparison=plain(found))


def _standing(asked: Asked, split: PromptSplit | None) -> SplitFound:
    from assay.analysis.prompt_splits import standing  # noqa: PLC0415 - numpy only when there is something to compute

    if split is None:
        return SplitFound(split=None)
    with asked.engine.store.reading(asked.scope) as work:
        return SplitFound(split=plain(standing(work, split)))


def _book(asked: Asked) -> PromptBook:
    from assay.analysis.prompts import PromptBook  # noqa: PLC0415 - only when prompts are asked for

    return PromptBook(asked.engine.store)


def _found(one: Any) -> PromptFound:
    return PromptFound(**{name: getattr(one, name) for name in PromptFound.model_fields})
