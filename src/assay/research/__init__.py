"""From a question to an answer with citations: plan, search, synthesise, each step evaluated."""
