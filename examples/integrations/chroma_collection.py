"""Fill a collection of Chroma and measure it. On the command line: assay run hotel --system chroma:chroma-db#hotel."""

import chromadb
from chromadb.config import Settings
from hotel import IDS, TEXTS, embed, measure

if __name__ == "__main__":
    client = chromadb.PersistentClient("chroma-db", settings=Settings(anonymized_telemetry=False))
    collection = client.get_or_create_collection(
        "hotel", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    collection.upsert(ids=IDS, embeddings=embed(TEXTS), documents=TEXTS)
    client.close()
    measure("chroma:chroma-db#hotel")
