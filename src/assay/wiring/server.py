"""A memory that serves others for as long as a process runs: with its shadow runs and spans, closed in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from assay.clock import Clock
from assay.settings import Settings
from assay.wiring.engines import open_engine
from assay.wiring.online import shadow_of
from assay.wiring.tracing import trace

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.memory.engine import Engine


@contextmanager
def serving(
    settings: Settings, *, create: bool = True, clock: Clock | None = None, embedder: Embedder | None = None
) -> Iterator[Engine]:
    """The engine the settings name, watched by shadow runs and spans; what they still hold is written at the end."""
    # A server would come to need each of them, and whoever calls it then could do nothing about it.
    settings.refuse_withheld(*settings.withheld)
    with ExitStack() as ending:
        engine = ending.enter_context(open_engine(settings, clock=clock, create=create, embedder=embedder))
        ending.callback(shadow_of(engine, settings).close)
        # What spans wait to be sent is sent when the process ends: the provider sees to that itself.
        trace(settings, engine)
        yield engine
