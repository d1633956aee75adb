"""One reading of flag values for the file, the environment and the command line."""

from __future__ import annotations

import pytest

from assay.errors import SettingError, UnknownFlag
from assay.flags import Override, overrides_from, percent_of


@pytest.mark.parametrize(
    ("value", "percent"),
    [
        ("on", 100),
        ("On ", 100),
        ("true", 100),
        (True, 100),
        ("1", 100),
        ("off", 0),
        (False, 0),
        ("0", 0),
        (25, 25),
        ("25", 25),
        ("25 %", 25),
        ("1%", 1),
        ("100%", 100),
        ("0%", 0),
    ],
)
def test_a_value_is_on_off_or_a_percentage(value: str | bool | int, percent: int) -> None:
    assert percent_of(value, "here") == percent


@pytest.mark.parametrize("value", ["yes please", "", "101", "-1", "2.5", "1e2"])
def test_anything_else_is_refused_and_named(value: str) -> None:
    with pytest.raises(SettingError, match="the flag mmr"):
        percent_of(value, "the flag mmr")


def test_overrides_keep_where_they_came_from() -> None:
    given = {"mmr": ("off", ("environment", "ASSAY_FLAG_MMR")), "session_boost": ("30", ("file", "assay.toml"))}

    assert overrides_from(given) == {
        "mmr": Override(0, "environment", "ASSAY_FLAG_MMR"),
        "session_boost": Override(30, "file", "assay.toml"),
    }


def test_an_override_of_an_unknown_flag_is_refused() -> None:
    with pytest.raises(UnknownFlag, match="mrr"):
        overrides_from({"mrr": ("on", ("file", "assay.toml"))})


def test_a_bad_override_names_its_place() -> None:
    with pytest.raises(SettingError, match="ASSAY_FLAG_MMR"):
        overrides_from({"mmr": ("perhaps", ("environment", "ASSAY_FLAG_MMR"))})
