"""Agents of Pydantic AI over the texts of the contract, with models that need no service."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.systems.adapter_contract import EMBEDDER, TEXTS


def search_then_answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Call the tool with the question, then answer with the number of notes."""
    parts = [part for message in messages for part in message.parts]
    returned = [part for part in parts if isinstance(part, ToolReturnPart)]
    if returned:
        return ModelResponse(parts=[TextPart(f"{len(returned[-1].content)} notes.")])
    question = next(part.content for part in parts if isinstance(part, UserPromptPart))
    return ModelResponse(parts=[ToolCallPart("search", {"query": question})])


def make_agent(keys: list[str]) -> Agent[Any, str]:
    agent = Agent(FunctionModel(search_then_answer))

    @agent.tool_plain
    def search(query: str) -> list[dict[str, Any]]:
        """Search the notes."""
        scores = EMBEDDER.embed([TEXTS[key] for key in keys] or [""]) @ EMBEDDER.embed([query])[0]
        order: Any = np.argsort(-scores) if keys else []
        return [{"id": keys[place], "text": TEXTS[keys[place]], "score": float(scores[place])} for place in order]

    return agent


filled = make_agent(list(TEXTS))
empty = make_agent([])
