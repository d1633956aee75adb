"""A search service to measure: GET /search?q=...&limit=... answers with JSON. Standard library only."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from assay import Dataset

WORDS = {one.id: set(re.findall(r"[a-z0-9]+", one.text.lower())) for one in Dataset.load("hotel").documents}


class Search(BaseHTTPRequestHandler):
    """Answers searches, and nothing else."""

    def do_GET(self) -> None:
        """Rank documents by how many words of the query they hold."""
        parameters = parse_qs(urlsplit(self.path).query)
        asked = set(re.findall(r"[a-z0-9]+", parameters["q"][0].lower()))
        scores = {name: len(asked & words) for name, words in WORDS.items()}
        best = sorted(scores, key=lambda name: -scores[name])[: int(parameters["limit"][0])]
        body = json.dumps({"hits": [{"document": {"id": name}, "score": scores[name]} for name in best]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Write no line for each request."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8756), Search).serve_forever()
