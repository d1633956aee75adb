"""Derived indexes: per tenant an immutable base in mapped files and a tail of later changes in memory, or PostgreSQL.

- `protocol`: what a search asks of an index, whoever answers.
- `indexes`: the indexes of all tenants in files; read it first.
- `database`: PostgreSQL as the index, without files.
- `database_view`: what one search sees of it.
- `options`: the settings, and the status values.
- `view`: what one search sees.
- `state`: a base, which of it is still true, and the tail; how it follows the change log.
- `tail`: changes since the base, and reading the store.
- `base`: the base with its files on disk.
- `building`: makes a new base, from the tables or by growing the last one.
- `shared_files`: files that a base and the one grown from it have in common.
- `status`: counts for `index status` and health, and the recall of the vectors.
- `lexical`: the words of passages (tantivy).
- `vectors`: the vectors of passages (usearch).
- `graphs`: makes the graph of vectors, in memory or by a program of its own.
- `graph_program`: that program.
- `codes`: one bit for each dimension of a vector, for many millions of them.
- `native`: loads usearch so that it can live beside the embedder's runtime.
- `columns`: facts about memories, for filters and for ranking.
- `kept_tables`: edges and facts in memory, while nobody writes any.
- `rows`: candidates of a search, made of columns.
- `scoring`: BM25, exact cosine, and the order of answers.
"""

from assay.index.base import default_folder
from assay.index.database import DatabaseIndexes
from assay.index.indexes import Indexes
from assay.index.options import Folded, IndexOptions, IndexStatus, Recall
from assay.index.protocol import AllowedPassages, FolderSize, SearchIndexes, SearchView
from assay.index.rows import PassageNames, Rows
from assay.index.scoring import Found, FoundPassages, join_found, numbers_of, scores_of
from assay.index.state import Allowed
from assay.index.view import View

__all__ = [
    "Allowed",
    "AllowedPassages",
    "DatabaseIndexes",
    "Folded",
    "FolderSize",
    "Found",
    "FoundPassages",
    "IndexOptions",
    "IndexStatus",
    "Indexes",
    "PassageNames",
    "Recall",
    "Rows",
    "SearchIndexes",
    "SearchView",
    "View",
    "default_folder",
    "join_found",
    "numbers_of",
    "scores_of",
]
