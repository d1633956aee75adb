"""Judging on workers: a judge that asks no model is opened by each worker, and verdicts come back in order.

A judge that asks a model is not spread: it waits for its endpoint, and the caller's one ledger and one limit of
concurrent requests hold only while nobody else asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

from assay.errors import NotReady
from assay.judging.canaries import AskAll
from assay.judging.protocol import Judging
from assay.records.judging import JudgedAnswer, JudgeInput, VerdictOutcome, no_verdict
from assay.work.jobs import Executor, Job

OpenRemoteJudge = Callable[[], Judging]
"""Opens the judge inside a worker; can be pickled."""


class JudgeTask(NamedTuple):
    """One answer to judge."""

    number: int
    shown: JudgeInput
    fresh: bool


class NumberedVerdict(NamedTuple):
    """A verdict with the place of its answer."""

    number: int
    judged: JudgedAnswer


@dataclass(frozen=True, kw_only=True)
class RemoteJudge:
    """What a worker needs to judge: how to open the judge, and which it must be."""

    open_judge: OpenRemoteJudge
    fingerprint_id: str

    def open(self) -> OpenedJudge:
        """Open the judge, and refuse another than the caller's."""
        judge = self.open_judge()
        if judge.fingerprint().id != self.fingerprint_id:
            raise NotReady(
                f"the judge {judge.name} is another one on this worker",
                remedy="Install the same Assay and models, and start the worker with the same settings.",
            )
        return OpenedJudge(judge)


class OpenedJudge:
    """A judge inside a worker."""

    def __init__(self, judge: Judging) -> None:
        self._judge = judge

    def perform(self, task: JudgeTask) -> NumberedVerdict:
        """Judge one answer."""
        return NumberedVerdict(task.number, self._judge.judge_case(task.shown, fresh=task.fresh))

    def close(self) -> None:
        """Nothing to give back."""


def asks_model(judge: Judging) -> bool:
    """Whether a judge asks a model, so that it stays with the caller."""
    return bool(judge.fingerprint().model)


def ask_workers(judge: Judging, executor: Executor, open_remote: OpenRemoteJudge) -> AskAll:
    """Return what judges many answers on workers; verdicts come in the order of the answers."""
    fingerprint = judge.fingerprint()

    def lost(task: JudgeTask, why: str) -> NumberedVerdict:
        verdict = no_verdict(task.shown.kind, VerdictOutcome.UNAVAILABLE, why)
        return NumberedVerdict(task.number, JudgedAnswer(input=task.shown, verdict=verdict, fingerprint=fingerprint))

    job = Job(
        perform=OpenedJudge(judge).perform,
        lost=lost,
        remote=lambda: RemoteJudge(open_judge=open_remote, fingerprint_id=fingerprint.id),
        what="answers",
    )

    def ask(inputs: Sequence[JudgeInput], *, fresh: bool) -> Iterator[JudgedAnswer]:
        tasks = (JudgeTask(number, shown, fresh) for number, shown in enumerate(inputs))
        early: dict[int, JudgedAnswer] = {}
        due = 0
        with closing(executor.run(tasks, job)) as found:
            for number, judged in found:
                early[number] = judged
                while due in early:
                    yield early.pop(due)
                    due += 1

    return ask
