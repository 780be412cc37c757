"""Pictures of lab 02: products, turns, and who waits for whom."""

from __future__ import annotations

from made_events import event
from matplotlib.patches import FancyArrowPatch

from ..figures.products import products_picture
from ..figures.turns import turns_picture
from ..figures.wait_graph import wait_graph

AT_ONCE = [(5.0, 5.1)] * 3
IN_TURN = [(9.0, 9.1), (9.1, 9.2), (9.2, 9.3)]


def waiting(op: str, peer: int | None, line: int) -> dict:
    """A call that never ended."""
    return event(op.lower(), op=op, end=None, peer=peer, line=line)


BARS = [[("A", 0.0, 0.4), ("G", 0.9, 1.2)], [("D", 0.0, 0.8)], [("A", 0.0, 0.3), ("G", 0.9, 1.1)], []]
MOVED = [[event("allgather", start=0.4, end=0.85)], [event("allgather", start=0.8, end=0.85)], [], []]
FIGURES = {
    "turns": lambda: turns_picture({"nobody waits": AT_ONCE, "in turn": IN_TURN}, "Turns"),
    "deadlock of two": lambda: wait_graph([[waiting("Send", 1, 5)], [waiting("Send", 0, 5)]], "Two wait"),
    "deadlock of four": lambda: wait_graph([[waiting("recv", (r - 1) % 4, 3)] for r in range(4)], "Four wait"),
    "nobody waits": lambda: wait_graph([[], []], "Nobody waits"),
    "products": lambda: products_picture(BARS, MOVED, "Three products"),
}


def test_each_run_begins_at_its_own_first_action() -> None:
    left, right = FIGURES["turns"]().axes
    assert [round(bar.get_x(), 3) for bar in left.patches] == [0, 0, 0]
    assert [round(bar.get_x(), 3) for bar in right.patches] == [0, 0.1, 0.2]
    assert left.get_xlim() == right.get_xlim()


def test_an_arrow_goes_from_each_rank_that_waits_to_the_one_it_waits_for() -> None:
    figure = FIGURES["deadlock of two"]()
    arrows = [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 2
    assert "rank 0 waits for rank 1 in Send, line 5; rank 1 waits for rank 0 in Send, line 5" in figure.alt
    assert not [each for each in FIGURES["nobody waits"]().axes[0].patches if isinstance(each, FancyArrowPatch)]


def test_a_rank_in_a_collective_waits_for_those_that_are_not_in_it() -> None:
    absent = wait_graph([[waiting("gather", None, 9)], [], [waiting("gather", None, 9)]], "One is missing")
    assert absent.alt.count("waits for rank 1") == 2 and absent.alt.count("waits for") == 2


def test_the_description_of_products_says_who_made_which_and_when() -> None:
    assert "rank 0: A from 0.00 to 0.40 s, G from 0.90 to 1.20 s; rank 1: D" in FIGURES["products"]().alt
    assert "rank 3: no product" in FIGURES["products"]().alt
