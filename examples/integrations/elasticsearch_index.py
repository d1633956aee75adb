"""Measure an index of Elasticsearch that is there already, by words. ELASTICSEARCH_URL names the server."""

import os

from hotel import measure

if __name__ == "__main__":
    measure(f"elasticsearch:{os.environ['ELASTICSEARCH_URL']}#hotel?by=text")
