"""The calls about answered questions and prompts that this process and HTTP have alike: one method for each verb.

`assay.Research` answers them with its memory, `assay.Client` with a server.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from assay.records.analysis import (
    Aggregates,
    Patterns,
    PromptComparison,
    PromptDiff,
    PromptList,
    PromptVersions,
    SplitStanding,
)
from assay.records.learning import AnswerRating
from assay.records.research_log import PromptVersion, SessionEvaluation
from assay.verbs import Verb
from assay.verbs import analysis as analysis_verbs
from assay.verbs import prompts as prompt_verbs
from assay.verbs import research as research_verbs

Result = TypeVar("Result")


class ResearchCalls(ABC):
    """What one asks of answered questions and of prompts."""

    @abstractmethod
    def _call(self, verb: Verb[Any, Result], /, **given: Any) -> Result:
        """Call a verb, wherever it is answered."""

    def rate(self, log_id: str, was_useful: bool) -> AnswerRating:
        """Say whether an answer was useful: it counts for the memories that it cites."""
        return self._call(research_verbs.RATE, log_id=log_id, was_useful=was_useful)

    def evaluation(self, log_id: str) -> SessionEvaluation:
        """Show how one question was judged: every attempt, every evaluator, every dimension."""
        return self._call(research_verbs.EVALUATION, log_id=log_id)

    def aggregates(self, **filters: Any) -> Aggregates:
        """Return what answered questions add up to; filters are fields of `ResearchFilter`."""
        return self._call(analysis_verbs.AGGREGATE, **filters)

    def patterns(self, **filters: Any) -> Patterns:
        """Return what low scores have in common; filters are fields of `ResearchFilter`."""
        return self._call(analysis_verbs.PATTERNS, **filters)

    def prompts(self) -> PromptList:
        """Return every prompt with the version in use."""
        return self._call(prompt_verbs.LIST)

    def prompt(self, prompt_id: str, version: int | None = None) -> PromptVersion:
        """Return one version of a prompt; without a number the one in use."""
        return self._call(prompt_verbs.SHOW, prompt_id=prompt_id, version=version)

    def prompt_versions(self, prompt_id: str) -> PromptVersions:
        """Return every version of a prompt, the newest first; version 0 came with Assay."""
        return self._call(prompt_verbs.VERSIONS, prompt_id=prompt_id)

    def write_prompt(
        self,
        prompt_id: str,
        text: str | None = None,
        *,
        sentence: str | None = None,
        note: str = "",
        active: bool = True,
    ) -> PromptVersion:
        """Write a new version of a prompt: a whole text, or the one in use with a `sentence` more.

        With `active=False` it is kept without being used yet.
        """
        return self._call(
            prompt_verbs.WRITE, prompt_id=prompt_id, text=text, sentence=sentence, note=note, active=active
        )

    def use_prompt(self, prompt_id: str, version: int) -> PromptVersion:
        """Use a version from now on; 0 is the one that came with Assay."""
        return self._call(prompt_verbs.USE, prompt_id=prompt_id, version=version)

    def roll_back_prompt(self, prompt_id: str) -> PromptVersion:
        """Go back to the version before the one in use."""
        return self._call(prompt_verbs.ROLL_BACK, prompt_id=prompt_id)

    def split_prompt(self, prompt_id: str, version: int) -> SplitStanding:
        """Ask half of the questions with another version than the one in use, from now on."""
        return self._call(prompt_verbs.SPLIT, prompt_id=prompt_id, version=version)

    def prompt_split(self, prompt_id: str) -> SplitStanding:
        """Return how the split of a prompt stands; raises `NothingMeasured` when there never was one."""
        return self._call(prompt_verbs.SHOW_SPLIT, prompt_id=prompt_id)

    def end_prompt_split(self, prompt_id: str) -> SplitStanding:
        """Ask all questions with the version in use again."""
        return self._call(prompt_verbs.END_SPLIT, prompt_id=prompt_id)

    def diff_prompt(self, prompt_id: str, first: int, second: int | None = None) -> PromptDiff:
        """Return what changed between two versions, line by line; without a second, up to the one in use."""
        return self._call(prompt_verbs.DIFF, prompt_id=prompt_id, first=first, second=second)

    def compare_prompt(self, prompt_id: str, first: int, second: int | None = None) -> PromptComparison:
        """Compare what sessions came to under two versions; without a second, with the one in use."""
        return self._call(prompt_verbs.COMPARE, prompt_id=prompt_id, first=first, second=second)
