"""The gatekeeper that the settings describe, and what they configure Assay to contact."""

from __future__ import annotations

from assay.network import Gatekeeper, split_addresses
from assay.settings import Settings


def gatekeeper_of(settings: Settings) -> Gatekeeper:
    """Lets pass what the settings name: model, embedder, collector, and network.allow."""
    addresses = [settings.model_url, *split_addresses(settings.network_allow)]
    if settings.embedder == "remote":
        addresses.append(settings.embedder_url)
    if settings.otel_exporter == "otlp":
        addresses.append(settings.otel_endpoint)
    return Gatekeeper.of(addresses, offline=settings.network_offline)
