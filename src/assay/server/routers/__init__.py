"""The API by resource, in the order its description shows them."""

from __future__ import annotations

from assay.server.routers import (
    auditing,
    changing,
    datasets,
    evaluations,
    flags,
    governing,
    health,
    judgments,
    learning,
    memory,
    prompts,
    research,
    runs,
    searching,
    sessions,
    tests,
)
from assay.server.routing import Resource

RESOURCES: tuple[Resource, ...] = (
    research.RESOURCE,
    evaluations.RESOURCE,
    prompts.RESOURCE,
    searching.RESOURCE,
    health.RESOURCE,
    learning.RESOURCE,
    memory.RESOURCE,
    changing.RESOURCE,
    sessions.RESOURCE,
    runs.RESOURCE,
    datasets.RESOURCE,
    judgments.RESOURCE,
    flags.RESOURCE,
    tests.RESOURCE,
    governing.RESOURCE,
    auditing.RESOURCE,
)
"""Addresses without parameters stand before those with one that they fit: the first that fits answers."""
