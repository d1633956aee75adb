"""Reading text: terms, sections, chunks, claims, facts, questions, and secrets.

- `terms`: the terms of a text, the same for every lexical channel.
- `sections`: splits Markdown, reStructuredText and JSON documents into sections.
- `chunking`: splits a document into the passages that search ranks.
- `claims`: the sentences of a text, and the claims of an answer with their citations.
- `statements`: the statements of a passage that an answer can quote.
- `answer_kinds`: the kind of value a question asks for, such as a price, and whether a sentence has one.
- `questions`: reads by rules what kind of question it is, its parts, its time, and what it excludes.
- `facts`: reads what sentences state: subject, relation, value, polarity and time.
- `relations`: which relations hold one value at a time, and which may hold several.
- `wording`: compares claims and finds contradictions.
- `periods`: dates in a text as periods, and whether one names the time that another means.
- `relative_times`: times told from the day on which something is said, such as yesterday.
- `surroundings`: what stands around a turn of a chat.
- `secrets`: finds and masks secrets.
"""
