"""An agent loop with a memory: read what is known, answer, keep what was learned.

`think` stands for a call of your model. Everything else is what a real loop does.
"""

from __future__ import annotations

from assay import Memory

TURNS = (
    ("ada", "Remember: the billing service is released on Tuesdays."),
    ("ada", "When is the billing service released?"),
    ("ada", "Remember: the billing service is released on Thursdays."),
    ("ada", "When is the billing service released?"),
)


def think(question: str, notes: list[str]) -> str:
    """Answer from the notes; a model would do this."""
    return notes[0] if notes else f"I have no note for: {question}"


def run(memory: Memory) -> None:
    """Go through the turns, and print what the agent says."""
    for person, text in TURNS:
        print(f"{person}: {text}")
        if text.startswith("Remember: "):
            saved = memory.save(title="Release day of the billing service", body=text.removeprefix("Remember: "))
            print(f"agent: noted ({saved.decision})")
        else:
            notes = [hit.text for hit in memory.search(text, k=3)]
            print(f"agent: {think(text, notes)}")


if __name__ == "__main__":
    with Memory("agent.db") as memory:
        run(memory)
