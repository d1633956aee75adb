"""What a request took: tokens as the server counted them, and for failed tries the most they can have taken.

`ask_structured` adds up the requests of one question. A try that failed brings no count, so what it may have used is
bounded the way the budget does it: no tokenizer makes more tokens than there are bytes.
"""

from __future__ import annotations

from assay.errors import ModelError
from assay.models.budget import NANO, Prices, most_of
from assay.models.chat import ChatReply, ChatRequest
from assay.records.judging import Usage

_FREE = Prices(prompt=0, completion=0)


def usage_of_reply(request: ChatRequest, reply: ChatReply) -> Usage:
    """Return what a reply took, its failed tries included."""
    if reply.cached:
        return Usage(cached=1)
    counted = reply.prompt_tokens is not None and reply.completion_tokens is not None
    lost = reply.worked_on + (not counted)
    return Usage(
        requests=reply.tries,
        failed=max(reply.tries - 1, 0),
        unmetered=int(not counted),
        prompt_tokens=(reply.prompt_tokens or 0) if counted else 0,
        completion_tokens=(reply.completion_tokens or 0) if counted else 0,
        most_prompt_tokens=lost * most_prompt_tokens(request),
        most_completion_tokens=lost * request.max_tokens,
    )


def usage_of_failure(request: ChatRequest, problem: ModelError) -> Usage:
    """Return what a question took that got no reply at all."""
    return Usage(
        requests=problem.tries,
        failed=problem.tries,
        most_prompt_tokens=problem.worked_on * most_prompt_tokens(request),
        most_completion_tokens=problem.worked_on * request.max_tokens,
    )


def costs_of(usage: Usage, prices: Prices | None) -> tuple[float | None, float | None]:
    """Return the dollars that were paid, and the most that can have been paid with failed requests included.

    Both are None without prices; the first is None where a server did not count, since the rest is not the whole.
    """
    if prices is None:
        return None, None
    paid = prices.cost(usage.prompt_tokens, usage.completion_tokens)
    most = paid.plus(prices.cost(usage.most_prompt_tokens, usage.most_completion_tokens))
    return (None if usage.unmetered else paid.nano_usd / NANO), most.nano_usd / NANO


def most_prompt_tokens(request: ChatRequest) -> int:
    """Return the most tokens that sending a request once can take."""
    return most_of(request, _FREE).tokens - request.max_tokens
