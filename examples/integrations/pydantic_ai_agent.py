"""An agent of Pydantic AI with Assay's memory as a tool, measured: what the tool found, and what the agent answered."""

from typing import Any

from hotel import measure, open_memory
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def search_then_answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Stand in for a model that calls its tool once and then answers."""
    parts = [part for message in messages for part in message.parts]
    if any(isinstance(part, ToolReturnPart) for part in parts):
        return ModelResponse(parts=[TextPart("I looked it up in my notes.")])
    question = next(part.content for part in parts if isinstance(part, UserPromptPart))
    return ModelResponse(parts=[ToolCallPart("search_memory", {"query": question})])


def make_agent() -> Agent[Any, str]:
    """Return the agent; give it any model of Pydantic AI instead."""
    memory, agent = open_memory(), Agent(FunctionModel(search_then_answer))

    @agent.tool_plain
    def search_memory(query: str) -> list[dict[str, Any]]:
        """Search the notes."""
        return [{"id": hit.rel_path, "text": hit.text, "score": hit.score} for hit in memory.search(query, k=10)]

    return agent


if __name__ == "__main__":
    measure("pydantic-ai:pydantic_ai_agent:make_agent")
