"""Protection against prompt injection: marked lines, cleaned text, and search for orders to the judge.

- Marking, cleaning and searching judged text.
- Material as a model sees it.
"""

from __future__ import annotations

import base64
import hmac
import re
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.hashing import content_hash
from assay.records.research import Dimension, Material, Passage, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.records.judging import RoleResult

# --- Marking, cleaning and searching judged text ---
#
# Judged text stands between lines that hold a keyed hash of the whole input, which no author of a passage can know;
# the same input gives the same lines, so replies can be cached. Invisible characters and the markers of chat templates
# are taken out. `find_orders` names what still looks like an order to the judge, and `remove_orders` is the text
# without it: a verdict that moves between the two is contested. No list of orders is complete, which is why every run
# also plants some (`canaries`).

LETTERS = 16
"""Hexadecimal digits of the marked lines."""
_TEMPLATE_MARKS = re.compile(
    r"<\|[^|<>]{0,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|<\|?/?(?:system|user|assistant)\|?>"
    r"|^[^\S\n]*+#{0,6}[^\S\n]*+(?:system|developer)\s*+:",
    re.IGNORECASE | re.MULTILINE,
)
_MARKED_LINES = re.compile(r"<{2,}|>{2,}|={4,}|-{5,}|#{4,}")
_JUDGES = r"(?:judges?|evaluators?|graders?|assessors?|raters?|reviewers?|llms?|language\s+models?|ai|assistant)"
_RATINGS = r"(?:score|rating|grade|verdict|groundedness|correctness)"
_PRAISE = r"(?:5|five|full|highest|maximum|max|perfect|top|best)"
_SUSPICIONS = {
    "forged_verdict": re.compile(
        rf"[\"'“]\s*(?:{_RATINGS}|abstained)\s*[\"'”]\s*:|\b{_RATINGS}\s*[:=]\s*[0-5]\b|\babstained\s*[:=]"
        rf"|\b[45]\s*/\s*5\b|\b(?:five|5)\s+out\s+of\s+(?:five|5)\b|(?:un)?supported_claims"
        rf"|\b(?:final|correct|true)\s+(?:score|verdict)\b|(?:分数|评分|点数)\s*[::为是=]",
        re.IGNORECASE,
    ),
    "order": re.compile(
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
        r"\b(?:instructions?|prompts?|rubric|previous|prior|above|earlier|guidelines)\b"
        r"|\b(?:new|updated|real|hidden|secret)\s+(?:system\s+)?instructions?\b|\bsystem\s+(?:prompt|override)\b"
        rf"|\b(?:note|message|memo|attention|dear|hey|instructions?)\W+(?:(?:to|for)\s+)?(?:the\s+|all\s+)?{_JUDGES}\b"
        rf"|\bas\s+(?:an?|the|your)\s+(?:\w+\s+)?(?:judge|evaluator|grader|assessor|rater)\b|\byou\s+are\s+now\b"
        rf"|\b(?:rate|score|grade|award|assign|give)\b[^.\n]{{0,40}}\b{_PRAISE}\b[^.\n]{{0,20}}"
        rf"(?:{_RATINGS}|marks?|points?|stars?)\b"
        rf"|\b(?:rate|grade|mark|score|treat|judge)\s+(?:this|it|the\s+(?:answer|response|text|above))\b[^.\n]{{0,20}}"
        rf"\b{_PRAISE}\b"
        rf"|\b(?:output|print|return|respond|reply)\b[^.\n]{{0,30}}\b(?:{_RATINGS}|json|exactly|only)\b"
        r"|\b(?:ignoriere?|vergiss|missachte)\b[^.\n]{0,40}\b(?:anweisung\w*|regeln)\b"
        r"|\b(?:ignor[ae]\w*|olvid[ae]\w*|oubli\w+)\b[^.\n]{0,40}\b(?:instruc\w+|consignes)\b"
        r"|(?:忽略|无视|無視)|(?:игнорируй|забудь)\w*",
        re.IGNORECASE,
    ),
    "pleading": re.compile(
        r"\b(?:already|previously)\s+(?:been\s+)?(?:verified|evaluated|judged|approved|graded|fact-checked)\b"
        r"|\b(?:fired|jailed|punished|sued)\b[^.\n]{0,60}\b(?:unless|if\s+you|low|score|rate)\b"
        r"|\b(?:tip|pay|reward)\s+you\b|\bpre-?approved\b",
        re.IGNORECASE,
    ),
}
"""Phrases that address a judge and hardly occur otherwise: too broad a pattern contests honest verdicts."""
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_MOST_ENCODED = 50
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ue000-\uf8ff\ufe00-\ufe0f"
    "\ufeff\ufff0-\ufffb\ud800-\udfff\U000e0000-\U0010ffff]"
)
"""Control, format, private-use and tag characters, which a reader does not see and a model does."""
_NEVER_BY_ACCIDENT = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]{2}")
_FEW_HIDDEN = 12
"""So many invisible characters happen by accident: joined emoji, soft hyphens, a byte order mark."""


