"""Which files are found, under which names, and why the others are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.memory.ingesting.files import Walked, find_changed, walk


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n", encoding="utf-8")


def names(walked: Walked) -> list[str]:
    return [one.rel_path for one in walked.files]


def reasons(walked: Walked) -> dict[str, str]:
    return {one.place: one.reason for one in walked.skipped}


def test_a_folder_is_walked_in_order_and_files_are_known_by_the_root_and_their_path(root: Path) -> None:
    put(root, "b.md", "a/z.txt", "a/a.json", "records.jsonl")

    walked = walk([root], root=root)

    assert names(walked) == ["a/a.json", "a/z.txt", "b.md", "records.jsonl"]
    assert [one.source_id for one in walked.files][:2] == ["handbook/a/a.json", "handbook/a/z.txt"]
    assert walked.folders == ("handbook",)


def test_the_same_file_has_the_same_name_wherever_one_starts(root: Path) -> None:
    put(root, "rules/a.md")

    whole, part, alone = (walk([path], root=root) for path in (root, root / "rules", root / "rules/a.md"))

    assert whole.files == part.files == alone.files
    assert alone.folders == ()


def test_the_root_is_the_working_folder_unless_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "a.md")
    monkeypatch.chdir(root)
    assert walk([Path()]).files == walk([root], root=root).files


def test_other_kinds_and_hidden_names_are_passed_over_with_the_reason(root: Path) -> None:
    put(root, "a.md", "b.py", ".git/config.md", ".hidden.md", "c.HTML", "d.htm", "e.xhtml", "f.Pdf")

    walked = walk([root], root=root)

    assert names(walked) == ["a.md", "c.HTML", "d.htm", "e.xhtml", "f.Pdf"]
    assert reasons(walked) == {"b.py": "kind", ".git": "hidden", ".hidden.md": "hidden"}
    assert not any(one.fault for one in walked.skipped)


def test_a_pattern_chooses_by_path_or_by_name(root: Path) -> None:
    put(root, "a.md", "b.py", "deep/c.py", "deep/d.md")

    assert names(walk([root], root=root, globs=["*.py"])) == ["b.py", "deep/c.py"]
    assert names(walk([root], root=root, globs=["deep/*"])) == ["deep/c.py", "deep/d.md"]


def test_a_file_that_is_named_is_taken_whatever_its_kind(root: Path) -> None:
    put(root, "b.py")
    assert names(walk([root / "b.py"], root=root)) == ["b.py"]


def test_a_file_named_twice_is_found_once(root: Path) -> None:
    put(root, "a.md")
    assert names(walk([root, root / "a.md", root], root=root)) == ["a.md"]


def test_a_loop_of_links_ends(root: Path) -> None:
    put(root, "deep/a.md")
    (root / "deep/again").symlink_to(root, target_is_directory=True)
    (root / "x.md").symlink_to(root / "y.md")
    (root / "y.md").symlink_to(root / "x.md")

    walked = walk([root], root=root)

    assert names(walked) == ["deep/a.md"]
    assert reasons(walked) == {"x.md": "link", "y.md": "link"}


def test_two_links_to_one_file_are_one_file(root: Path) -> None:
    put(root, "z.md")
    (root / "a.md").symlink_to(root / "z.md")
    assert names(walk([root], root=root)) == ["z.md"]


def test_a_link_that_leaves_the_root_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("keys")
    (root / "a.md").symlink_to(tmp_path / "secret.md")

    walked = walk([root], root=root)

    assert names(walked) == []
    assert reasons(walked) == {"a.md": "outside"}
    assert walked.skipped[0].fault


def test_a_link_that_leaves_the_named_folder_is_followed_only_when_asked(root: Path) -> None:
    put(root, "shared/a.md", "docs/b.md", "private.md")
    (root / "docs/a.md").symlink_to(root / "shared/a.md")
    (root / "docs/deep").symlink_to(root / "shared", target_is_directory=True)
    (root / "docs/c.md").symlink_to(root / "private.md")
    (root / "docs/again.md").symlink_to(root / "docs/b.md")

    held = walk([root / "docs"], root=root)
    followed = walk([root / "docs"], root=root, follow_links=True)

    assert names(held) == ["docs/b.md"]
    assert reasons(held) == {"docs/a.md": "outside", "docs/c.md": "outside", "docs/deep": "outside"}
    assert all("--follow-links" in skip.detail for skip in held.skipped)
    assert sorted(names(followed)) == ["docs/b.md", "private.md", "shared/a.md"]
    assert names(walk([root / "docs", root / "shared"], root=root)) == ["docs/b.md", "shared/a.md"]


def test_a_link_that_leads_nowhere_is_told(root: Path) -> None:
    (root / "a.md").symlink_to(root / "gone.md")
    assert reasons(walk([root], root=root)) == {"gone.md": "unreadable"}


@pytest.mark.parametrize("name", ["../other", "..", "/etc"])
def test_a_path_outside_the_root_is_refused_with_the_remedy(root: Path, name: str) -> None:
    (root.parent / "other").mkdir()
    with pytest.raises(InputError, match="outside the root") as problem:
        walk([root / name], root=root)
    assert "--root" in problem.value.remedy


def test_without_a_root_a_folder_elsewhere_is_its_own_root(root: Path) -> None:
    put(root, "rules/a.md")
    assert [one.source_id for one in walk([root]).files] == ["handbook/rules/a.md"]


def test_without_a_root_the_working_folder_is_it_when_it_holds_every_path(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "rules/a.md")
    monkeypatch.chdir(root)
    assert [one.source_id for one in walk([Path("rules")]).files] == ["handbook/rules/a.md"]


def test_paths_that_share_nothing_but_the_disk_need_a_root(root: Path) -> None:
    with pytest.raises(InputError, match="outside the root"):
        walk([root, Path("/etc/hostname")])


def test_a_path_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.md"):
        walk([root / "nowhere.md"], root=root)
    with pytest.raises(InputError, match="is not a folder"):
        walk([], root=root / "nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the administrator")
def test_a_closed_folder_is_told_and_the_others_are_walked(root: Path) -> None:
    put(root, "a.md", "closed/b.md")
    (root / "closed").chmod(0)
    try:
        walked = walk([root], root=root)
    finally:
        (root / "closed").chmod(0o700)
    assert names(walked) == ["a.md"]
    assert reasons(walked) == {"closed": "unreadable"}


def test_a_pipe_is_not_read(root: Path) -> None:
    os.mkfifo(root / "a.md")
    assert reasons(walk([root], root=root)) == {"a.md": "kind"}


def test_a_name_that_is_no_text_can_still_be_printed(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.py")).write_text("x")
    (told,) = walk([root], root=root).skipped
    assert str(told).encode()


def test_what_changed_between_two_walks_is_told_by_name(root: Path) -> None:
    put(root, "a.md", "b.md", "c.md")
    before = walk([root], root=root).files
    (root / "a.md").write_text("longer than it was before")
    (root / "b.md").unlink()
    put(root, "d.md")

    after = walk([root], root=root).files

    assert list(find_changed(before, before)) == []
    assert list(find_changed(before, after)) == ["handbook/a.md", "handbook/b.md", "handbook/d.md"]
