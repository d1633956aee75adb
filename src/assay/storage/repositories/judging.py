"""Judge inputs, verdicts, calibrations, cached replies, budgets, and prompt versions.

- Judging, cached replies and budgets.
- Prompt versions and splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, update

from assay.errors import RecordNotFound
from assay.records.judging import Calibration, Certificate, JudgeInput, RubricKind, StoredVerdict
from assay.records.research_log import PromptSplit, PromptVersion
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, mask_value, to_row, upsert
from assay.storage.tables import (
    judge_calibrations,
    judge_inputs,
    judge_verdicts,
    model_accounts,
    model_replies,
    model_reservations,
    prompt_splits,
    prompts,
)

# --- Judging, cached replies and budgets ---


CASES = "cases:"
"""Before the hash in the rows of `judge_calibrations` that hold a certificate: it was made with cases, not labels."""


class JudgeRows(Repository):
    """Inputs and verdicts of judges, and their calibrations and certificates."""

    def put_inputs(self, inputs: Sequence[JudgeInput]) -> None:
        """Store inputs; one that exists already is the same and is skipped."""
        at = self._clock.now()
        rows = {
            judge_input.input_hash: {
                "tenant": self._tenant,
                "input_hash": judge_input.input_hash,
                "kind": judge_input.kind.value,
                "created_at": at,
                "content": mask_value(judge_input.as_json()),
            }
            for judge_input in inputs
        }
        if rows:
            self._connection.execute(insert(self._connection, judge_inputs).on_conflict_do_nothing(), [*rows.values()])

    def input(self, input_hash: str) -> JudgeInput:
        """One input."""
        statement = select(judge_inputs.c.content).where(
            self._mine(judge_inputs), judge_inputs.c.input_hash == input_hash
        )
        found = self._connection.execute(statement).scalar_one_or_none()
        if found is None:
            raise RecordNotFound(f"there is no judge input {input_hash!r}", remedy="Check the id and the tenant.")
        return JudgeInput.from_json(found)

    def put_verdicts(self, verdicts: Sequence[StoredVerdict]) -> None:
        """Store verdicts; a newer verdict of the same judge on a case replaces the older one."""
        if not verdicts:
            return
        key = ("tenant", "run_id", "case_id", "repeat", "kind", "fingerprint_id")
        fresh = ("input_hash", "outcome", "score", "reason", "created_at", "detail")
        rows = [{"tenant": self._tenant, **to_row(verdict, judge_verdicts)} for verdict in verdicts]
        self._connection.execute(upsert(self._connection, judge_verdicts, key=key, fresh=fresh), rows)

    def verdicts(self, run_id: str, *, fingerprint_id: str | None = None) -> list[StoredVerdict]:
        """Return the verdicts on a run, of one judge or of all, in the order of cases."""
        table = judge_verdicts
        statement = self._select(table, table.c.run_id == run_id)
        if fingerprint_id is not None:
            statement = statement.where(table.c.fingerprint_id == fingerprint_id)
        order = (table.c.case_id, table.c.repeat, table.c.kind, table.c.fingerprint_id)
        return [from_row(StoredVerdict, row, table) for row in self._connection.execute(statement.order_by(*order))]

    def put_calibration(self, calibration: Calibration) -> None:
        """Store a calibration of a judge; earlier ones are kept."""
        row = {"tenant": self._tenant, **to_row(calibration, judge_calibrations)}
        self._connection.execute(judge_calibrations.insert().values(row))

    def calibration(self, fingerprint_id: str) -> Calibration | None:
        """The newest of a judge; None: it was never calibrated."""
        table = judge_calibrations
        own = self._select(table, table.c.fingerprint_id == fingerprint_id, ~_is_certificate())
        row = self._connection.execute(own.order_by(table.c.id.desc()).limit(1)).one_or_none()
        return None if row is None else from_row(Calibration, row, table)

    def calibrations_about(self, kind: RubricKind) -> list[Calibration]:
        """Return every calibration of judges of one kind, the oldest first: failed attempts are kept too."""
        table = judge_calibrations
        statement = self._select(table, table.c.kind == kind.value, ~_is_certificate()).order_by(table.c.id)
        return [from_row(Calibration, row, table) for row in self._connection.execute(statement)]

    def calibrations(self, *, limit: int = 100) -> list[Calibration]:
        """The newest first."""
        table = judge_calibrations
        statement = self._select(table, ~_is_certificate()).order_by(table.c.id.desc()).limit(limit)
        return [from_row(Calibration, row, table) for row in self._connection.execute(statement)]

    def put_certificate(self, certificate: Certificate) -> None:
        """Store a certificate of a judge; earlier ones are kept."""
        row = {
            "tenant": self._tenant,
            "kind": certificate.about.value,
            "labels_hash": f"{CASES}{certificate.cases_hash}",
            **{name: getattr(certificate, name) for name in _SAME_COLUMNS},
        }
        self._connection.execute(judge_calibrations.insert().values(row))

    def certificates(self, *, fingerprint_id: str | None = None, limit: int = 100) -> list[Certificate]:
        """Certificates of one judge or of all, the newest first; failed ones are kept too."""
        table = judge_calibrations
        statement = self._select(table, _is_certificate())
        if fingerprint_id is not None:
            statement = statement.where(table.c.fingerprint_id == fingerprint_id)
        rows = self._connection.execute(statement.order_by(table.c.id.desc()).limit(limit)).mappings()
        return [_read_certificate({str(name): value for name, value in row.items()}) for row in rows]


_SAME_COLUMNS = ("fingerprint_id", "made_at", "expires_at", "cases", "passed", "figures", "fingerprint")
"""Of a certificate, named as in the table."""


def _is_certificate() -> ColumnElement[bool]:
    return judge_calibrations.c.labels_hash.startswith(CASES, autoescape=True)


def _read_certificate(row: Mapping[str, Any]) -> Certificate:
    return Certificate(
        about=RubricKind(row["kind"]),
        cases_hash=row["labels_hash"].removeprefix(CASES),
        **{name: row[name] for name in _SAME_COLUMNS},
    )


class ReplyRows(Repository):
    """Cached replies of models, by a hash of the request."""

    def get(self, key: str) -> Mapping[str, Any] | None:
        """The reply under a key."""
        statement = select(model_replies.c.reply).where(self._mine(model_replies), model_replies.c.key == key)
        found: Mapping[str, Any] | None = self._connection.execute(statement).scalar_one_or_none()
        return found

    def put(self, key: str, reply: Mapping[str, Any]) -> None:
        """Keep a reply; a newer one replaces an older one."""
        row = {"tenant": self._tenant, "key": key, "created_at": self._clock.now(), "reply": mask_value(dict(reply))}
        newest = upsert(self._connection, model_replies, key=("tenant", "key"), fresh=("created_at", "reply"))
        self._connection.execute(newest, [row])


class Balance(NamedTuple):
    """The sum of an account: spent and reserved."""

    tokens: int
    nano_usd: int


class SpendingRows(Repository):
    """Accounts of the cost of models. One statement checks the limit and reserves, so no other call can interfere."""

    def reserve(self, account: str, reservation: str, most: Balance, limits: tuple[int | None, int | None]) -> bool:
        """Reserve an amount; return False and change nothing if that would exceed a limit."""
        table = model_accounts
        opened = {"tenant": self._tenant, "account": account, "tokens": 0, "nano_usd": 0}
        self._connection.execute(insert(self._connection, table).values(opened).on_conflict_do_nothing())
        fits = [
            column + wanted <= limit
            for column, wanted, limit in zip((table.c.tokens, table.c.nano_usd), most, limits, strict=True)
            if limit is not None
        ]
        if not self._add(account, most, *fits):
            return False
        row = {"reservation": reservation, "account": account, "created_at": self._clock.now(), **most._asdict()}
        self._connection.execute(model_reservations.insert().values({"tenant": self._tenant, **row}))
        return True

    def settle(self, reservation: str, cost: Balance) -> None:
        """Replace a reservation by the real cost; a second call changes nothing."""
        table = model_reservations
        found = self._connection.execute(self._select(table, table.c.reservation == reservation)).one_or_none()
        if found is None:
            return
        self._connection.execute(delete(table).where(self._mine(table), table.c.reservation == reservation))
        self._add(found.account, Balance(cost.tokens - found.tokens, cost.nano_usd - found.nano_usd))

    def balance(self, account: str) -> Balance:
        """Return what was spent or is reserved."""
        table = model_accounts
        found = self._connection.execute(self._select(table, table.c.account == account)).one_or_none()
        return Balance(0, 0) if found is None else Balance(found.tokens, found.nano_usd)

    def open_reservations(self, account: str) -> int:
        """Return the number of reservations that were not settled."""
        table = model_reservations
        counted = select(func.count()).select_from(table).where(self._mine(table), table.c.account == account)
        return int(self._connection.execute(counted).scalar_one())

    def _add(self, account: str, amount: Balance, *conditions: Any) -> bool:
        table = model_accounts
        grown = {"tokens": table.c.tokens + amount.tokens, "nano_usd": table.c.nano_usd + amount.nano_usd}
        statement = update(table).where(self._mine(table), table.c.account == account, *conditions).values(grown)
        return self._connection.execute(statement).rowcount == 1


# --- Prompt versions and splits ---
#
# The bundled wording is version 0 and no row; at most one version of a prompt is active. Of splits the last is kept.

BUNDLED = 0
"""The version that comes with the program."""


class PromptRows(Repository):
    """The prompt versions of one tenant."""

    def add(self, prompt_id: str, text: str, *, note: str = "", active: bool = True) -> PromptVersion:
        """A new version, numbered after the newest."""
        newest = select(func.max(prompts.c.version)).where(self._mine(prompts), prompts.c.prompt_id == prompt_id)
        made = PromptVersion(
            prompt_id=prompt_id,
            version=(self._connection.execute(newest).scalar_one() or BUNDLED) + 1,
            text=text,
            created_at=self._clock.now(),
            created_by=self._principal,
            note=note,
            active=active,
        )
        if active:
            self._retire(prompt_id)
        self._connection.execute(prompts.insert().values({"tenant": self._tenant, **to_row(made, prompts)}))
        return made

    def activate(self, prompt_id: str, version: int) -> None:
        """Use this version from now on; 0 is the bundled one."""
        if version != BUNDLED:
            self.get(prompt_id, version)
        self._retire(prompt_id)
        same = (prompts.c.prompt_id == prompt_id, prompts.c.version == version)
        self._connection.execute(update(prompts).where(self._mine(prompts), *same).values(active=True))

    def get(self, prompt_id: str, version: int) -> PromptVersion:
        """One version."""
        same = (prompts.c.prompt_id == prompt_id, prompts.c.version == version)
        row = self._connection.execute(self._select(prompts, *same)).one_or_none()
        if row is None:
            raise RecordNotFound(
                f"prompt {prompt_id!r} has no version {version}", remedy="List the versions of this prompt."
            )
        return from_row(PromptVersion, row, prompts)

    def versions(self, prompt_id: str | None = None) -> list[PromptVersion]:
        """Of one prompt or of all, newest first."""
        statement = self._select(prompts).order_by(prompts.c.prompt_id, prompts.c.version.desc())
        if prompt_id is not None:
            statement = statement.where(prompts.c.prompt_id == prompt_id)
        return [from_row(PromptVersion, row, prompts) for row in self._connection.execute(statement)]

    def active(self) -> dict[str, PromptVersion]:
        """What is used in the place of the bundled wording, by prompt."""
        statement = self._select(prompts, prompts.c.active == True)  # noqa: E712 - SQL, not Python
        found = (from_row(PromptVersion, row, prompts) for row in self._connection.execute(statement))
        return {prompt.prompt_id: prompt for prompt in found}

    def begin_split(self, prompt_id: str, first: int, second: int) -> PromptSplit:
        """Start to split questions between two versions; replaces the prompt's last split."""
        made = PromptSplit(
            prompt_id=prompt_id, first=first, second=second, began_at=self._clock.now(), created_by=self._principal
        )
        row = to_row(made, prompt_splits)
        statement = insert(self._connection, prompt_splits).values({"tenant": self._tenant, **row})
        self._connection.execute(statement.on_conflict_do_update(index_elements=["tenant", "prompt_id"], set_=row))
        return made

    def end_split(self, prompt_id: str) -> PromptSplit | None:
        """End the split of a prompt and return it; None if there was none."""
        running = self.split(prompt_id)
        if running is None or running.ended_at is not None:
            return None
        same = (self._mine(prompt_splits), prompt_splits.c.prompt_id == prompt_id)
        self._connection.execute(update(prompt_splits).where(*same).values(ended_at=self._clock.now()))
        return self.split(prompt_id)

    def split(self, prompt_id: str) -> PromptSplit | None:
        """The last split of a prompt, running or ended."""
        found = self._connection.execute(self._select(prompt_splits, prompt_splits.c.prompt_id == prompt_id))
        row = found.one_or_none()
        return None if row is None else from_row(PromptSplit, row, prompt_splits)

    def running_splits(self) -> list[PromptSplit]:
        """Return every running split."""
        statement = self._select(prompt_splits, prompt_splits.c.ended_at.is_(None)).order_by(prompt_splits.c.prompt_id)
        return [from_row(PromptSplit, row, prompt_splits) for row in self._connection.execute(statement)]

    def _retire(self, prompt_id: str) -> None:
        same = (prompts.c.prompt_id == prompt_id, prompts.c.active == True)  # noqa: E712 - SQL, not Python
        self._connection.execute(update(prompts).where(self._mine(prompts), *same).values(active=False))
