"""Statistics: arrays in, frozen values out, chance an argument. Needs numpy and nothing else.

`comparison` the verdict on two systems; `bootstrap`, `intervals`, `permutation`, `t_test`, `effect_size`, `power`,
`multiple`, `distinct` what it is made of; `sequential`, `sample_ratio`, `bayes`, `interleaving` decisions on the way;
`rank_agreement` two lists; `agreement`, `ppi`, `calibration` judges and humans. `clusters` owns what a cluster is,
`checks` what may enter, `special` the distributions.
"""

from assay.records.interval import Interval
from assay.statistics.agreement import Agreement, cohen_kappa, krippendorff_alpha
from assay.statistics.bayes import BayesResult, Prior, Successes, beta_binomial, chance_of_higher_mean
from assay.statistics.bootstrap import bootstrap_difference, bootstrap_mean, paired_differences
from assay.statistics.calibration import (
    BrierScore,
    CalibrationError,
    Temperature,
    brier_score,
    calibration_error,
    fit_temperature,
)
from assay.statistics.clusters import Units, units_of
from assay.statistics.comparison import Comparison, Pairs, Rules, Verdict, compare, compare_all
from assay.statistics.distinct import first_of_each_test
from assay.statistics.effect_size import EffectSize, Score, effect_size, wins_ties_losses
from assay.statistics.interleaving import Credit, Drafted, SignTest, credit, sign_test, sign_test_of, team_draft
from assay.statistics.intervals import DIFFERENCE, UNIT, Bounds, clopper_pearson, mean_interval, wilson
from assay.statistics.multiple import benjamini_hochberg, holm
from assay.statistics.permutation import PermutationTest, sign_flip_test, smallest_p, units_for_p
from assay.statistics.power import (
    minimum_detectable_effect,
    paired_t_power,
    required_pairs,
    required_pairs_normal,
)
from assay.statistics.ppi import PpiMean, ppi_mean
from assay.statistics.rank_agreement import (
    AgreementClass,
    RankAgreement,
    classify,
    jaccard,
    kendall_tau_b,
    rank_agreement,
    rank_biased_overlap,
)
from assay.statistics.sample_ratio import SampleRatio, sample_ratio
from assay.statistics.sequential import (
    Decision,
    EProcess,
    EProcessRule,
    FirstVotes,
    GaussianSprt,
    GaussianSprtRule,
    alpha_of_attempt,
    first_votes,
)
from assay.statistics.t_test import TTest, paired_t_test

__all__ = [
    "DIFFERENCE",
    "UNIT",
    "Agreement",
    "AgreementClass",
    "BayesResult",
    "Bounds",
    "BrierScore",
    "CalibrationError",
    "Comparison",
    "Credit",
    "Decision",
    "Drafted",
    "EProcess",
    "EProcessRule",
    "EffectSize",
    "FirstVotes",
    "GaussianSprt",
    "GaussianSprtRule",
    "Interval",
    "Pairs",
    "PermutationTest",
    "PpiMean",
    "Prior",
    "RankAgreement",
    "Rules",
    "SampleRatio",
    "Score",
    "SignTest",
    "Successes",
    "TTest",
    "Temperature",
    "Units",
    "Verdict",
    "alpha_of_attempt",
    "benjamini_hochberg",
    "beta_binomial",
    "bootstrap_difference",
    "bootstrap_mean",
    "brier_score",
    "calibration_error",
    "chance_of_higher_mean",
    "classify",
    "clopper_pearson",
    "cohen_kappa",
    "compare",
    "compare_all",
    "credit",
    "effect_size",
    "first_of_each_test",
    "first_votes",
    "fit_temperature",
    "holm",
    "jaccard",
    "kendall_tau_b",
    "krippendorff_alpha",
    "mean_interval",
    "minimum_detectable_effect",
    "paired_differences",
    "paired_t_power",
    "paired_t_test",
    "ppi_mean",
    "rank_agreement",
    "rank_biased_overlap",
    "required_pairs",
    "required_pairs_normal",
    "sample_ratio",
    "sign_flip_test",
    "sign_test",
    "sign_test_of",
    "smallest_p",
    "team_draft",
    "units_for_p",
    "units_of",
    "wilson",
    "wins_ties_losses",
]
