"""The compact form in which a channel's list is kept."""

from __future__ import annotations

import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import StoreCorrupt
from assay.records import ChannelCandidates
from assay.storage.repositories.queries import pack, unpack

IDS = st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:#-]{0,127}", fullmatch=True), max_size=5)


def offered_ids(ids: list[str]) -> ChannelCandidates:
    scores = tuple(0.1 * place for place in range(len(ids)))
    return ChannelCandidates(channel="vector", ids=tuple(ids), scores=scores)


@given(ids=IDS)
def test_whatever_is_an_id_comes_back_with_its_score(ids: list[str]) -> None:
    assert unpack("vector", pack(offered_ids(ids))) == offered_ids(ids)


@given(ids=IDS)
def test_lists_of_version_0_1_are_read(ids: list[str]) -> None:
    old = offered_ids(ids)
    names = json.dumps(ids, separators=(",", ":")).encode()
    packed = struct.pack("<I", len(names)) + names + struct.pack(f"<{len(ids)}d", *old.scores)
    assert unpack("vector", b"\x01" + zlib.compress(packed, 1)) == old


def test_what_all_ids_begin_with_is_kept_once() -> None:
    ids = [f"m_01M7JTV12RJP3HG147AWNM{number:04d}#0" for number in range(60)]
    assert len(pack(offered_ids(ids))) < 60 * 20


@pytest.mark.parametrize("cut", [1, 5, 9, 20, -1])
def test_a_list_that_was_cut_short_is_named_as_corrupt(cut: int) -> None:
    packed = pack(offered_ids(["m_1#0", "m_2#0", "m_3#0"]))
    with pytest.raises(StoreCorrupt, match="'vector'"):
        unpack("vector", packed[:cut])
