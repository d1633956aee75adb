"""From features to a probability: logistic weights, read from the small file that `bench/fit_judge.py` writes.

`coefficients.json` says for each profile which features it weighs, where they were fitted and when. It is the only
place where the built-in judges keep what they learned from labelled data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from assay.errors import BadValue
from assay.hashing import content_hash

FILE = "coefficients.json"


class Profile(StrEnum):
    """What a probability is of, and what it is made from."""

    CLAIM = "claim"
    """That passages support a claim; words and vectors."""
    CLAIM_WORDS = "claim_words"
    """The same without vectors."""
    UNSOURCED = "unsourced"
    """That an answer without any passage invents nothing."""
    ANSWERABLE = "answerable"
    """That passages answer a question; words and vectors."""
    ANSWERABLE_WORDS = "answerable_words"


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """One fitted profile. A feature counts by how far it lies from its mean, in its own spread."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    penalty: float
    """What large weights cost while fitting."""
    fitted_on: tuple[str, ...]

    def probability(self, features: Mapping[str, float]) -> float:
        """Between 0 and 1, exclusive."""
        missing = [name for name in self.names if name not in features]
        if missing:
            raise BadValue(f"the feature {missing[0]!r} is missing", remedy="Use the profile made for these features.")
        parts = zip(self.names, self.means, self.spreads, self.weights, strict=True)
        total = math.fsum(weight * (features[name] - mean) / spread for name, mean, spread, weight in parts)
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, self.bias + total))))


@cache
def weights_of(profile: Profile) -> Weights:
    """The fitted weights of a profile."""
    stored: dict[str, Any] = _stored()["profiles"][profile.value]
    fields: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in stored.items()}
    return Weights(**fields)


@cache
def version() -> str:
    """Changes with every coefficient: stands in the records of whatever was judged."""
    return content_hash(_stored()["profiles"]).removeprefix("sha256:")[:12]


@cache
def _stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return found
