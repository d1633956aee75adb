"""PDF files for tests, written by hand: a page for each text, a line for each of its lines."""

from __future__ import annotations

import io
import re

from pypdf import PdfReader, PdfWriter

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
_PARENTHESIS, _ESCAPED = re.compile(r"([()])"), r"\\\1"


def make_pdf(*pages: str) -> bytes:
    """A PDF with these pages; an empty one has no text, as a scanned page."""
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(pages)))
    parts = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>", FONT]
    for place, page in enumerate(pages):
        box = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        parts.append(f"<< /Type /Page /Parent 2 0 R {box} /Contents {5 + 2 * place} 0 R >>")
        lines = "".join(f"({_PARENTHESIS.sub(_ESCAPED, line)}) Tj T* " for line in page.split("\n"))
        drawn = f"BT /F1 12 Tf 14 TL 72 720 Td {lines}ET" if page else ""
        parts.append(f"<< /Length {len(drawn.encode('cp1252'))} >>\nstream\n{drawn}\nendstream")
    made, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(made))
        made += f"{number} 0 obj\n{part}\nendobj\n".encode("cp1252")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(parts) + 1
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(made)}\n"
    )
    return made + end.encode() + b"%%EOF\n"


def encrypt_pdf(content: bytes, password: str) -> bytes:
    """The same with a password; with an empty one, everybody may open it and nobody may change it."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()
