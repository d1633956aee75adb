"""The tests of pages wait for what they expect: a look at a browser that is still at work tells of the look.

Only once a page is drawn may something be read from it to be compared with later, and such readings are listed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
LOOKS = {
    "all",
    "all_inner_texts",
    "all_text_contents",
    "count",
    "get_attribute",
    "inner_html",
    "inner_text",
    "input_value",
    "is_checked",
    "is_disabled",
    "is_enabled",
    "is_hidden",
    "is_visible",
    "reload",
    "text_content",
    "url",
    "wait_for_timeout",
}
"""What Playwright answers at once, whatever the page is about to become, and a reload that waits for no paint."""
READ_FIRST = {
    ("test_change_walk.py", "run_from_browser", "url"),
    ("test_change_walk.py", "test_a_change_is_measured_tested_rolled_out_and_taken_back", "count"),
    ("test_demo_pages.py", "run_again", "url"),
    ("test_demo_pages.py", "bless", "count"),
    ("test_demo_pages.py", "test_twelve_weeks_were_asked_and_models_were_replayed", "count"),
    ("looking.py", "again", "reload"),
    ("looking.py", "addresses", "all"),
    ("looking.py", "addresses", "get_attribute"),
    ("looking.py", "_asked", "url"),
    ("test_browser.py", "test_labels_are_given_by_keyboard_alone", "input_value"),
    ("test_browser.py", "test_labels_are_given_by_keyboard_alone", "inner_text"),
    ("test_browser.py", "test_a_flag_is_switched_and_a_prompt_gets_a_new_version", "input_value"),
}


def looks_in(source: str) -> Iterator[tuple[str, str]]:
    """Which function of a module looks at a browser, and how."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr in LOOKS:
                    yield function.name, node.attr


def test_nothing_is_looked_at_once_and_believed() -> None:
    others = [one for one in FOLDER.glob("*.py") if one != Path(__file__)]
    with_a_browser = [one for one in others if "playwright" in one.read_text("utf-8")]
    assert {one.name for one in with_a_browser} == {
        "conftest.py",
        "looking.py",
        "test_audit_page.py",
        "test_browser.py",
        "test_change_walk.py",
        "test_demo_pages.py",
        "test_question_review_page.py",
        "test_views_browser.py",
        "test_wrong.py",
    }
    found = {(one.name, *look) for one in with_a_browser for look in looks_in(one.read_text("utf-8"))}
    assert found == READ_FIRST


def test_a_look_is_seen() -> None:
    source = "def test_it(page):\n    assert page.locator('h1').first.is_visible()\n    assert page.url == ''\n"
    assert set(looks_in(source)) == {("test_it", "is_visible"), ("test_it", "url")}
