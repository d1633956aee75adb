"""Questions proposed from documents by rule, without a model.

- `passages`: the sentences of a document, without markup.
- `verbs`: forms of English verbs, and plainer words.
- `wording`: how a question is worded.
- `clauses`: parts of a sentence, and the table of rules.
- `doing`: rules about tasks and conditions.
- `stating`: rules about facts.
- `rules`: from a sentence to questions.
- `checks`: which questions are thrown away.
- `choosing`: which of those that are left are proposed.
"""
