"""Follow the tutorials as a newcomer would: `python -m docs.follow`.

Builds the wheel and runs each page from top to bottom in a fresh folder: pages that begin with an install line in an
empty environment of their own, which that line fills, the others in one that has the wheel with the extras below.
Prints how many commands ran and how many printed what the page shows (times and ids aside).

    python -m docs.follow                       README, get-started, tutorials and examples, in a new environment
    python -m docs.follow --all                 also the guides and the concepts
    python -m docs.follow PAGE...               these pages
    python -m docs.follow --here ...            with the environment that runs this program
    python -m docs.follow --write PAGE          put what was printed into the page (blocks with a `...` line are left)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from docs.console import NEW_ENVIRONMENT, ROOT, Outcome, Visit, find_pages, read_page, run_page

EXTRAS = "memory,serve,mcp,otel"
"""What the pages need that have no install line."""


class Environments:
    """Empty environments, and one with the wheel; pip finds the wheel in them as it would find a published one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self._shared: Path | None = None
        wheels = folder / "wheels"
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        os.environ["PIP_FIND_LINKS"] = f"{os.environ.get('PIP_FIND_LINKS', '')} {wheels}".strip()
        os.environ["PIP_QUIET"] = "1"

    def make_empty(self) -> Path:
        """Return the programs of a new environment that has pip alone."""
        self._made += 1
        place = self._folder / f"venv-{self._made}"
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        return place / "bin"

    def share(self) -> Path:
        """Return the programs of the environment that has the wheel; it is made when it is first asked for."""
        if self._shared is None:
            programs = self.make_empty()
            subprocess.run([str(programs / "pip"), "install", f"assaykit[{EXTRAS}]"], cwd=self._folder, check=True)
            self._shared = programs
        return self._shared


def visit_pages(paths: Iterable[Path], programs: Path | Environments, folder: Path) -> list[Visit]:
    """Run pages one after the other, each in a folder of its own, and say how each went."""
    visits: list[Visit] = []
    for number, path in enumerate(paths):
        page = read_page(path)
        if not page.blocks:
            continue
        if isinstance(programs, Path):
            visit = run_page(page, folder / str(number), programs)
        else:
            alone = any(NEW_ENVIRONMENT in block.needs for block in page.blocks)
            place = programs.make_empty() if alone else programs.share()
            visit = run_page(page, folder / str(number), place, new_environment=alone)
        visits.append(visit)
        print(describe_visit(visit), flush=True)
    return visits


def describe_visit(visit: Visit) -> str:
    """Return the counts of a page, and below them every command that failed or printed something else."""
    name = visit.page.path.relative_to(ROOT)
    counts = (
        f"{name}: {len(visit.outcomes)} run, {len(visit.failed)} failed; "
        f"{len(visit.compared) - len(visit.different)} of {len(visit.compared)} outputs equal; "
        f"{sum(visit.not_run.values())} not run"
    )
    lines = [counts]
    for outcome in visit.failed:
        lines.append(f"  line {outcome.command.line}: exit {outcome.exit_code}, expected {outcome.command.exit_code}")
        lines += _quote(outcome)
    for outcome in visit.different:
        if outcome.succeeded:
            lines.append(f"  line {outcome.command.line}: printed something else")
            lines += _quote(outcome)
    return "\n".join(lines)


def _quote(outcome: Outcome) -> list[str]:
    return [f"    $ {outcome.command.text}", *(f"    {line}" for line in outcome.printed[-30:])]


def describe_all(visits: Sequence[Visit]) -> str:
    """Return the counts of all pages together, and why commands were not run."""
    reasons: Counter[str] = Counter()
    for visit in visits:
        reasons.update(visit.not_run)
    counts = (
        f"{len(visits)} pages: {sum(len(visit.outcomes) for visit in visits)} commands run, "
        f"{sum(len(visit.failed) for visit in visits)} failed; "
        f"{sum(len(visit.compared) for visit in visits)} outputs compared, "
        f"{sum(len(visit.different) for visit in visits)} different; {reasons.total()} commands not run"
    )
    lines = [counts, *(f"  not run: {reason} ({count})" for reason, count in reasons.most_common())]
    return "\n".join(lines)


def write_outputs(visit: Visit) -> int:
    """Put what was printed below its commands, and return how many outputs changed."""
    lines = visit.page.path.read_text(encoding="utf-8").splitlines()
    changed = 0
    for outcome in reversed(visit.different):
        if "..." in outcome.command.shown:
            continue
        begin = outcome.command.line + outcome.command.text.count("\n")
        printed = list(outcome.printed)
        while printed and not printed[-1].strip():
            printed.pop()
        lines[begin : begin + len(outcome.command.shown)] = [line.rstrip() for line in printed]
        changed += 1
    visit.page.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return changed


def choose_pages(named: Sequence[str], everything: bool) -> list[Path]:
    """Return the pages to run."""
    if named:
        return [Path(name).resolve() for name in named]
    if everything:
        return find_pages()
    return [
        page for page in find_pages() if page.name == "README.md" or page.parent.name in {"get-started", "tutorials"}
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns 1 when a command failed or printed something else."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--all", action="store_true", help="also guides and concepts")
    parser.add_argument("--here", action="store_true", help="use the environment that runs this program")
    parser.add_argument("--write", action="store_true", help="put what was printed into the pages")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(sys.executable).parent if options.here else Environments(Path(folder) / "install")
        visits = visit_pages(choose_pages(options.pages, options.all), programs, Path(folder))
    if options.write:
        print(f"{sum(map(write_outputs, visits))} outputs written")
        return 0
    print(describe_all(visits))
    return 1 if any(visit.failed or visit.different for visit in visits) else 0


if __name__ == "__main__":
    sys.exit(main())
