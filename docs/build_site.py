"""Build the documentation site: `make site`, or `python -m docs.build_site` in the environment of `locks/site.txt`.

Pages are copied to `build/site-work/pages` as they lie in the repository, with every file that they link to, so that a
relative link that works on a code host works on the site. MkDocs then builds `build/site` in strict mode: a link or an
anchor that leads nowhere fails. The site needs no other host, and its search works from a file as well.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "site-work"
SITE = ROOT / "build" / "site"
THEME = Path(__file__).parent / "theme"
_LINK = re.compile(r"\]\(([^)#\s]+)")
_LOADED = re.compile(
    r'''<(?:script|img|iframe|source|video|audio)\b[^>]*?\bsrc="((?:https?:)?//[^"]+)"'''
    r'''|<link\b(?![^>]*rel="(?:canonical|edit)")[^>]*?\bhref="((?:https?:)?//[^"]+)"'''
    r"""|(?:url\(|@import )["']?((?:https?:)?//[^"')]+)"""
)
"""What a browser fetches by itself; a link that a reader may follow is not one of them."""
_SECTIONS = (
    ("Tutorials", "docs/tutorials/*.md"),
    ("Guides", "docs/guides/*.md"),
    ("Concepts", "docs/concepts/*.md"),
    ("Reference", "docs/reference/*.md"),
    ("Results", "docs/results/*.md"),
    ("Examples", "examples/**/README.md"),
    ("Design notes", "design/*.md"),
)
_FIRST = ("README.md", "docs/index.md", "docs/get-started/index.md", "docs/features.md")
_INSIDE = (
    "docs/architecture.md",
    "docs/glossary.md",
    "docs/contributing/ten-changes.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "bench/README.md",
    "reliability/README.md",
    "tests/README.md",
)


def find_pages(root: Path) -> list[Path]:
    """Return the Markdown pages of the site, relative to the repository."""
    globbed = [sorted(root.glob(pattern)) for _, pattern in _SECTIONS]
    found = [root / name for name in (*_FIRST, *_INSIDE)]
    found += [page for pages in globbed for page in pages]
    return list(dict.fromkeys(page.relative_to(root) for page in found))


def find_linked(root: Path, page: Path) -> Iterator[Path]:
    """Yield the files, relative to the repository, that a page links to."""
    for link in _LINK.findall((root / page).read_text(encoding="utf-8")):
        if "://" not in link:
            target = Path(os.path.normpath(page.parent / link))
            if (root / target).is_file():
                yield target


def separate_lists(text: str) -> str:
    """Put an empty line between a paragraph and the list below it: MkDocs needs one, a code host does not."""
    lines: list[str] = []
    in_fence = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        elif not in_fence and line.startswith("- ") and before and not before.startswith(("- ", " ", "#", "<!--")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def copy_pages(root: Path, to: Path) -> int:
    """Copy pages and what they link to, and return how many files that are."""
    waiting = find_pages(root)
    copied: set[Path] = set()
    while waiting:
        page = waiting.pop()
        if page in copied:
            continue
        copied.add(page)
        (to / page).parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            text = (root / page).read_text(encoding="utf-8")
            (to / page).write_text(separate_lists(text), encoding="utf-8")
            waiting += find_linked(root, page)
        else:
            shutil.copyfile(root / page, to / page)
    return len(copied)


def make_navigation(root: Path) -> list[object]:
    """Return the order of the pages, as MkDocs takes it."""
    navigation: list[object] = [{"Home": [*_FIRST]}]
    for title, pattern in _SECTIONS:
        pages = [str(page.relative_to(root)) for page in sorted(root.glob(pattern))]
        navigation.append({title: [page for page in pages if page not in _FIRST]})
    navigation.append({"Inside": list(_INSIDE)})
    return navigation


def find_foreign(site: Path) -> list[str]:
    """Return what pages and style sheets would load from another host: scripts, styles, fonts, pictures, frames."""
    found: list[str] = []
    for path in sorted(site.rglob("*")):
        if path.suffix in {".html", ".css"}:
            loaded = _LOADED.findall(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(site)}: {''.join(address)}" for address in loaded]
    return found


def build_site(root: Path, work: Path, site: Path) -> None:
    """Build the site into a folder; raises `CalledProcessError` when a page has a broken link."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    files = copy_pages(root, work / "pages")
    shutil.copyfile(THEME / "iframe-worker.js", work / "pages" / "iframe-worker.js")
    # JSON is YAML, so the order of the pages can be added as it is.
    settings = (THEME / "mkdocs.yml").read_text(encoding="utf-8")
    (work / "mkdocs.yml").write_text(f"{settings}nav: {json.dumps(make_navigation(root))}\n", encoding="utf-8")
    # With --quiet MkDocs would not count warnings, and strict mode would find nothing.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    begun = time.monotonic()
    built = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    print("".join(line for line in built.stderr.splitlines(keepends=True) if not line.startswith("INFO")), end="")
    built.check_returncode()
    foreign = find_foreign(site)
    if foreign:
        raise RuntimeError("the site would load from another host: " + "; ".join(foreign[:5]))
    pages = len(list(site.rglob("*.html")))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1_000_000
    print(f"{pages} pages from {files} files, {size:.1f} MB, in {time.monotonic() - begun:.0f} s: {site}")


if __name__ == "__main__":
    try:
        build_site(ROOT, WORK, SITE)
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
