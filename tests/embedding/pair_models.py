"""A small cross-encoder, written as ONNX by hand: it counts the words that a query and a text share.

The network compares every token of the query with every token of the text. Its logit is the number of equal pairs less
`bias`; the separator, which both parts end with, is one of them. A file of ONNX is a protocol buffer, so a few lines
write one: a field is its number and kind, then its content, and a message is its fields one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from assay.embedding import bundled as pinned

FLOAT, INT64 = 1, 7
INT, INTS = 2, 7
"""Kinds of attributes."""


def write_pair_model(folder: Path, *, bias: float = 1.0, columns: int = 1) -> Path:
    """Write `model.onnx` and `tokenizer.json`; with two columns, the second is that of "fits"."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(_model(bias, columns))
    (folder / "tokenizer.json").symlink_to(pinned.TOKENIZER.verify(extra="memory"))
    return folder


def _model(bias: float, columns: int) -> bytes:
    nodes = [
        _node("Unsqueeze", ["input_ids", "last"], "ids_down"),
        _node("Unsqueeze", ["input_ids", "middle"], "ids_across"),
        _node("Equal", ["ids_down", "ids_across"], "equal"),
        _node("Cast", ["equal"], "same", [_attribute("to", INT, FLOAT)]),
        _node("Sub", ["attention_mask", "token_type_ids"], "of_query"),
        _node("Unsqueeze", ["of_query", "last"], "query_down"),
        _node("Unsqueeze", ["token_type_ids", "middle"], "text_across"),
        _node("Mul", ["query_down", "text_across"], "counted"),
        _node("Cast", ["counted"], "counted_as_float", [_attribute("to", INT, FLOAT)]),
        _node("Mul", ["same", "counted_as_float"], "shared"),
        _node("ReduceSum", ["shared", "both"], "matches", [_attribute("keepdims", INT, 0)]),
        _node("Unsqueeze", ["matches", "middle"], "matches_column"),
        _node("Sub", ["matches_column", "bias"], "logit"),
    ]
    if columns > 1:
        # Every column before the last is 0 for each pair.
        nodes.append(_node("Sub", ["logit", "logit"], "zero"))
        nodes.append(_node("Concat", ["zero"] * (columns - 1) + ["logit"], "logits", [_attribute("axis", INT, 1)]))
    constants = [
        _tensor("last", INT64, [1], struct.pack("<q", 2)),
        _tensor("middle", INT64, [1], struct.pack("<q", 1)),
        _tensor("both", INT64, [2], struct.pack("<2q", 1, 2)),
        _tensor("bias", FLOAT, [1], struct.pack("<f", bias)),
    ]
    inputs = [_value(name, INT64, ["pairs", "tokens"]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    output = _value("logits" if columns > 1 else "logit", FLOAT, ["pairs", str(columns)])
    graph = b"".join(
        [
            *(_message(1, node) for node in nodes),
            _message(2, b"shared words"),
            *(_message(5, constant) for constant in constants),
            *(_message(11, given) for given in inputs),
            _message(12, output),
        ]
    )
    return _number(1, 8) + _message(7, graph) + _message(8, _message(1, b"") + _number(2, 13))


def _node(kind: str, inputs: Sequence[str], output: str, attributes: Sequence[bytes] = ()) -> bytes:
    named = b"".join(_message(1, name.encode()) for name in inputs) + _message(2, output.encode())
    return named + _message(4, kind.encode()) + b"".join(_message(5, attribute) for attribute in attributes)


def _attribute(name: str, kind: int, value: int) -> bytes:
    return _message(1, name.encode()) + _number(3, value) + _number(20, kind)


def _tensor(name: str, kind: int, shape: Sequence[int], content: bytes) -> bytes:
    dimensions = b"".join(_number(1, size) for size in shape)
    return dimensions + _number(2, kind) + _message(8, name.encode()) + _message(9, content)


def _value(name: str, kind: int, shape: Sequence[str]) -> bytes:
    dimensions = b"".join(_message(1, _message(2, size.encode())) for size in shape)
    tensor = _number(1, kind) + _message(2, dimensions)
    return _message(1, name.encode()) + _message(2, _message(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    digits = []
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
