"""Pages of the routes that are not made from verbs: their parameters, and the functions of `verbs.paging`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from assay.verbs.paging import CURSOR_TEXT, LARGEST, LIMIT_TEXT
from assay.verbs.paging import cut_page as page
from assay.verbs.paging import read_cursor as read
from assay.verbs.paging import row_id as text
from assay.verbs.paging import row_number as number
from assay.verbs.paging import write_cursor as written

__all__ = ["LARGEST", "Cursor", "Limit", "number", "page", "read", "text", "written"]

Limit = Annotated[int, Query(ge=1, le=LARGEST, description=LIMIT_TEXT)]
Cursor = Annotated[str | None, Query(max_length=2_000, description=CURSOR_TEXT)]
