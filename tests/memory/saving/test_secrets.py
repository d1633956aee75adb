"""Secrets are masked wherever they stand, ordinary text is left alone, and nothing masked reaches any table."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import inspect, text
from tests.memory.saving.conftest import MakeSaver, draft
from tests.memory.saving.generated_secrets import KINDS, innocent, secrets
from tests.storage.homes import raw

from assay.memory.saving.drafts import mask_secrets, mask_text
from assay.records import Format, Mask, Scope
from assay.storage import Store

MADE = secrets()
NAMES = (
    *("password", "passwd", "passphrase", "pwd", "secret", "client_secret", "token", "credential"),
    *("api_key", "api-key", "apikey", "access_key", "auth_key", "private_key", "signing-key", "encryption_key"),
)


def masked(text: str) -> str:
    return mask_text(text, "body", [])


def test_the_set_is_large_enough_to_say_something() -> None:
    assert len(KINDS) >= 20
    assert min(Counter(kind for kind, _ in MADE).values()) >= 10
    assert len(innocent()) > 500


@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_of_every_kind_is_masked(kind: str) -> None:
    shown = [around.format(secret) for made, (secret, around) in MADE if made == kind]
    hidden = [secret for made, (secret, _) in MADE if made == kind]
    left = [line for line, secret in zip(shown, hidden, strict=True) if secret in masked(line)]
    assert left == []


@pytest.mark.parametrize("name", NAMES)
def test_a_value_under_every_name_of_a_secret_is_masked(name: str) -> None:
    for written in (name, name.upper(), name.title()):
        assert masked(f"{written}: zx81-Kf93-qq") == f"{written}: [masked: named secret]"


@pytest.mark.parametrize("name", ["pa\u017f\u017fword", "to\u212aen", "\u017fecret"])
def test_a_name_with_letters_that_pass_for_others_is_a_name(name: str) -> None:
    assert masked(f"{name}: zx81-Kf93-qq") == f"{name}: [masked: named secret]"


def test_ordinary_lines_are_left_alone() -> None:
    changed = [line for line in innocent() if masked(line) != line]
    assert len(changed) <= len(innocent()) // 100, changed


def test_the_mask_names_the_kind_the_field_and_the_length_and_holds_no_secret() -> None:
    key = "AKIA" + "Q" * 16
    clean, masks = mask_secrets(draft(body=f"The key is {key}, do not lose it."))

    assert clean.body == "The key is [masked: AWS access key], do not lose it."
    assert masks == (Mask("AWS access key", "body", 20),)


def test_every_field_is_looked_at() -> None:
    keys = ["AKIA" + letter * 16 for letter in "ABCDEFGH"]
    clean, masks = mask_secrets(
        draft(
            title=f"Key {keys[0]}",
            body=keys[1],
            triggers=(keys[2],),
            tags=(keys[3],),
            rel_path=f"notes/{keys[4]}.md",
            source_id=f"https://example.org/{keys[5]}",
            metadata={"inner": [{"note": keys[6]}], keys[7]: 1},
        )
    )

    assert not any(key in repr(clean) for key in keys)
    assert {one.where for one in masks} == {"title", "body", "triggers", "tags", "rel_path", "source_id", "metadata"}


def test_a_name_in_the_metadata_says_that_its_value_is_secret() -> None:
    clean, _ = mask_secrets(draft(metadata={"db_password": "hunter2-x", "note": "hunter2-x is a joke", "token": True}))
    assert clean.metadata == {"db_password": "[masked: named secret]", "note": "hunter2-x is a joke", "token": True}


def test_json_is_still_json_after_masking() -> None:
    clean, masks = mask_secrets(draft(body='{"password": "tr0ub4dor&3", "port": 5432}', format=Format.JSON))
    assert clean.body == '{"password": "[masked: named secret]", "port": 5432}'
    assert len(masks) == 1


def test_masking_twice_changes_nothing_more() -> None:
    for _, (secret, around) in MADE:
        once = masked(around.format(secret))
        assert masked(once) == once


def test_a_draft_without_secrets_comes_back_as_it_is() -> None:
    given = draft()
    assert mask_secrets(given) == (given, ())


@given(before=st.text(max_size=60), after=st.text(max_size=60))
def test_a_key_is_masked_whatever_stands_around_it(before: str, after: str) -> None:
    key = "ghp_" + "aB3" * 12
    assert key not in masked(f"{before} {key} {after}")


def everything(store: Store) -> str:
    """Every value of every table, as text."""
    with raw(store) as connection:
        tables = [
            name
            for name in inspect(connection).get_table_names(schema=connection.get_execution_options().get("schema"))
            if not name.startswith(("passages_fts_", "sqlite_"))
        ]
        return "\n".join(
            str(tuple(row)) for name in tables for row in connection.execute(text(f'SELECT * FROM "{name}"'))
        )


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(st.sampled_from([made for _, made in MADE[::7]]), min_size=1, max_size=4))
def test_no_masked_secret_reaches_any_table(
    make_saver: MakeSaver, store: Store, scope: Scope, made: list[tuple[str, str]]
) -> None:
    saver = make_saver()
    said = tuple(around.format(secret) for secret, around in made)
    body = "\n\n".join(("Deploy notes for the gateway.", *said))
    kept = draft("Deploy notes", body, triggers=said, tags=said, metadata={"api_token": made[0][0]})
    saver.save(scope, kept)
    saver.save(scope, kept)

    found = everything(store)

    assert "Deploy notes" in found
    lines = [line for secret, _ in made for line in secret.splitlines() if "PRIVATE KEY" not in line]
    assert not [line for line in lines if line in found]
