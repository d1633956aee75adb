"""`/memory/add`: new memories from the browser: a folder, a sample, or one that is written there.

The script of the page reads the files and sends each to `POST /api/memory`, so a folder needs no path on the server.
"""

from __future__ import annotations

from starlette.responses import Response

from assay.access import acts
from assay.records import make_draft
from assay.server.pages.memory_one import describe_outcome
from assay.server.pages.page import Page, Pages, PageView
from assay.verbs import memory as memory_verbs

pages = Pages("memory")
SAMPLE = "hotel"
"""The dataset whose documents are the sample."""
SAMPLE_FOLDER = f"sample/{SAMPLE}"


@pages.get("/memory/add", acts.MEMORY_SAVE)
def show_adding(view: PageView) -> Page:
    """Show the ways to add memories."""
    return Page(template="memory_add.html", context={"sample_folder": SAMPLE_FOLDER, "said": view.notice})


@pages.post("/memory/add", acts.MEMORY_SAVE)
def add(view: PageView) -> Response:
    """Save a memory that was written on the page."""
    given = {"title": view.form_value("title").strip(), "body": view.form_value("body").replace("\r\n", "\n")}
    folder = view.form.get("folder", "").strip()
    outcome = view.call(memory_verbs.SAVE, **given, folder=folder or None)
    if outcome.memory_id is None:
        return view.go_to("/memory/add", describe_outcome(outcome))
    return view.go_to(f"/memory/{outcome.memory_id}", describe_outcome(outcome))


@pages.post("/memory/sample", acts.MEMORY_SAVE)
def take_sample(view: PageView) -> Response:
    """Save the documents of the sample; taking it in again changes nothing."""
    documents = view.shelf.load_dataset(SAMPLE).documents
    saved = 0
    for document in documents:
        draft = make_draft(
            title=document.title or document.id, body=document.text, folder=SAMPLE_FOLDER,
            source_id=f"{SAMPLE_FOLDER}/{document.id}", automated=True, written_with=view.caller.via,
        )  # fmt: skip
        outcome = view.engine.saver.save(view.scope, draft, gated=False)
        saved += not outcome.unchanged
    view.engine.keep_up(view.scope)
    return view.go_to("/memory", f"{saved} memories of the sample were saved. Search them, or ask a question.")
