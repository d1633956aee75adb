"""Prompts by name, and which version a question gets while two are compared.

- Prompt files.
- Splits between two versions of a prompt.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import BadValue, MalformedFile
from assay.hashing import bucket
from assay.records import values
from assay.records.fields import read_toml_text
from assay.records.research import Role
from assay.records.research_log import LONGEST_PROMPT, PromptSplit, PromptVersion
from assay.regular_files import read_packaged_text
from assay.text.terms import normalise_phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# --- Prompt files ---
#
# The bundled wording is version 0; a store may hold newer versions of the same shape. A prompt is checked when it is
# read, so that a wording that cannot be used is refused where it is written and not where it is needed.

PLANNER, SYNTHESISER, REVIEWER = "planner", "synthesiser", "escalation_reviewer"
PROMPT_IDS = (PLANNER, *(role.value for role in Role), SYNTHESISER, REVIEWER)
"""Every prompt there is, in the order of the pipeline."""
_FIELDS = {"system", "task"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The two texts around the material: the system text before it and the task after it."""

    prompt_id: str
    version: int
    system: str
    task: str

    @property
    def key(self) -> str:
        """As sessions name it."""
        return f"{self.prompt_id}@{self.version}"


def read_bundled(prompt_id: str) -> str:
    """The bundled wording of a prompt, as its file has it."""
    if prompt_id not in PROMPT_IDS:
        raise BadValue(f"there is no prompt {prompt_id!r}", remedy=f"Use one of {', '.join(PROMPT_IDS)}.")
    return read_packaged_text("judging", "rubrics", f"{prompt_id}.toml")


def parse_prompt(prompt_id: str, text: str, version: int = 0) -> Prompt:
    """Parse and check the text of a prompt; raises for an unusable one."""
    values.text(text, prompt_id, longest=LONGEST_PROMPT)
    try:
        found = read_toml_text(text)
    except tomllib.TOMLDecodeError as problem:
        raise MalformedFile(f"prompt {prompt_id} is not TOML: {problem}", remedy=_REMEDY) from problem
    if set(found) != _FIELDS:
        odd = ", ".join(sorted(set(found) ^ _FIELDS))
        raise MalformedFile(f"prompt {prompt_id} lacks or does not know: {odd}", remedy=_REMEDY)
    try:
        system, task = (values.text(found[name], name, empty=False).strip() for name in ("system", "task"))
    except BadValue as problem:
        raise MalformedFile(f"prompt {prompt_id}: {problem.message}", remedy=_REMEDY) from problem
    return Prompt(prompt_id=prompt_id, version=version, system=system, task=task)


_REMEDY = 'Write it as two texts: system = """...""" and task = """...""".'


def prompts_in_use(active: Mapping[str, PromptVersion]) -> dict[str, Prompt]:
    """Every prompt: the active version where there is one, else the bundled wording."""
    made = {prompt_id: parse_prompt(prompt_id, read_bundled(prompt_id)) for prompt_id in PROMPT_IDS}
    for prompt_id, prompt in active.items():
        if prompt_id in made:
            made[prompt_id] = parse_prompt(prompt_id, prompt.text, prompt.version)
    return made


# --- Splits between two versions of a prompt ---
#
# The question decides, by a hash of its words: whoever asks it, and however often, it is asked with the same version.
# Each split has a hash of its own, so that two splits, at once or one after the other, do not part the questions
# alike.

HALF = 50
"""Buckets of a hundred that get the second version. The sequential test needs a fair coin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dealt:
    """The prompts that one question gets."""

    prompts: Mapping[str, Prompt]
    keys: tuple[str, ...] = ()
    """Of the prompts that are split: what the question was dealt."""


def key_of(question: str) -> str:
    """Return a key that is equal for equal questions; without letters and digits, the text itself."""
    return normalise_phrase(question) or question


def version_for(split: PromptSplit, question: str) -> int:
    """Return the version that a question gets."""
    salt = f"prompt split {split.prompt_id} {split.first} {split.second} {split.began_at.isoformat()}"
    return split.second if bucket(key_of(question), salt) < HALF else split.first


def dealt(question: str, kept: Iterable[PromptVersion], splits: Sequence[PromptSplit]) -> Dealt:
    """Every prompt for a question; `kept` are the versions that the store holds."""
    known = {(prompt.prompt_id, prompt.version): prompt for prompt in kept}
    prompts = prompts_in_use({prompt.prompt_id: prompt for prompt in known.values() if prompt.active})
    for split in splits:
        version = version_for(split, question)
        there = known.get((split.prompt_id, version))
        text = read_bundled(split.prompt_id) if there is None else there.text
        prompts[split.prompt_id] = parse_prompt(split.prompt_id, text, version)
    return Dealt(prompts=prompts, keys=tuple(sorted(prompts[split.prompt_id].key for split in splits)))
