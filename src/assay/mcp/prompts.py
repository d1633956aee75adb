"""Prompts a user can choose: `save_what_we_learnt`, which has an agent keep the lessons of a conversation."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from assay.errors import BadValue
from assay.mcp.policies import Act, acts

LONGEST_TOPIC = 1_000

SAVE = Prompt(
    name="save_what_we_learnt",
    title="Save what we learnt",
    description="Keep the decisions, facts and lessons of this conversation in the memory.",
    arguments=[PromptArgument(name="topic", description="Only what concerns this.", required=False)],
)
PROMPTS: Mapping[str, tuple[Prompt, Act]] = {SAVE.name: (SAVE, acts.MEMORY_SAVE)}
"""Each prompt with the act it leads to."""

_TEXT = """\
Look back over this conversation{about} and save what will matter later.

1. List the decisions (with their reasons), facts about this project, and lessons from mistakes. Leave out what is \
obvious, temporary, or written down elsewhere. Never save passwords, keys or personal data.
2. For each, call memory_search first. If the memory has it already and it is still right, leave it. If it was wrong \
or misleading, call memory_validate with was_useful false.
3. Save each new item with memory_save: one item a memory, a title that says the point, a body that stands alone \
(what, why, since when), and a few trigger phrases in the words somebody would use when they need it.
4. Where one item led to another, join them with memory_causal_link.
5. Tell me in a short list what was stored, merged or turned away, and why."""


def filled(name: str, given: Mapping[str, str]) -> GetPromptResult:
    """A prompt with its arguments in place."""
    unknown = sorted(set(given) - {"topic"})
    if unknown:
        raise BadValue(f"{name} has no argument {unknown[0]!r}", remedy="It takes topic.")
    topic = given.get("topic", "").strip()
    if len(topic) > LONGEST_TOPIC:
        raise BadValue(
            f"topic has {len(topic):,} characters, over {LONGEST_TOPIC:,}", remedy="Say in a line what it is about."
        )
    text = _TEXT.format(about=f", as far as it concerns {topic}," if topic else "")
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=SAVE.description, messages=[message])
