"""The compact form in which a channel's list is kept."""

from __future__ import annotations

import json
import zlib

from hypothesis import given
from hypothesis import strategies as st

from assay.records import ChannelCandidates
from assay.storage.repositories.queries import pack, unpack


@given(ids=st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:#-]{0,127}", fullmatch=True), max_size=5))
def test_whatever_is_an_id_is_packed_as_json_has_it(ids: list[str]) -> None:
    offered = ChannelCandidates(channel="vector", ids=tuple(ids), scores=(0.5,) * len(ids))
    packed = pack(offered)
    assert json.dumps(ids, separators=(",", ":")).encode() in zlib.decompress(packed[1:])
    assert unpack("vector", packed) == offered
