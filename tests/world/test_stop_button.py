"""What a press of the stop button does while something runs, and soon after; SIGINT is sent to this very process."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from course.world import interrupts
from course.world.interrupts import StopButton


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, as in a notebook, and afterwards does what it did."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_a_press_is_noted_and_those_that_follow_soon_belong_to_it(monkeypatch):
    monkeypatch.setattr(interrupts, "ECHO", 3600.0)
    with pytest.raises(ValueError, match="stopped"), StopButton() as stop:
        press()
        press()
        assert stop.pressed
        raise ValueError("stopped")
    press()


def test_a_press_long_after_a_stop_is_one_of_its_own(monkeypatch):
    monkeypatch.setattr(interrupts, "ECHO", -1.0)
    with pytest.raises(ValueError, match="stopped"), StopButton():
        press()
        raise ValueError("stopped")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            press()


def test_a_press_that_nobody_looked_at_is_not_lost():
    with pytest.raises(KeyboardInterrupt), StopButton():
        press()


def test_without_a_press_all_is_as_before():
    with StopButton() as stop:
        pass
    assert not stop.pressed
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_ignores_interrupts_goes_on_doing_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StopButton() as stop:
        press()
    assert not stop.pressed
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
