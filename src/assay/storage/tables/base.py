"""Where every table is registered."""

from __future__ import annotations

from sqlalchemy import MetaData

metadata = MetaData()
