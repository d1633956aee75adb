"""Versions of prompts: the bundled wording is version 0, every change is a new version, and any of them can be used.

A wording is checked before it is kept, so that no unusable version can be switched on. Every change and
every switch is a line in the audit log. Questions may be split between the version in use and another;
switching a version ends that. What sessions came to under two versions is compared in `prompt_comparison`, and how a
split goes is in `prompt_splits`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from assay.errors import BadValue, InputError
from assay.judging.prompts import PROMPT_IDS, parse_prompt, read_bundled
from assay.records import Scope
from assay.records.research_log import PromptSplit, PromptVersion
from assay.storage import Store
from assay.storage.repositories.judging import BUNDLED
from assay.storage.work import Work

REPLY = "Reply with one JSON object"
"""Start of the part of a prompt that describes the reply; it stays at the end."""
MOST_COMPARED = 1_000_000
"""Pairs of lines that a diff looks at: 1,000 lines against 1,000."""


class PromptBook:
    """The prompts of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def in_use(self, scope: Scope) -> dict[str, PromptVersion]:
        """Return the wording of each prompt in use, in the order of the pipeline."""
        with self._store.reading(scope) as work:
            active = work.prompts.active()
        return {name: _in_use(name, active) for name in PROMPT_IDS}

    def versions(self, scope: Scope, prompt_id: str) -> tuple[PromptVersion, ...]:
        """Every version of a prompt, the newest first, the bundled one last."""
        with self._store.reading(scope) as work:
            return _versions(work, prompt_id)

    def wording(self, scope: Scope, prompt_id: str, version: int | None = None) -> PromptVersion:
        """One version; without a number the one in use."""
        return _one(self.versions(scope, prompt_id), prompt_id, version)

    def write(self, scope: Scope, prompt_id: str, text: str, *, note: str = "", active: bool = True) -> PromptVersion:
        """Write a new version; raises if it equals the version in use."""
        parse_prompt(prompt_id, text)
        with self._store.writing(scope) as work:
            now = _one(_versions(work, prompt_id), prompt_id, None)
            if now.text.strip() == text.strip():
                raise BadValue(
                    f"this is what version {now.version} of {prompt_id} says already", remedy="Change something."
                )
            if active:
                _end_split(work, prompt_id)
            made = work.prompts.add(prompt_id, text, note=note, active=active)
            work.audit.append("prompt.write", prompt_id, {"version": made.version, "active": active})
        return made

    def add_sentence(
        self, scope: Scope, prompt_id: str, sentence: str, *, note: str = "", active: bool = True
    ) -> PromptVersion:
        """Write a new version with one more sentence, before the description of the reply."""
        now = self.wording(scope, prompt_id)
        text = with_sentence(prompt_id, now.text, sentence)
        return self.write(scope, prompt_id, text, note=note, active=active)

    def use(self, scope: Scope, prompt_id: str, version: int) -> PromptVersion:
        """Switch to a version; 0 is the bundled one."""
        with self._store.writing(scope) as work:
            found = _versions(work, prompt_id)
            before, wanted = _one(found, prompt_id, None), _one(found, prompt_id, version)
            parse_prompt(prompt_id, wanted.text)
            _end_split(work, prompt_id)
            work.prompts.activate(prompt_id, version)
            work.audit.append("prompt.use", prompt_id, {"version": version, "before": before.version})
        return self.wording(scope, prompt_id)

    def roll_back(self, scope: Scope, prompt_id: str) -> PromptVersion:
        """Switch to the version before the one in use."""
        found = self.versions(scope, prompt_id)
        now = _one(found, prompt_id, None)
        earlier = [wording.version for wording in found if wording.version < now.version]
        if not earlier:
            raise InputError(
                f"{prompt_id} is in use as it came: there is nothing before version {now.version}",
                remedy=f"See the versions: assay prompts show {prompt_id} --versions",
            )
        return self.use(scope, prompt_id, max(earlier))

    def split(self, scope: Scope, prompt_id: str, second: int) -> PromptSplit:
        """Ask half of the questions with another version than the one in use, from now on."""
        with self._store.writing(scope) as work:
            found = _versions(work, prompt_id)
            first, other = _one(found, prompt_id, None), _one(found, prompt_id, second)
            parse_prompt(prompt_id, other.text)
            _end_split(work, prompt_id)
            made = work.prompts.begin_split(prompt_id, first.version, other.version)
            work.audit.append("prompt.split", prompt_id, {"first": made.first, "second": made.second})
        return made

    def end_split(self, scope: Scope, prompt_id: str) -> PromptSplit:
        """Ask all questions with the version in use again."""
        with self._store.writing(scope) as work:
            ended = _end_split(work, prompt_id)
        if ended is None:
            raise InputError(
                f"the questions of {prompt_id} are not split", remedy="Begin with two versions and a split."
            )
        return ended

    def last_split(self, scope: Scope, prompt_id: str) -> PromptSplit | None:
        """The split that runs, else the one that ended last."""
        read_bundled(prompt_id)
        with self._store.reading(scope) as work:
            return work.prompts.split(prompt_id)

    def diff(self, scope: Scope, prompt_id: str, first: int, second: int | None = None) -> str:
        """What changed from a version to another, line by line; without a second to the one in use."""
        found = self.versions(scope, prompt_id)
        return diff_of(_one(found, prompt_id, first), _one(found, prompt_id, second))


