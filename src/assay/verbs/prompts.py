"""Verbs on prompts: list and show them, write a version, switch to one, split questions between two, compare two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from assay.access import acts
from assay.errors import NothingMeasured
from assay.records.analysis import PromptComparison, PromptDiff, PromptList, PromptVersions, SplitStanding
from assay.records.research_log import LONGEST_PROMPT, PromptSplit, PromptVersion
from assay.verbs.fields import NAME, Whole, YesNo
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

if TYPE_CHECKING:
    from assay.analysis.prompts import PromptBook

SEED = 0
"""Of the resamples behind intervals: the same versions give the same numbers each time."""
LARGEST = 2**31 - 1
LONGEST_SENTENCE = 10_000
PromptId = Annotated[
    str, Field(min_length=1, max_length=128, pattern=NAME, description="Which prompt; prompt.list names them all.")
]
Version = Annotated[Whole, Field(ge=0, le=LARGEST)]
# Not strict: in an address everything is text.
FirstVersion = Annotated[int, Field(ge=0, le=LARGEST, description="A version; 0 came with Assay.")]
SecondVersion = Annotated[int | None, Field(ge=0, le=LARGEST, description="Another version. Left out: the one in use.")]


class ListRequest(Request):
    """Nothing: every prompt is listed."""


class PromptRequest(Request):
    """Which prompt."""

    prompt_id: PromptId


class ShowRequest(Request):
    """Which version of which prompt."""

    prompt_id: PromptId
    version: Annotated[
        int | None, Field(ge=0, le=LARGEST, description="A version; 0 came with Assay. Left out: the one in use.")
    ] = None


class WriteRequest(Request):
    """A new version: a whole text, or the one in use with a sentence more."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": 'system = "You plan."\ntask = "Plan."', "note": "shorter"}]}
    )

    prompt_id: PromptId
    text: Annotated[
        str | None,
        Field(min_length=1, max_length=LONGEST_PROMPT, description="The whole text: TOML with `system` and `task`."),
    ] = None
    sentence: Annotated[
        str | None,
        Field(min_length=1, max_length=LONGEST_SENTENCE, description="A sentence to add to the text in use."),
    ] = None
    note: Annotated[str, Field(max_length=1_000, description="Why; kept with the version.")] = ""
    active: Annotated[YesNo, Field(description="false: keep it without using it yet.")] = True

    @model_validator(mode="after")
    def check_one_is_given(self) -> Self:
        """Refuse both of text and sentence, and neither."""
        if (self.text is None) == (self.sentence is None):
            raise ValueError("give either text or sentence")
        return self


class UseRequest(Request):
    """Which version to use."""

    prompt_id: PromptId
    version: Annotated[Version, Field(description="A version; 0 came with Assay.")]


class SplitRequest(Request):
    """Which version half of the questions are asked with; the other half stays with the one in use."""

    prompt_id: PromptId
    version: Annotated[Version, Field(description="The version for half of the questions; 0 came with Assay.")]


class TwoVersionsRequest(Request):
    """Which two versions of a prompt."""

    prompt_id: PromptId
    first: FirstVersion
    second: SecondVersion = None


def list_prompts(caller: Caller, request: ListRequest) -> PromptList:  # noqa: ARG001 - one shape for all verbs
    """Return every prompt with the version in use."""
    return PromptList(prompts=tuple(_book(caller).in_use(caller.scope).values()))


def list_versions(caller: Caller, request: PromptRequest) -> PromptVersions:
    """Return every version of a prompt."""
    return PromptVersions(versions=_book(caller).versions(caller.scope, request.prompt_id))


def show(caller: Caller, request: ShowRequest) -> PromptVersion:
    """Return one version of a prompt."""
    return _book(caller).wording(caller.scope, request.prompt_id, request.version)


def write(caller: Caller, request: WriteRequest) -> PromptVersion:
    """Write a new version of a prompt."""
    book, note, active = _book(caller), request.note, request.active
    if request.sentence is not None:
        return book.add_sentence(caller.scope, request.prompt_id, request.sentence, note=note, active=active)
    return book.write(caller.scope, request.prompt_id, request.text or "", note=note, active=active)


def use(caller: Caller, request: UseRequest) -> PromptVersion:
    """Switch to a version of a prompt."""
    return _book(caller).use(caller.scope, request.prompt_id, request.version)


def roll_back(caller: Caller, request: PromptRequest) -> PromptVersion:
    """Switch to the version before the one in use."""
    return _book(caller).roll_back(caller.scope, request.prompt_id)


def split(caller: Caller, request: SplitRequest) -> SplitStanding:
    """Begin to ask half of the questions with another version."""
    return _standing(caller, _book(caller).split(caller.scope, request.prompt_id, request.version))


def show_split(caller: Caller, request: PromptRequest) -> SplitStanding:
    """Return how the split that runs stands, else the one that ended last; raises `NothingMeasured` for neither."""
    last = _book(caller).last_split(caller.scope, request.prompt_id)
    if last is None:
        raise NothingMeasured(
            f"the questions of {request.prompt_id} were never split",
            remedy=f"Begin with another version: assay prompts split {request.prompt_id} VERSION",
        )
    return _standing(caller, last)


def end_split(caller: Caller, request: PromptRequest) -> SplitStanding:
    """Ask all questions with the version in use again."""
    return _standing(caller, _book(caller).end_split(caller.scope, request.prompt_id))


def diff(caller: Caller, request: TwoVersionsRequest) -> PromptDiff:
    """Return what changed between two versions."""
    return PromptDiff(diff=_book(caller).diff(caller.scope, request.prompt_id, request.first, request.second))


