"""Catalog entries of the ranking metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.metrics import ranking
from assay.metrics.catalog import Better, Cutoff, FromRanking, MetricEntry, Parameter, register

if TYPE_CHECKING:
    from assay.metrics.ranking import Kernel

_UNJUDGED = Parameter(
    name="unjudged",
    meaning="the grade of a retrieved document without a judgment; 1 is the pooled rule, which adds those documents to"
    " the judgments as marginal; `relevant` gives them the lowest grade that is relevant; `in_view` does so only down"
    " to the cutoff; `missed` adds the documents of `in_view` to the judgments and not to the ranking: what they"
    " would cost a run that does not find them",
    default="0",
    choices=("0", "1", "relevant", "in_view", "missed"),
)
_VACUOUS = Parameter(
    name="vacuous",
    meaning="a query with nothing to find is left out of the mean and counted apart (`skip`), or enters it with its"
    " value by definition (`count`)",
    default="skip",
    choices=("skip", "count"),
)
_SHARED = (_UNJUDGED, _VACUOUS)
_GAIN = Parameter(
    name="gain",
    meaning="what a grade g is worth: g itself, or 2^g - 1",
    default="linear",
    choices=("linear", "exp"),
)
_PERSISTENCE = Parameter(
    name="p", meaning="the probability that the reader goes on to the next result", default="0.8", kind="share"
)
_TREC = "TREC; trec_eval"
_REGRESSION = "the RAG regression framework, section 4"


def _ranking(  # the facts that differ between metrics, in the order a reader wants them
    kernel: Kernel,
    summary: str,
    formula: str,
    *,
    cutoff: Cutoff,
    citation: str,
    disagreement: str,
    example: str,
    parameters: tuple[Parameter, ...] = (),
) -> MetricEntry:
    name = kernel.__name__
    return MetricEntry(
        name=name,
        family="ranking",
        summary=summary,
        formula=formula,
        lowest=0.0,
        highest=1.0,
        better=Better.HIGHER,
        cutoff=cutoff,
        parameters=parameters if name == "judged" else (*parameters, *_SHARED),
        citation=citation,
        disagreement=disagreement,
        example=example,
        compute=FromRanking(kernel),
    )


ENTRIES: tuple[MetricEntry, ...] = (
    _ranking(
        ranking.mrr,
        "How high does the first relevant document stand?",
        "1 / rank of the first document with grade >= level; 0 if there is none among the first k",
        cutoff=Cutoff.OPTIONAL,
        citation=f"Voorhees, TREC-8 Question Answering Track, 1999. {_REGRESSION}.3.",
        disagreement="trec_eval and ir_measures call the value of one query recip_rank and RR. MS MARCO cuts at 10.",
        example="First relevant document at rank 3: 1/3 = 0.3333. Over three queries with ranks 1, 3, 2:"
        " (1 + 0.3333 + 0.5) / 3 = 0.6111",
    ),
    _ranking(
        ranking.ndcg,
        "How close is the order to the best possible order of the judged documents?",
        "sum over ranks i <= k of gain(grade(i)) / log2(i + 1), divided by the same sum over the judged documents"
        " sorted by grade",
        cutoff=Cutoff.OPTIONAL,
        parameters=(_GAIN,),
        citation="Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; gain=exp: Burges et al., ICML 2005."
        f" {_REGRESSION}.4; the memory evaluation framework, section 3.1 (exp).",
        disagreement="trec_eval and most papers since use the linear gain, web search and learning to rank 2^g - 1: the"
        " two differ as soon as a grade exceeds 1. The relevance level plays no part: every grade above 0 has its gain."
        " The best order is over all judged documents, not over those retrieved.",
        example="Grades in rank order 3, 1, 2, and these are all the judgments: (3 + 0.6309 + 1) / (3 + 1.2619 + 0.5)"
        " = 4.6309 / 4.7619 = 0.9725",
    ),
    _ranking(
        ranking.recall,
        "How many of the relevant documents were found?",
        "relevant documents among the first k / relevant documents judged",
        cutoff=Cutoff.OPTIONAL,
        citation=f"Cleverdon, Cranfield, 1966. {_REGRESSION}.1; the memory evaluation framework, section 3.1.",
        disagreement="Where nothing is relevant, trec_eval gives 0 and counts it; the memory evaluation framework gives"
        " 1, and so does this, but outside the mean unless `vacuous=count`. DPR's recall@k is success@k.",
        example="Two relevant documents, one of them among the first 5: @5 gives 1/2 = 0.5",
    ),
    _ranking(
        ranking.precision,
        "How many of the first k results are relevant?",
        "relevant documents among the first k / k",
        cutoff=Cutoff.REQUIRED,
        citation=f"Cleverdon, Cranfield, 1966. {_REGRESSION}.2.",
        disagreement="Divides by k always, as trec_eval does; some tools divide by the number of results.",
        example="Grades in rank order 3, 0, 2, 0, 0 at level 2: @5 gives 2/5 = 0.4",
    ),
    _ranking(
        ranking.ap,
        "How good is precision at each relevant document, on average?",
        "sum over relevant documents at rank i <= k of precision(i), divided by the relevant documents judged",
        cutoff=Cutoff.OPTIONAL,
        citation=f"Buckley and Voorhees, SIGIR 2000. {_TREC} (map, map_cut).",
        disagreement="The mean over queries is MAP. With a cutoff some tools divide by min(k, relevant documents);"
        " trec_eval and this divide by all relevant documents.",
        example="Relevant documents at ranks 1 and 3 of two: (1/1 + 2/3) / 2 = 0.8333",
    ),
    _ranking(
        ranking.success,
        "Is any relevant document among the first k?",
        "1 if a document with grade >= level is among the first k, else 0",
        cutoff=Cutoff.REQUIRED,
        citation=f"{_TREC} (success_k).",
        disagreement="Also called hit rate; retrieval papers on question answering call it recall@k or accuracy@k.",
        example="First relevant document at rank 3: @2 gives 0, @5 gives 1",
    ),
    _ranking(
        ranking.rprec,
        "How many of the first R results are relevant, where R is the number of relevant documents?",
        "relevant documents among the first R / R",
        cutoff=Cutoff.NONE,
        citation=f"Buckley and Voorhees, in TREC: Experiment and Evaluation, 2005. {_TREC} (Rprec).",
        disagreement="",
        example="Three relevant documents, at ranks 1, 3 and 8: 2 of the first 3 = 0.6667",
    ),
    _ranking(
        ranking.bpref,
        "How rarely does a document judged not relevant stand above a relevant one?",
        "1/R sum over relevant documents retrieved of 1 - min(n, R) / min(N, R); n: judged not relevant above it,"
        " N: judged not relevant in all, R: relevant in all",
        cutoff=Cutoff.NONE,
        citation=f"Buckley and Voorhees, SIGIR 2004. {_TREC} (bpref).",
        disagreement="The paper's formula divides by R alone and counts the first R not relevant ones; trec_eval, since"
        " version 8, and this divide by min(N, R). Unjudged documents and negative grades are passed over.",
        example="Grades in rank order 1, 0, 1, unjudged, with R = 2 and N = 1: (1 + (1 - 1/1)) / 2 = 0.5",
    ),
    _ranking(
        ranking.rbp,
        "What does a reader gain who goes on to the next result with probability p?",
        "(1 - p) sum over relevant documents at rank i <= k of p^(i - 1)",
        cutoff=Cutoff.OPTIONAL,
        parameters=(_PERSISTENCE,),
        citation="Moffat and Zobel, ACM TOIS 27(1), 2008.",
        disagreement="The relevance here is yes or no; the paper also allows grades. A finite list never reaches 1.",
        example="Relevant documents at ranks 1 and 3, p = 0.8: 0.2 * (1 + 0.64) = 0.328",
    ),
    _ranking(
        ranking.judged,
        "How many of the first k results did anybody judge?",
        "judged documents among the first k / min(k, results)",
        cutoff=Cutoff.OPTIONAL,
        citation="Yilmaz and Aslam, CIKM 2006, on incomplete judgments; OpenNIR and ir_measures (Judged).",
        disagreement="Grade 0 is judged; a negative grade is not. An empty ranking is not applicable, where ir_measures"
        " divides by zero. Read it beside every other metric: a low share means the others look at little.",
        example="Four results, three of them judged: @10 gives 3/4 = 0.75",
    ),
)
register(__name__, ENTRIES)
