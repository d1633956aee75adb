"""Where in the dataset's documents a result stands, so that anchors measure retrieval and not metadata.

`paths` files by whatever root a system gives them, `corpus` passages by their text, `placing` both for the results of a
case, `undecided` what becomes of a run whose results cannot be placed.
"""

from assay.evaluation.placing.placing import PLACING, Placing, place_results

__all__ = ["PLACING", "Placing", "place_results"]