def compare(caller: Caller, request: TwoVersionsRequest) -> PromptComparison:
    """Compare what sessions came to under two versions."""
    import numpy as np  # noqa: PLC0415 - only when there is something to compute

    from assay.analysis.offline import compare_prompts  # noqa: PLC0415 - needs the store, as below

    second = request.second
    if second is None:
        second = _book(caller).wording(caller.scope, request.prompt_id).version
    rng = np.random.default_rng(SEED)
    return compare_prompts(caller.engine.store, caller.scope, request.prompt_id, request.first, second, rng=rng)


def _book(caller: Caller) -> PromptBook:
    # Needs the store, which a client of another machine's server does without.
    from assay.analysis.prompts import PromptBook  # noqa: PLC0415

    return PromptBook(caller.engine.store)


def _standing(caller: Caller, split: PromptSplit) -> SplitStanding:
    from assay.analysis.prompt_splits import standing  # noqa: PLC0415 - needs the store, as above

    with caller.engine.store.reading(caller.scope) as work:
        return standing(work, split)


LIST = Verb(
    name="prompt.list",
    summary="List every prompt with the version in use, in the order of the pipeline.",
    act=acts.PROMPT_READ,
    request=ListRequest,
    result=PromptList,
    call=list_prompts,
    http=HttpRoute("GET", "/api/prompts"),
    command="prompts list",
    client="prompts",
    python="Research.prompts",
)
VERSIONS = Verb(
    name="prompt.versions",
    summary="List every version of a prompt, the newest first; version 0 came with Assay.",
    act=acts.PROMPT_READ,
    request=PromptRequest,
    result=PromptVersions,
    call=list_versions,
    http=HttpRoute("GET", "/api/prompts/{prompt_id}"),
    command="prompts show --versions",
    client="prompt_versions",
    python="Research.prompt_versions",
)
SHOW = Verb(
    name="prompt.show",
    summary="Show one version of a prompt with its text, or the one in use.",
    act=acts.PROMPT_READ,
    request=ShowRequest,
    result=PromptVersion,
    call=show,
    http=HttpRoute("GET", "/api/prompts/{prompt_id}/version"),
    command="prompts show",
    client="prompt",
    python="Research.prompt",
)
WRITE = Verb(
    name="prompt.write",
    summary="Write a new version of a prompt; earlier ones stay, and can be used again.",
    act=acts.PROMPT_CHANGE,
    request=WriteRequest,
    result=PromptVersion,
    call=write,
    http=HttpRoute("PUT", "/api/prompts/{prompt_id}"),
    command="prompts set",
    client="write_prompt",
    python="Research.write_prompt",
)
USE = Verb(
    name="prompt.use",
    summary="Use a version of a prompt from now on; 0 is the one that came with Assay.",
    act=acts.PROMPT_CHANGE,
    request=UseRequest,
    result=PromptVersion,
    call=use,
    http=HttpRoute("POST", "/api/prompts/{prompt_id}/use"),
    command="prompts use",
    client="use_prompt",
    python="Research.use_prompt",
)
ROLL_BACK = Verb(
    name="prompt.roll_back",
    summary="Go back to the version of a prompt before the one in use.",
    act=acts.PROMPT_CHANGE,
    request=PromptRequest,
    result=PromptVersion,
    call=roll_back,
    http=HttpRoute("POST", "/api/prompts/{prompt_id}/rollback"),
    command="prompts rollback",
    client="roll_back_prompt",
    python="Research.roll_back_prompt",
)
SPLIT = Verb(
    name="prompt.split",
    summary="Ask half of the questions with another version of a prompt than the one in use, from now on.",
    act=acts.PROMPT_CHANGE,
    request=SplitRequest,
    result=SplitStanding,
    call=split,
    http=HttpRoute("POST", "/api/prompts/{prompt_id}/split"),
    command="prompts split",
    client="split_prompt",
    python="Research.split_prompt",
)
SHOW_SPLIT = Verb(
    name="prompt.show_split",
    summary="Show how the split of a prompt stands: the one that runs, else the one that ended last.",
    act=acts.PROMPT_READ,
    request=PromptRequest,
    result=SplitStanding,
    call=show_split,
    http=HttpRoute("GET", "/api/prompts/{prompt_id}/split"),
    command="prompts split",
    client="prompt_split",
    python="Research.prompt_split",
)
END_SPLIT = Verb(
    name="prompt.end_split",
    summary="End the split of a prompt: ask all questions with the version in use again.",
    act=acts.PROMPT_CHANGE,
    request=PromptRequest,
    result=SplitStanding,
    call=end_split,
    http=HttpRoute("DELETE", "/api/prompts/{prompt_id}/split"),
    command="prompts split --end",
    client="end_prompt_split",
    python="Research.end_prompt_split",
)
DIFF = Verb(
    name="prompt.diff",
    summary="Show what changed between two versions of a prompt, line by line.",
    act=acts.PROMPT_READ,
    request=TwoVersionsRequest,
    result=PromptDiff,
    call=diff,
    http=HttpRoute("GET", "/api/prompts/{prompt_id}/diff"),
    command="prompts diff",
    client="diff_prompt",
    python="Research.diff_prompt",
)
COMPARE = Verb(
    name="prompt.compare",
    summary="Compare what sessions came to under two versions of a prompt, with intervals.",
    act=acts.PROMPT_READ,
    request=TwoVersionsRequest,
    result=PromptComparison,
    call=compare,
    http=HttpRoute("GET", "/api/prompts/{prompt_id}/compare"),
    command="prompts compare",
    client="compare_prompt",
    python="Research.compare_prompt",
)

FAMILY = Family(
    name="prompts",
    verbs=(LIST, VERSIONS, SHOW, WRITE, USE, ROLL_BACK, SPLIT, SHOW_SPLIT, END_SPLIT, DIFF, COMPARE),
)