def diff_of(first: PromptVersion, second: PromptVersion) -> str:
    """A unified diff; empty when both say the same."""
    before, after = (wording.text.rstrip("\n").split("\n") for wording in (first, second))
    if len(before) * len(after) > MOST_COMPARED:
        return _replacement(first.key, before, second.key, after)
    return "\n".join(difflib.unified_diff(before, after, fromfile=first.key, tofile=second.key, lineterm=""))


def _replacement(old: str, before: Sequence[str], new: str, after: Sequence[str]) -> str:
    """A diff of texts with too many lines to be compared: all of one for all of the other."""
    if before == after:
        return ""
    head = [f"--- {old}", f"+++ {new}", f"@@ -1,{len(before)} +1,{len(after)} @@"]
    return "\n".join([*head, *(f"-{line}" for line in before), *(f"+{line}" for line in after)])


def with_sentence(prompt_id: str, text: str, sentence: str) -> str:
    """Return a prompt's text with a sentence added to its task, before the description of the reply."""
    prompt = parse_prompt(prompt_id, text)
    added = " ".join(sentence.split())
    if not added:
        raise BadValue("there is no sentence to add", remedy="Give the words to add to the prompt.")
    before, found, after = prompt.task.rpartition(f"\n{REPLY}")
    task = f"{before}\n{added}{found}{after}" if found else f"{prompt.task}\n{added}"
    return f"system = {_quote_toml(prompt.system)}\ntask = {_quote_toml(task)}\n"


def _quote_toml(text: str) -> str:
    """A multi-line string of TOML."""
    plain = text.replace("\\", "\\\\").replace('"""', '""\\"')
    plain = "".join(
        character if character.isprintable() or character in "\n\t" else f"\\U{ord(character):08x}"
        for character in plain
    )
    return f'"""\n{plain}\n"""'


def _end_split(work: Work, prompt_id: str) -> PromptSplit | None:
    ended = work.prompts.end_split(prompt_id)
    if ended is not None:
        work.audit.append("prompt.split_end", prompt_id, {"first": ended.first, "second": ended.second})
    return ended


def _versions(work: Work, prompt_id: str) -> tuple[PromptVersion, ...]:
    text = read_bundled(prompt_id)
    kept = work.prompts.versions(prompt_id)
    in_use = not any(version.active for version in kept)
    bundled = PromptVersion(prompt_id=prompt_id, version=BUNDLED, text=text, active=in_use, created_at=None)
    return (*kept, bundled)


def _one(found: tuple[PromptVersion, ...], prompt_id: str, version: int | None) -> PromptVersion:
    for wording in found:
        if wording.active if version is None else wording.version == version:
            return wording
    raise InputError(
        f"prompt {prompt_id} has no version {version}",
        remedy=f"It has {', '.join(str(wording.version) for wording in reversed(found))}.",
    )


def _in_use(prompt_id: str, active: Mapping[str, PromptVersion]) -> PromptVersion:
    if prompt_id in active:
        return active[prompt_id]
    text = read_bundled(prompt_id)
    return PromptVersion(prompt_id=prompt_id, version=BUNDLED, text=text, active=True, created_at=None)
