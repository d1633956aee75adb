"""How the settings weigh and fuse what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import SettingError
from assay.records import FusionMethod
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.memory.searching import SearchOptions


def search_options(settings: Settings) -> SearchOptions:
    """How the settings weigh and fuse; what they leave open is as Assay has it."""
    from assay.memory.searching import SearchOptions  # noqa: PLC0415 - see the package's docstring
    from assay.memory.searching.options import BASE_WEIGHTS, weights_over  # noqa: PLC0415 - the same

    named = {channel: getattr(settings, f"search_weights_{channel.value}") for channel in BASE_WEIGHTS}
    base = {channel: weight if named[channel] is None else named[channel] for channel, weight in BASE_WEIGHTS.items()}
    own = SearchOptions()
    if settings.rerank_threshold is not None and settings.rerank_folder is None:
        raise SettingError(
            f"the setting rerank.threshold is {settings.rerank_threshold}, but there is no cross-encoder",
            remedy="Set rerank.folder too, or leave the threshold out.",
        )
    return SearchOptions(
        method=FusionMethod(settings.search_fusion),
        weights=weights_over(base),
        full_text_always=settings.search_full_text == "always",
        rrf_k=own.rrf_k if settings.search_rrf_k is None else settings.search_rrf_k,
        coefficient=own.coefficient if settings.search_coefficient is None else settings.search_coefficient,
        rerank_depth=own.rerank_depth if settings.rerank_depth is None else settings.rerank_depth,
        rerank_threshold=settings.rerank_threshold,
    )
