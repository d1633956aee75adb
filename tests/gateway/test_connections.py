"""Limits of connections: who gives way, what is overdue, and how many open files allow."""

from __future__ import annotations

import pytest

from assay.gateway.connections import Connection, ConnectionLimits, Connections, Phase, raise_file_limit, within_files
from assay.gateway.headers import Proxies
from assay.testing import FixedClock

LIMITS = ConnectionLimits(connections=4, per_address=2, head_s=10, body_s=20, idle_s=30, stalled_s=40)


class Door:
    """Connections with a clock that is moved by hand, and the names of those that were ended."""

    def __init__(self, limits: ConnectionLimits = LIMITS, proxies: Proxies | None = None) -> None:
        self.clock = FixedClock()
        self.connections = Connections(limits, self.clock, proxies)
        self.ended: list[str] = []
        self.server_is_slow = False

    def open(self, name: str, address: str = "192.0.2.1") -> Connection | None:
        """Open a connection one second later than the last."""
        self.clock.advance(seconds=1)

        def end(phase: Phase, *, at_once: bool) -> bool:
            del at_once
            if self.server_is_slow and phase is Phase.BODY:
                return False
            self.ended.append(name)
            return True

        return self.connections.admit(address, end)

    def must_open(self, name: str, address: str = "192.0.2.1") -> Connection:
        """The same, when there must be a place."""
        found = self.open(name, address)
        assert found is not None
        return found


def test_the_oldest_that_waits_for_its_client_gives_way() -> None:
    door = Door()
    door.must_open("a").enter(Phase.ANSWER)
    door.must_open("b")
    door.must_open("c")
    assert door.ended == ["b"]
    assert len(door.connections) == 2


def test_a_connection_of_a_known_caller_gives_way_last() -> None:
    door = Door()
    door.must_open("known").known = True
    door.must_open("stranger")
    door.must_open("new")
    assert door.ended == ["stranger"]


def test_only_when_all_are_being_answered_is_a_new_one_refused() -> None:
    door = Door()
    for name in "ab":
        door.must_open(name).enter(Phase.ANSWER)
    assert door.open("c") is None
    assert door.ended == []
    assert door.open("d", "192.0.2.2") is not None


def test_all_addresses_together_have_a_limit_too() -> None:
    door = Door()
    for number in range(5):
        door.must_open(str(number), f"192.0.2.{number}")
    assert door.ended == ["0"]
    assert len(door.connections) == 4


def test_an_ipv6_network_is_one_address() -> None:
    door = Door()
    for number in range(3):
        door.must_open(str(number), f"2001:db8::{number}")
    assert door.ended == ["0"]
    door.must_open("elsewhere", "2001:db8:1::1")
    assert door.ended == ["0"]


def test_a_trusted_proxy_may_have_all_connections() -> None:
    door = Door(proxies=Proxies(["192.0.2.0/24"]))
    for number in range(4):
        door.must_open(str(number)).enter(Phase.ANSWER)
    assert door.ended == []


@pytest.mark.parametrize(
    ("phase", "seconds"), [(Phase.HEAD, 10), (Phase.BODY, 20), (Phase.IDLE, 30), (Phase.CLOSING, 40)]
)
def test_who_keeps_the_server_waiting_is_ended_after_its_time(phase: Phase, seconds: int) -> None:
    door = Door()
    door.must_open("slow").enter(phase)
    door.clock.advance(seconds=seconds)
    assert door.connections.end_overdue() == 0
    door.clock.advance(seconds=1)
    assert door.connections.end_overdue() == 1
    assert door.ended == ["slow"]


def test_who_waits_for_the_server_is_never_overdue() -> None:
    door = Door()
    door.must_open("waiting").enter(Phase.ANSWER)
    door.clock.advance(seconds=10_000)
    assert door.connections.end_overdue() == 0


def test_a_body_that_comes_fast_enough_has_longer() -> None:
    door = Door()
    connection = door.must_open("upload")
    connection.enter(Phase.BODY)
    connection.received = 16_384 * 5
    door.clock.advance(seconds=25)
    assert door.connections.end_overdue() == 0
    door.clock.advance(seconds=1)
    assert door.connections.end_overdue() == 1


def test_a_client_that_does_not_read_its_answer_is_overdue() -> None:
    door = Door()
    connection = door.must_open("stalled")
    connection.enter(Phase.ANSWER)
    connection.set_stalled(stalled=True)
    door.clock.advance(seconds=41)
    connection.set_stalled(stalled=False)
    assert door.connections.end_overdue() == 0
    connection.set_stalled(stalled=True)
    door.clock.advance(seconds=41)
    assert door.connections.end_overdue() == 1


def test_whom_the_server_itself_keeps_waiting_gets_its_time_again() -> None:
    door = Door()
    connection = door.must_open("upload")
    connection.enter(Phase.BODY)
    door.server_is_slow = True
    door.clock.advance(seconds=21)
    assert door.connections.end_overdue() == 0
    door.server_is_slow = False
    assert door.connections.end_overdue() == 0
    door.clock.advance(seconds=21)
    assert door.connections.end_overdue() == 1


def test_a_connection_that_left_is_forgotten() -> None:
    door = Door()
    connection = door.must_open("a")
    connection.leave()
    connection.leave()
    assert len(door.connections) == 0


@pytest.mark.parametrize(("files", "most"), [(65_536, 1_000), (1_024, 832), (256, 64), (1, 1)])
def test_there_are_no_more_connections_than_files_may_be_open(files: int, most: int) -> None:
    limits = within_files(ConnectionLimits(), files)
    assert limits.connections == most
    assert limits.per_address <= max(most // 2, 1)


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes() -> None:
    assert raise_file_limit() == raise_file_limit() > 0
