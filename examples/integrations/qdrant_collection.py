"""Fill a collection of Qdrant and measure it. Ids of points are numbers, so the payload has the document's id."""

from hotel import DIMENSION, IDS, TEXTS, embed, measure
from qdrant_client import QdrantClient, models

if __name__ == "__main__":
    client = QdrantClient(path="qdrant-db")
    vectors = models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
    client.create_collection("hotel", vectors_config=vectors)
    points = [
        models.PointStruct(id=number, vector=row, payload={"doc": name, "text": text})
        for number, (name, text, row) in enumerate(zip(IDS, TEXTS, embed(TEXTS).tolist(), strict=True))
    ]
    client.upsert("hotel", points=points)
    client.close()
    measure("qdrant:qdrant-db#hotel?id=doc&text=text")
