"""Measure an index of OpenSearch that is there already, by words. OPENSEARCH_URL names the server."""

import os

from hotel import measure

if __name__ == "__main__":
    measure(f"opensearch:{os.environ['OPENSEARCH_URL']}#hotel?by=text")
