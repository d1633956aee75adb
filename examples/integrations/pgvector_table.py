"""Fill a table of PostgreSQL with pgvector and measure it. DATABASE_URL names a database, such as postgresql:///app."""

import os

import psycopg
from hotel import DIMENSION, IDS, TEXTS, embed, measure

if __name__ == "__main__":
    url = os.environ["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE TABLE hotel (id text PRIMARY KEY, body text, embedding vector({DIMENSION}))")
        rows = [(name, text, str(row)) for name, text, row in zip(IDS, TEXTS, embed(TEXTS).tolist(), strict=True)]
        connection.cursor().executemany("INSERT INTO hotel VALUES (%s, %s, %s)", rows)
        connection.execute("CREATE INDEX ON hotel USING hnsw (embedding vector_cosine_ops)")
    measure(f"pgvector:{url}#hotel?text=body")
