"""One filled store, one server over it and one browser for all tests of pages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient
from tests.server.pages.filled import filled_services
from tests.server.pages.looking import Visitor
from tests.server.serving import BOUND_S, reaching, served, services_at

from assay.server.services import Services

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def filled() -> Iterator[Services]:
    """A store with something on every page."""
    with tempfile.TemporaryDirectory() as folder, filled_services(Path(folder)) as services:
        yield services


@pytest.fixture(scope="session")
def client(filled: Services) -> Iterator[TestClient]:
    """Whoever sits at this machine, without a browser."""
    with reaching(filled, pages=True) as client:
        yield client


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[TestClient]:
    """The same over a store with nothing in it."""
    with services_at(tmp_path) as services, reaching(services, pages=True) as client:
        yield client


@pytest.fixture(scope="session")
def address(filled: Services) -> Iterator[str]:
    """A real server over the filled store."""
    with served(filled, pages=True) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. While it lives its own event loop runs in this thread, so it ends with its module."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium, or set CHROMIUM to where it is")
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - only where there is a browser

    expect.set_options(timeout=1000 * BOUND_S)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), headless=True, args=FLAGS, timeout=1000 * BOUND_S
        )
        yield browser
        browser.close()


@pytest.fixture
def visitor(browser: Browser, address: str) -> Iterator[Visitor]:
    """Somebody at a desk, whose browser must have nothing to complain of."""
    visitor = Visitor(browser, address)
    yield visitor
    visitor.leave()
    assert visitor.complaints == []
