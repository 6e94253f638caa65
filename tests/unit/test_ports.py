"""A port that is found free stays free until a server listens on it."""

import random
import socket

import pytest

from local.ports import CHOICE, LOOPBACK, free_port


def test_it_is_below_the_ports_of_outgoing_connections() -> None:
    # https://docs.kernel.org/networking/ip-sysctl.html: ip_local_port_range begins here unless it was changed.
    assert CHOICE.stop <= 32_768
    assert free_port() in CHOICE


def test_a_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((LOOPBACK, free_port())) as taken:
        number, other = taken.getsockname()[1], free_port()
        drawn = iter([number, number, other])
        monkeypatch.setattr(random, "choice", lambda _: next(drawn))

        assert free_port() == other
