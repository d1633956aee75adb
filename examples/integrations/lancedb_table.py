"""Fill a table of LanceDB, index it, and measure it: the run prints the recall of the index."""

import lancedb
from hotel import IDS, TEXTS, embed, measure
from lancedb.index import IvfFlat

if __name__ == "__main__":
    rows = [
        {"id": name, "text": text, "vector": row}
        for name, text, row in zip(IDS, TEXTS, embed(TEXTS).tolist(), strict=True)
    ]
    table = lancedb.connect("lance-db").create_table("hotel", rows, mode="overwrite")
    table.create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=4))
    measure("lancedb:lance-db#hotel?text=text")
