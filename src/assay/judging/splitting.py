"""Which version of a prompt a question is asked with while two of them are compared.

The question decides, by a hash of its words: whoever asks it, and however often, it is asked with the same version.
Each split has a hash of its own, so that two splits, at once or one after the other, do not part the questions alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.hashing import bucket
from assay.judging.prompts import Prompt, bundled_text, parse_prompt, prompts_in_use
from assay.records.research_log import PromptSplit, PromptVersion
from assay.text.terms import normalised_phrase

HALF = 50
"""Buckets of a hundred that are asked with the second version: a fair coin, which the sequential test needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dealt:
    """Every prompt as one question is asked with it."""

    prompts: Mapping[str, Prompt]
    keys: tuple[str, ...] = ()
    """Of the prompts that are split: what the question was dealt."""


def key_of(question: str) -> str:
    """The same for the same question; one without any word is itself."""
    return normalised_phrase(question) or question


def version_for(split: PromptSplit, question: str) -> int:
    """The version a question is asked with."""
    salt = f"prompt split {split.prompt_id} {split.first} {split.second} {split.began_at.isoformat()}"
    return split.second if bucket(key_of(question), salt) < HALF else split.first


def dealt(question: str, kept: Iterable[PromptVersion], splits: Sequence[PromptSplit]) -> Dealt:
    """Every prompt for a question; `kept` are the versions that the store holds."""
    known = {(one.prompt_id, one.version): one for one in kept}
    prompts = prompts_in_use({one.prompt_id: one for one in known.values() if one.active})
    for split in splits:
        version = version_for(split, question)
        there = known.get((split.prompt_id, version))
        text = bundled_text(split.prompt_id) if there is None else there.text
        prompts[split.prompt_id] = parse_prompt(split.prompt_id, text, version)
    return Dealt(prompts=prompts, keys=tuple(sorted(prompts[one.prompt_id].key for one in splits)))
