"""What a save does before it needs the write lock.

- Preparing: structure, hidden text, secrets, trust, quality, chunks and vectors.
- Batch sizes: as much text in one transaction as takes about two seconds to save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import Embedder
from assay.errors import MissingExtra, ModelError
from assay.hashing import content_hash
from assay.memory.saving.drafts import check_draft, mask_secrets, remove_hidden_text
from assay.memory.saving.options import score_quality
from assay.memory.saving.spam_filter import Doubt, find_doubts
from assay.memory.saving.subjects import Labelled
from assay.records import Chunk, Draft, Mask, Quality, Scope, heading_path, values
from assay.records.fields import make_checked
from assay.records.memory import TEXT_FIELDS
from assay.storage import ChunkVector, Store
from assay.text.chunking import Chunker, Piece, build_embedding_text

# --- Preparing: structure, hidden text, secrets, trust, quality, chunks and vectors ---

NO_EMBEDDER = "no embedder is configured"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A draft that is ready to be decided on and written."""

    draft: Draft
    """The draft without secrets and hidden characters."""
    source_hash: str
    masks: tuple[Mask, ...] = ()
    quality: Quality | None = None
    """None when quality was not scored."""
    doubts: tuple[Doubt, ...] = ()
    """Why it may not be a note at all, when that was checked."""
    pieces: tuple[Piece, ...] = ()
    skipped: dict[str, int] = field(default_factory=dict)
    hashes: tuple[str, ...] = ()
    """Of the text that is embedded for each piece."""
    vectors: NDArray[np.float32] | None = None
    """One row for each piece, rounded as the store keeps them; None: nothing could be embedded."""
    no_vectors: str = ""
    """Why not."""

    @property
    def mean(self) -> NDArray[np.float32] | None:
        """The memory's vector: the mean of its chunks at length 1."""
        if self.vectors is None or not len(self.vectors):
            return None
        total = self.vectors.mean(axis=0)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    @property
    def tokens(self) -> int:
        """Of all pieces."""
        return sum(piece.token_count for piece in self.pieces)

    @property
    def labelled(self) -> Labelled:
        """The text with its labels, for comparison."""
        headings = [piece.heading_path for piece in self.pieces]
        return Labelled(
            title=self.draft.title,
            body=self.draft.body,
            triggers=self.draft.triggers,
            headings=last_headings(headings),
            source_id=self.draft.source_id,
        )

    def chunks(self, memory_id: str) -> list[Chunk]:
        """Its pieces as rows of a memory."""
        # Pieces are cut from a body that was checked when the draft was made.
        return [
            make_checked(
                Chunk,
                memory_id=memory_id,
                position=piece.position,
                text=piece.text,
                heading_path=heading_path.normalise(values.optional_label(piece.heading_path, "heading_path")),
                token_count=values.count(piece.token_count, "token_count"),
            )
            for piece in self.pieces
        ]

    def vectors_by_hash(self) -> Iterable[tuple[str, NDArray[np.float32]]]:
        """Each text's hash with its vector; none where nothing could be embedded."""
        return () if self.vectors is None else zip(self.hashes, self.vectors, strict=True)

    def chunk_vectors(self) -> list[ChunkVector | None] | None:
        """The vectors of its pieces, as they are written."""
        if self.vectors is None:
            return None
        return [ChunkVector(text_hash, vector) for text_hash, vector in zip(self.hashes, self.vectors, strict=True)]