class CleanedText(NamedTuple):
    """Judged text as it is shown, and what was taken out of it."""

    text: str
    removed: tuple[str, ...]


class InjectionGuard:
    """Makes the marked lines. The secret belongs to the operator of the judge and is in no prompt."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def mark(self, content: str) -> str:
        """What the marked lines around this content hold."""
        return hmac.new(self._secret, content.encode(errors="replace"), "sha256").hexdigest()[:LETTERS]


def enclose(label: str, text: str, mark: str) -> str:
    """Judged text between its lines."""
    return f"<<<{label} {mark}>>>\n{text}\n<<<END {label} {mark}>>>"


def clean(text: str) -> CleanedText:
    """A text without invisible characters, chat template markers and lines that look like ours."""
    removed = []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    visible = _HIDDEN.sub("", text)
    if len(text) - len(visible) > _FEW_HIDDEN or _NEVER_BY_ACCIDENT.search(text):
        removed.append("hidden_text")
    folded = unicodedata.normalize("NFKC", visible)
    unmarked = _TEMPLATE_MARKS.sub(" ", folded)
    if unmarked != folded:
        removed.append("role_marker")
    plain = _MARKED_LINES.sub(lambda found: found[0][0], unmarked)
    if plain != unmarked and _looks_like_ours(unmarked):
        removed.append("forged_line")
    return CleanedText(plain, tuple(removed))


def find_orders(text: str) -> tuple[str, ...]:
    """Return the names of patterns in a text that look like orders to the judge, before cleaning."""
    seen = clean(text)
    folded = _fold_lookalikes(seen.text)
    found = [name for name, pattern in _SUSPICIONS.items() if pattern.search(folded)]
    encoded = ["encoded_order"] if any(map(_addresses_judge, _decode_base64(folded))) else []
    return (*seen.removed, *found, *encoded)


def remove_orders(text: str) -> str:
    """Return a text without sentences that look like orders to the judge, and without text between foreign markers."""
    marks = list(_TEMPLATE_MARKS.finditer(unicodedata.normalize("NFKC", text)))
    if marks:
        text = unicodedata.normalize("NFKC", text)
        text = text[: marks[0].start()] + (text[marks[-1].end() :] if len(marks) > 1 else "")
    kept = [
        sentence for sentence in re.split(r"(?<=[.!?。])\s+|\n+", clean(text).text) if not _addresses_judge(sentence)
    ]
    return " ".join(sentence for sentence in kept if sentence.strip())


def _addresses_judge(sentence: str) -> bool:
    folded = _fold_lookalikes(sentence)
    return any(pattern.search(piece) for piece in (folded, *_decode_base64(folded)) for pattern in _SUSPICIONS.values())


def _decode_base64(text: str) -> list[str]:
    """Return the readable texts that base64 in a text decodes to."""
    found = []
    for match in _ENCODED.findall(text)[:_MOST_ENCODED]:
        with suppress(ValueError):
            found.append(base64.b64decode(match + "=" * (-len(match) % 4), validate=True).decode())
    return found


def _looks_like_ours(text: str) -> bool:
    return re.search(r"(?<!<)<{2,}+\s*+(?:END|ANSWER|PASSAGE|QUESTION|REFERENCE)", text, re.IGNORECASE) is not None


_LOOKALIKES = str.maketrans("аеорсухіѕԁոνɡⅼο", "aeopcyxisdnvglo")  # noqa: RUF001 - Cyrillic, Armenian and Greek on purpose


def _fold_lookalikes(text: str) -> str:
    """Letters of other scripts that look Latin as the Latin ones; where words are in that script, nothing is lost."""
    return f"{text.translate(_LOOKALIKES)}\n{text}"


# --- Material as a model sees it ---
#
# Material that gives orders to whoever evaluates it is shown without them, and flagged: the score is then of what is
# said about the question.

LONGEST_PASSAGE = 4_000
"""Characters of one passage that are shown."""
MEANINGS = {
    Dimension.INTENT_ALIGNMENT: "does the plan correctly interpret what the user wants?",
    Dimension.QUERY_COVERAGE: "do the planned queries cover all aspects of the question?",
    Dimension.SCOPE_APPROPRIATENESS: "is the plan neither too narrow nor too broad?",
    Dimension.CONTEXT_RECALL: "do the passages hold everything needed to answer fully?",
    Dimension.CONTEXT_PRECISION: "are the passages relevant to the question?",
    Dimension.SOURCE_QUALITY: "are the sources authoritative, current and credible?",
    Dimension.FAITHFULNESS: "is every statement of the answer supported by the passages it cites?",
    Dimension.RELEVANCE: "does the answer address what the user asked?",
    Dimension.FACTUAL_ACCURACY: "is the information correct?",
    Dimension.COMPLETENESS: "does the answer cover all aspects in sufficient depth?",
    Dimension.COHERENCE: "is the answer logical, organised and readable?",
}
"""The question behind each dimension."""


class RenderedMaterial(NamedTuple):
    """Material as a model sees it."""

    text: str
    flags: tuple[str, ...]
    """Names of patterns that look like orders to the evaluator."""


def render_material(material: Material, guard: InjectionGuard) -> RenderedMaterial:
    """Everything made so far, each part between its marked lines."""
    parts = list(_parts(material))
    mark = guard.mark(content_hash([list(part) for part in parts]))
    flags = tuple(dict.fromkeys(flag for _, text in parts for flag in find_orders(text)))
    blocks = [enclose(label, _safe(text), mark) for label, text in parts]
    return RenderedMaterial("\n\n".join(blocks), flags)


def render_passages(passages: Sequence[Passage], guard: InjectionGuard) -> RenderedMaterial:
    """Numbered passages alone, between marked lines."""
    text = passages_text(passages)
    return RenderedMaterial(enclose("PASSAGES", _safe(text), guard.mark(content_hash(text))), find_orders(text))


def render_question(question: str, guard: InjectionGuard) -> str:
    """The question alone, between marked lines."""
    return enclose("QUESTION", clean(question).text, guard.mark(content_hash(question)))


def render_results(results: Sequence[RoleResult], guard: InjectionGuard) -> str:
    """Return the results of all roles. A critique quotes judged text, so it is between marked lines too."""
    text = "\n".join(f"{result.role}: {_describe_result(result)}" for result in results)
    return enclose("PANEL", _safe(text), guard.mark(content_hash(text)))


def _describe_result(result: RoleResult) -> str:
    if not result.scored:
        return f"no scores: {result.reason}"
    scores = ", ".join(f"{name} {score:.2f}" for name, score in result.scores.items())
    return f"confidence {result.confidence or 0.0:.2f}; {scores}; {result.critique}"


def dimension_lines(dimensions: Sequence[str]) -> str:
    """What is scored, one line each."""
    told = [f"- {name}: {MEANINGS[Dimension(name)]}" if name in MEANINGS else f"- {name}" for name in dimensions]
    return "Score each dimension from 0.0 (not at all) to 1.0 (fully):\n" + "\n".join(told)


def score_properties(dimensions: Sequence[str]) -> dict[str, Any]:
    """The part of a schema that holds one score for each dimension."""
    score = {"type": "number", "minimum": 0, "maximum": 1}
    return {"type": "object", "required": list(dimensions), "properties": dict.fromkeys(dimensions, score)}


def passages_text(passages: Sequence[Passage]) -> str:
    """Numbered as citations name them."""
    return (
        "\n\n".join(f"[{passage.number}] {passage.title}\n{passage.text[:LONGEST_PASSAGE]}" for passage in passages)
        or "(none)"
    )


def _parts(material: Material) -> Iterator[tuple[str, str]]:
    yield "QUESTION", material.question
    if material.plan is not None:
        yield "PLAN", plan_text(material.plan)
    if material.passages:
        yield "PASSAGES", passages_text(material.passages)
    if material.synthesis is not None:
        yield "ANSWER", material.synthesis.text or material.synthesis.reason


def plan_text(plan: Plan) -> str:
    """A plan in lines."""
    lines = [f"intent: {plan.intent}", f"kind: {plan.kind}"]
    lines += [f"query ({query.purpose}): {query.text}" for query in plan.queries]
    lines += [f"rules out: {phrase}" for phrase in plan.excluded]
    return "\n".join(lines)


def _safe(text: str) -> str:
    if not find_orders(text):
        return clean(text).text
    kept = "\n".join(remove_orders(line) for line in text.split("\n"))
    return clean(kept).text.strip() or "(it says nothing about the question)"
