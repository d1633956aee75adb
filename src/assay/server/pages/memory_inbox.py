"""`/memory/inbox`: memories that wait for a person: duplicates, contradictions, quarantine and learned triggers."""

from __future__ import annotations

from starlette.responses import Response

from assay.access import acts
from assay.memory.saving.spam_filter import quarantine_reasons
from assay.records import MemoryFilter, MemoryStatus
from assay.records.learning import TermState
from assay.server.pages.page import LastFew, Page, Pages, PageView
from assay.storage import Work
from assay.storage.repositories.memory_lists import MemoryPair
from assay.verbs import learning as learning_verbs

pages = Pages("memory")
SHOWN = 50
"""Entries of each kind that the page shows."""


@pages.get("/memory/inbox", acts.MEMORY_READ)
def show_inbox(view: PageView) -> Page:
    """Show what waits for a decision."""
    with view.engine.store.reading(view.scope) as work:
        held = work.memory_lists.page(MemoryFilter(status=MemoryStatus.QUARANTINED), limit=SHOWN + 1)
        terms = work.learned_terms.of(states=(TermState.SHADOW,))
        titles = work.memories.by_ids({term.memory_id for term in terms[:SHOWN]})
        context = {
            "quarantined": [(memory, quarantine_reasons(memory)) for memory in held],
            "contradictions": work.memory_lists.contradictions(limit=SHOWN + 1),
            "copies": _find_copies(view, work),
            "terms": [(term, titles.get(term.memory_id)) for term in terms[:SHOWN]],
            "waiting_terms": len(terms),
            "shown": SHOWN,
            "said": view.notice,
        }
    return Page(template="memory_inbox.html", context=context)


def _find_copies(view: PageView, work: Work) -> list[MemoryPair]:
    """Return pairs of the same or nearly the same text. All texts are compared, so pairs are kept until one changes."""
    kept: LastFew[list[MemoryPair]] = view.request.app.state.memory_copies
    key = (view.scope.tenant, work.changes.position())
    return kept.of(key, lambda: work.memory_lists.copies(limit=SHOWN + 1))


@pages.post("/memory/inbox/approve", acts.LEARNING_CHANGE)
def approve_terms(view: PageView) -> Response:
    """Let the learned triggers into memories; refused while anything but the approval is missing."""
    view.call(learning_verbs.APPROVE)
    return view.go_to("/memory/inbox", "The learned triggers are approved.")


@pages.post("/memory/inbox/{memory_id}/withdraw", acts.LEARNING_CHANGE)
def withdraw_terms(view: PageView) -> Response:
    """Take back what one memory learned from use."""
    done = view.call(learning_verbs.ROLL_BACK, memory_id=view.path["memory_id"])
    return view.go_to("/memory/inbox", f"Taken back: {done.terms} learned triggers and {done.votes} votes.")
