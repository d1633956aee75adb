"""Derived indexes: per tenant an immutable base in mapped files, and a tail of later changes in memory.

Read `indexes` first. Below it: `view` (what one search sees) over `state` (base, what of it still holds, tail);
`tenant` (one tenant in this process) with `following` (the change log), `building`, `growing`, `folding` (new bases);
`base` with `generations` and `manifest` (files), `lexical` (tantivy) and `vectors` (usearch); `tail` with `postings`;
`columns` (filters), `bm25`, `nearness` and `ordering` (scores); `reading` (the store); `place`, `status`, `telling`.
"""

from assay.index.indexes import Indexes
from assay.index.options import IndexOptions
from assay.index.ordering import Found
from assay.index.place import default_folder
from assay.index.state import Allowed
from assay.index.status import Folded, IndexStatus, Recall
from assay.index.view import FolderSize, View

__all__ = [
    "Allowed",
    "Folded",
    "FolderSize",
    "Found",
    "IndexOptions",
    "IndexStatus",
    "Indexes",
    "Recall",
    "View",
    "default_folder",
]
