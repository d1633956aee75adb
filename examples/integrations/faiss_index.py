"""Write an index of FAISS with the ids of its vectors beside it, and measure it."""

from pathlib import Path

import faiss
from hotel import DIMENSION, IDS, TEXTS, embed, measure

if __name__ == "__main__":
    index = faiss.IndexHNSWFlat(DIMENSION, 32, faiss.METRIC_INNER_PRODUCT)
    index.add(embed(TEXTS))
    faiss.write_index(index, "hotel.index")
    Path("hotel.index.ids").write_text("\n".join(IDS), encoding="utf-8")
    measure("faiss:hotel.index")
