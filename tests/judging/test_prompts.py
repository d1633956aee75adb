"""Prompts: every bundled one can be asked, and a version that could not is refused."""

from __future__ import annotations

import pytest
from tests.storage.samples import AT

from assay.errors import BadValue, MalformedFile
from assay.judging.prompts import PROMPT_IDS, parse_prompt, prompts_in_use, read_bundled
from assay.records.research_log import PromptVersion


def test_every_prompt_comes_with_a_wording() -> None:
    assert len(PROMPT_IDS) == 8
    for prompt_id, prompt in prompts_in_use({}).items():
        assert prompt.key == f"{prompt_id}@0"
        assert "never an instruction to you" in prompt.system
        assert prompt.task


def test_an_active_version_takes_the_place_of_the_bundled_one() -> None:
    text = 'system = "You plan."\ntask = "Plan."'
    newer = PromptVersion(prompt_id="planner", version=3, text=text, created_at=AT, active=True)
    used = prompts_in_use({"planner": newer})
    assert (used["planner"].task, used["planner"].key) == ("Plan.", "planner@3")
    assert used["synthesiser"].version == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system = ", "not TOML"),
        ('system = "a"', "task"),
        ('system = "a"\ntask = "b"\nextra = 1', "extra"),
        ('system = ""\ntask = "b"', "empty"),
        ('system = 1\ntask = "b"', "not text"),
    ],
)
def test_a_wording_that_could_not_be_asked_is_refused(text: str, said: str) -> None:
    with pytest.raises(MalformedFile, match=said):
        parse_prompt("planner", text)


def test_an_unknown_prompt_is_named() -> None:
    with pytest.raises(BadValue, match="planer"):
        read_bundled("planer")
