"""Writing a network in ONNX format, without the library of that name: only what an encoder needs.

A model file is a message of Protocol Buffers: fields with a number and a kind, one after the other. `Graph` collects
nodes and weights, and `Graph.encode` gives the bytes that onnxruntime reads.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 10
OPSET = 21
"""The first version whose `DequantizeLinear` takes a scale for each block of weights."""

_FLOAT, _INT8, _INT32, _INT64 = 1, 3, 6, 7
_KINDS = {
    np.dtype(np.float32): _FLOAT,
    np.dtype(np.int8): _INT8,
    np.dtype(np.int32): _INT32,
    np.dtype(np.int64): _INT64,
}
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 2, 7

Attribute = float | int | Sequence[int]


class Graph:
    """A network as it is put together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._weights: dict[str, bytes] = {}
        self._values = 0

    def weight(self, name: str, values: NDArray[np.generic]) -> str:
        """Add a constant, or name the one that is there already."""
        if name not in self._weights:
            dims = b"".join(_whole(1, size) for size in values.shape)
            raw = np.ascontiguousarray(values).tobytes()
            self._weights[name] = dims + _whole(2, _KINDS[values.dtype]) + _text(8, name) + _bytes(9, raw)
        return name

    def node(self, kind: str, *inputs: str, **attributes: Attribute) -> str:
        """Add an operation with one output, and return the output's name."""
        return self.split(kind, *inputs, outputs=1, **attributes)[0]

    def split(self, kind: str, *inputs: str, outputs: int, **attributes: Attribute) -> list[str]:
        """Add an operation with several outputs, and return their names."""
        names = [f"value_{self._values + place}" for place in range(outputs)]
        self._values += outputs
        parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in names] + [_text(4, kind)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(parts))
        return names

    def encode(self, inputs: Sequence[str], output: str, width: int) -> bytes:
        """Return the model: its inputs are whole numbers by text and token, its output has a row for each text."""
        parts = [_bytes(1, node) for node in self._nodes] + [_text(2, self._name)]
        parts += [_bytes(5, weight) for weight in self._weights.values()]
        parts += [_bytes(11, _described(name, _INT64, ["texts", "tokens"])) for name in inputs]
        parts.append(_bytes(12, _described(output, _FLOAT, ["texts", width])))
        graph = b"".join(parts)
        return _whole(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _text(1, "") + _whole(2, OPSET))


def _described(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_bytes(1, _text(2, size) if isinstance(size, str) else _whole(1, size)) for size in shape)
    tensor = _whole(1, kind) + _bytes(2, sizes)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _whole(20, _ATTRIBUTE_FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _whole(3, value) + _whole(20, _ATTRIBUTE_INT)
    return _text(1, name) + b"".join(_whole(8, one) for one in value) + _whole(20, _ATTRIBUTE_INTS)


def _key(field: int, kind: int) -> bytes:
    return _number(field << 3 | kind)


def _whole(field: int, value: int) -> bytes:
    # A negative number is written as the unsigned one of 64 bits with the same bits.
    return _key(field, 0) + _number(value % 2**64)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _number(len(value)) + value


def _number(value: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
