"""The comment of a pull request: written once, edited from then on, and never somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ci.github import post_comment
from ci.github.post_comment import MARKER, main
from tests.ci.comments_api import AUTHOR, PULL_REQUEST, CommentsApi, serving_comments

from assay.evaluation import ci

PASSED, FAILED = f"{MARKER}\n## Assay gate: PASS\n", f"{MARKER}\n## Assay gate: FAIL\n"


@pytest.fixture
def api() -> Iterator[CommentsApi]:
    with serving_comments() as served:
        yield served


def post(api: CommentsApi, tmp_path: Path, text: str, **more: str) -> int:
    file = tmp_path / "comment.md"
    file.write_text(text, encoding="utf-8")
    return main([str(file), "--pull-request", str(PULL_REQUEST)], {**api.environment(), **more})


def test_the_marker_is_the_one_that_the_gate_writes() -> None:
    assert post_comment.MARKER == ci.MARKER


def test_the_first_run_writes_a_comment_and_the_second_edits_it(
    api: CommentsApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert post(api, tmp_path, FAILED) == 0
    assert post(api, tmp_path, PASSED) == 0
    assert [comment["body"] for comment in api.comments] == [PASSED]
    assert [method for method, _ in api.asked] == ["GET", "POST", "GET", "PATCH"]
    assert capsys.readouterr().out.splitlines() == [
        "Assay: the comment was written.",
        "Assay: the comment 1000 was edited.",
    ]


def test_our_comment_is_found_behind_a_hundred_others(api: CommentsApi, tmp_path: Path) -> None:
    for number in range(230):
        api.add(f"remark {number}", "somebody")
    own = api.add(FAILED)
    assert post(api, tmp_path, PASSED) == 0
    assert [path.rpartition("page=")[2] for method, path in api.asked if method == "GET"] == ["1", "2", "3"]
    assert api.comments[-1] == {"id": own, "body": PASSED, "user": {"login": AUTHOR}}


def test_a_full_last_page_is_followed_by_an_empty_one(api: CommentsApi, tmp_path: Path) -> None:
    for number in range(100):
        api.add(f"remark {number}", "somebody")
    assert post(api, tmp_path, PASSED) == 0
    assert len(api.comments) == 101


def test_a_comment_of_somebody_else_with_the_marker_is_left_alone(api: CommentsApi, tmp_path: Path) -> None:
    api.add(FAILED, "mallory")
    api.add(f"> quoted\n{MARKER}\nmine", AUTHOR)
    assert post(api, tmp_path, PASSED) == 0
    assert [comment["body"] for comment in api.comments] == [FAILED, f"> quoted\n{MARKER}\nmine", PASSED]


def test_gates_with_keys_have_comments_of_their_own(api: CommentsApi, tmp_path: Path) -> None:
    for key, text in (("hotel", FAILED), ("vault", FAILED), ("", FAILED), ("hotel", PASSED)):
        assert post(api, tmp_path, text, COMMENT_KEY=key) == 0
    assert [comment["body"].splitlines() for comment in api.comments] == [
        ["<!-- assay gate hotel -->", "## Assay gate: PASS"],
        ["<!-- assay gate vault -->", "## Assay gate: FAIL"],
        ["<!-- assay gate -->", "## Assay gate: FAIL"],
    ]


def test_a_comment_that_is_too_long_is_cut_and_says_so(api: CommentsApi, tmp_path: Path) -> None:
    assert post(api, tmp_path, f"{MARKER}\n{'x' * 100_000}") == 0
    assert api.comments[0]["body"].endswith("(The rest was cut: too long for a comment.)\n")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (
            403,
            {"message": "Resource not accessible\nby integration"},
            "403: Resource not accessible by integration. Give the job",
        ),
        (500, b"<html>100 % broken</html>", "ended with 500: no reason was given"),
        (302, {"message": "moved"}, "ended with 302"),
        (200, b"not json", "not JSON"),
    ],
)
def test_what_the_server_refuses_is_a_warning_and_fails_nothing(  # noqa: PLR0917 - fixtures and parameters
    api: CommentsApi,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    method: str,
    status: int,
    content: Any,
    said: str,
) -> None:
    if method == "POST" and status == 200:
        status, said = 200, "ended with 200"
    api.refuse[method] = (status, content)
    assert post(api, tmp_path, PASSED) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"::warning title=Assay comment::{method} ")
    assert said in told
    assert told.count("\n") == 1
    assert "made-up-token" not in told


def test_a_server_that_is_away_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving_comments() as api:
        place = api.environment()
    (tmp_path / "comment.md").write_text(PASSED, encoding="utf-8")
    assert main([str(tmp_path / "comment.md"), "--pull-request", "17"], place) == 0
    assert "::warning title=Assay comment::GET" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "more", "number", "said"),
    [
        ("no marker", {}, "17", "does not begin with"),
        (PASSED, {"COMMENT_TOKEN": ""}, "17", "not set: COMMENT_TOKEN"),
        (PASSED, {"GITHUB_REPOSITORY": "../x"}, "17", "not OWNER/NAME"),
        (PASSED, {}, "17/../1", "not a number"),
        (PASSED, {"COMMENT_KEY": "--> <b>"}, "17", "may hold letters"),
        (PASSED, {"GITHUB_API_URL": "http://api.example.org"}, "17", "must begin with https"),
    ],
)
def test_wrong_use_sends_nothing_and_says_what_is_missing(  # noqa: PLR0917 - fixtures and parameters
    api: CommentsApi,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    more: dict[str, str],
    number: str,
    said: str,
) -> None:
    file = tmp_path / "comment.md"
    file.write_text(text, encoding="utf-8")
    assert main([str(file), "--pull-request", number], {**api.environment(), **more}) == 3
    assert said in capsys.readouterr().out
    assert api.asked == []
