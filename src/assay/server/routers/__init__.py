"""The API by resource, in the order its description shows them."""

from __future__ import annotations

from assay.server.routers import (
    health,
)
from assay.server.routing import Resource
from assay.server.verb_routes import RESOURCES as OF_VERBS

RESOURCES: tuple[Resource, ...] = (
    health.RESOURCE,
    *OF_VERBS,
)
"""Addresses without parameters stand before those with one that they fit: the first that fits answers."""
