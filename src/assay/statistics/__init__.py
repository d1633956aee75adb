"""Statistics over arrays. Results are frozen values, randomness is an argument, and numpy is the only dependency.

- `comparison`: the verdict on two systems that answered the same queries.
- `paired_tests`: permutation and t tests, effect sizes, power, corrections for many tests.
- `intervals`: confidence intervals of means, proportions, differences and ratios.
- `independent_samples`: two groups, one group against the rest, change points.
- `confidence_sequences`: the interval of a mean that may be looked at after every value.
- `sequential`: tests that may be looked at after every vote.
- `paired_sequential`: the same for two systems over the same cases.
- `online_tests`: interleaving, sample-ratio check, Beta-Binomial comparison, expected clicks.
- `agreement`: agreement of raters and of rankings.
- `calibration`: calibration of judges, and means corrected by human labels.
- `resampling`: large samples, drawn in short steps.
- `inputs`: checks of what enters a computation, and what a cluster is.
- `special`: the distribution functions that the tests need.
"""

from assay.records.evaluations import Agreement, Interval
from assay.statistics.agreement import (
    AgreementClass,
    RankAgreement,
    classify,
    cohen_kappa,
    jaccard,
    kendall_tau_b,
    krippendorff_alpha,
    rank_agreement,
    rank_biased_overlap,
)
from assay.statistics.calibration import (
    BrierScore,
    CalibrationError,
    PpiMean,
    Temperature,
    brier_score,
    calibration_error,
    fit_temperature,
    ppi_mean,
)
from assay.statistics.comparison import Comparison, Pairs, Rules, Verdict, compare, compare_all
from assay.statistics.confidence_sequences import sequence_interval
from assay.statistics.inputs import Units, units_of
from assay.statistics.intervals import (
    DIFFERENCE,
    UNIT,
    Bounds,
    bootstrap_difference,
    bootstrap_mean,
    clopper_pearson,
    mean_interval,
    paired_differences,
    wilson,
)
from assay.statistics.online_tests import (
    BayesResult,
    Credit,
    Drafted,
    Prior,
    SampleRatio,
    SignTest,
    Successes,
    beta_binomial,
    chance_of_higher_mean,
    credit,
    sample_ratio,
    sign_test,
    sign_test_of,
    team_draft,
)
from assay.statistics.paired_sequential import PairedDecision, PairedEProcess
from assay.statistics.paired_tests import (
    EffectSize,
    PermutationTest,
    Score,
    TTest,
    benjamini_hochberg,
    effect_size,
    first_of_each_test,
    holm,
    minimum_detectable_effect,
    paired_t_power,
    paired_t_test,
    required_pairs,
    required_pairs_normal,
    sign_flip_test,
    smallest_p,
    units_for_p,
    wins_ties_losses,
)
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
    "PairedDecision",
    "PairedEProcess",
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
    "sequence_interval",
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