def last_headings(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the last heading of each heading path, each once."""
    last = (path.rsplit(heading_path.SEPARATOR, maxsplit=1)[-1] for path in paths if path)
    return tuple(dict.fromkeys(last))


def content_of(draft: Draft) -> str:
    """Return the hash of a draft's content, for a source that gives none."""
    content = {
        "title": draft.title,
        "body": draft.body,
        "triggers": list(draft.triggers),
        "tags": list(draft.tags),
        "tier": str(draft.tier),
        "format": str(draft.format),
        "folder": draft.folder,
        "rel_path": draft.rel_path,
        "context_type": draft.context_type,
        "entity_type": draft.entity_type,
        "metadata": dict(draft.metadata),
    }
    # A field that came later counts only where it is not empty, so that the hashes of stored memories stay the same.
    later = {name: getattr(draft, name) for name in TEXT_FIELDS if name not in content and name != "source_id"}
    return content_hash(content | {name: value for name, value in later.items() if value})


class Preparer:
    """Prepares drafts; holds the embedder and the chunker."""

    def __init__(self, *, store: Store, embedder: Embedder | None, chunker: Chunker) -> None:
        self._store = store
        self._embedder = embedder
        self.chunker = chunker

    def check(self, draft: Draft, *, scored: bool) -> Prepared:
        """Check structure, hidden text, secrets, trust and quality; raise if the draft cannot be kept."""
        check_draft(draft)
        # First what hides: a secret with an invisible character in it has no shape.
        seen, hidden_masks = remove_hidden_text(draft)
        clean, secret_masks = mask_secrets(seen)
        return Prepared(
            draft=clean,
            source_hash=clean.source_hash or content_of(clean),
            masks=(*hidden_masks, *secret_masks),
            quality=score_quality(clean) if scored else None,
            doubts=find_doubts(clean, hidden_masks) if scored else (),
        )

    def cut(self, checked: Prepared) -> CutDraft:
        """Cut a draft into chunks."""
        draft = checked.draft
        chunked = self.chunker.chunk(draft.title, draft.body, draft.format)
        texts = [build_embedding_text(draft.title, piece.heading_path, piece.text) for piece in chunked.pieces]
        hashes = tuple(map(content_hash, texts))
        return CutDraft(checked, tuple(chunked.pieces), dict(chunked.skipped), texts, hashes)

    def prepare(self, scope: Scope, checked: Sequence[Prepared]) -> list[Prepared]:
        """Cut drafts into chunks and embed them."""
        return self.embed(scope, list(map(self.cut, checked)))

    def embed(self, scope: Scope, cut: Sequence[CutDraft], *, unwritten: Sequence[Unwritten] = ()) -> list[Prepared]:
        """Embed the chunks of drafts.

        A text that was embedded before is not embedded again: its vector is in the store, or that of a draft in
        `unwritten`, which comes before these and may not be stored yet.
        """
        if self._embedder is None:
            return [draft.add_chunks(no_vectors=NO_EMBEDDER) for draft in cut]
        texts = {text_hash: text for own in cut for text_hash, text in zip(own.hashes, own.texts, strict=True)}
        try:
            made = self._vectors(scope, self._embedder, texts, unwritten)
        except (ModelError, MissingExtra) as problem:
            why = f"the embedder failed: {problem.message}"
            return [draft.add_chunks(no_vectors=why) for draft in cut]
        dimension = self._embedder.dimension
        return [draft.add_chunks(vectors=_rows(draft.hashes, made, dimension)) for draft in cut]

    def _vectors(
        self, scope: Scope, embedder: Embedder, texts: dict[str, str], unwritten: Sequence[Unwritten]
    ) -> dict[str, NDArray[np.float32]]:
        with self._store.reading(scope) as work:
            known = work.vectors.by_hashes(embedder.model, list(texts)) if texts else {}
        coming = {text_hash for batch in unwritten for draft in batch.cut for text_hash in draft.hashes}
        made = _embed(embedder, texts, [own for own in texts if own not in known and own not in coming])
        if not coming.isdisjoint(texts):
            drafts = [draft for batch in unwritten for draft in batch.prepared()]
            made |= {own: row for draft in drafts for own, row in draft.vectors_by_hash() if own in texts}
            # Where embedding the batch before failed, its texts have no vectors.
            made |= _embed(embedder, texts, [own for own in texts if own not in known and own not in made])
        return {**known, **made}


def _embed(embedder: Embedder, texts: Mapping[str, str], hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    if not hashes:
        return {}
    fresh = embedder.embed([texts[text_hash] for text_hash in hashes])
    # As the store will give them back, so that a comparison now and one later agree.
    return dict(zip(hashes, fresh.astype(np.float16).astype(np.float32), strict=True))


class Unwritten(NamedTuple):
    """Drafts that come before others and may not be stored yet."""

    cut: Sequence[CutDraft]
    prepared: Callable[[], Iterable[Prepared]]
    """Waits until they are embedded."""


class CutDraft(NamedTuple):
    """A checked draft in pieces, with the text to embed for each and its hash."""

    checked: Prepared
    pieces: tuple[Piece, ...]
    skipped: dict[str, int]
    texts: list[str]
    hashes: tuple[str, ...]

    def add_chunks(self, *, vectors: NDArray[np.float32] | None = None, no_vectors: str = "") -> Prepared:
        """Return the draft with its pieces, and their vectors or why there are none."""
        return replace(
            self.checked,
            pieces=self.pieces,
            skipped=self.skipped,
            hashes=self.hashes,
            vectors=vectors,
            no_vectors=no_vectors,
        )


def _rows(hashes: Sequence[str], made: dict[str, NDArray[np.float32]], dimension: int) -> NDArray[np.float32]:
    if len(hashes) == 1:
        return made[hashes[0]][None, :]
    rows = [made[text_hash] for text_hash in hashes]
    return np.stack(rows) if rows else np.zeros((0, dimension), dtype=np.float32)


# --- Batch sizes: as much text in one transaction as takes about two seconds to save ---
#
# A transaction of a fixed number of documents takes minutes where documents are long or the embedder is slow, and
# whoever stops it then loses all of them. So the text of a batch is bounded by how quickly the batches before it were
# saved, and their number by what one transaction should hold. A document that is longer than that alone is a batch of
# its own.

FIRST_BATCH = 16_384
"""Characters of the first batch, before the speed is known."""
FEWEST, MOST = 4_096, 4_194_304
"""Characters of any later batch."""
BATCH_GROWTH = 4
"""How many times larger the next batch may be: a quick batch of short notes does not predict long documents."""


@dataclass(slots=True)
class Pace:
    """How much text the next batch takes."""

    seconds: float
    """How long a batch should take."""
    characters: int = FIRST_BATCH

    def learn(self, characters: int, seconds: float) -> None:
        """Take into account how long a batch of so many characters took."""
        wanted = characters / seconds * self.seconds if seconds > 0.0 else float(MOST)
        self.characters = int(min(max(wanted, FEWEST), self.characters * BATCH_GROWTH, MOST))


def cut_batches(drafts: Iterable[Draft], most: int, pace: Pace) -> Iterator[list[Draft]]:
    """Cut drafts into batches of at most `most` drafts and the amount of text that the pace allows.

    A single draft that is longer than the pace allows is a batch of its own. The pace is read again for each batch, and
    drafts are taken from the iterable only when needed.
    """
    batch: list[Draft] = []
    size = 0
    for draft in drafts:
        length = len(draft.body)
        if batch and (len(batch) >= most or size + length > pace.characters):
            yield batch
            batch, size = [], 0
        batch.append(draft)
        size += length
    if batch:
        yield batch
