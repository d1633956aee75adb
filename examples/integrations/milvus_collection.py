"""Fill a collection of Milvus Lite and measure it."""

from hotel import DIMENSION, IDS, TEXTS, embed, measure
from pymilvus import DataType, MilvusClient

if __name__ == "__main__":
    client = MilvusClient("hotel-milvus.db")
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=200)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSION)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 100})
    client.create_collection("hotel", schema=schema, index_params=indexes)
    client.insert("hotel", [{"id": name, "vector": row} for name, row in zip(IDS, embed(TEXTS).tolist(), strict=True)])
    client.flush("hotel")
    client.close()
    measure("milvus:hotel-milvus.db#hotel")
