"""The verdict on the epochs of a training that is stopped and resumed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autograde.rubric import Call

from ..checks.train import CHECK

CRITERIA = {each.name: each for each in CHECK.criteria}


def call(told: list[list[int]], start: int, until: int) -> Call:
    """A call that finds a checkpoint after `start` epochs and is to train up to `until`. told: by rank."""
    begins = start - 1 if start else None
    seen = [SimpleNamespace(begins=begins, told=own, other=[], survived=False) for own in told]
    return Call({"kill": None}, int(start > 0), {"epochs": until, "accumulate": 2}, seen)


@pytest.mark.parametrize(
    ("told", "start", "until", "keys"),
    [
        ([0, 1], 0, 2, {}),
        ([], 4, 4, {}),
        ([0, 0], 0, 2, {"order": "sampler-not-told"}),
        ([0, 0], 2, 4, {"order": "sampler-not-told"}),
        ([2, 2], 2, 4, {"order": "sampler-not-told"}),
        ([1, 2], 0, 2, {"order": "epoch-shifted"}),
        ([0, 1], 2, 4, {"order": "set-epoch-from-0"}),
        ([0, 2], 2, 4, {"order": "set-epoch-late"}),
        ([5, 1], 2, 4, {"order": "other-orders"}),
        ([0, 1, 2, 3], 2, 4, {"goes-on": "not-resumed"}),
        ([0, 0, 0, 0], 2, 4, {"goes-on": "other-epochs", "order": "sampler-not-told"}),
        ([1, 2, 3], 2, 4, {"goes-on": "epoch-repeated"}),
        ([3], 2, 4, {"goes-on": "epoch-skipped"}),
        ([2, 3, 4, 5], 2, 4, {"goes-on": "epochs-counted-anew"}),
        ([4, 5, 6, 7], 4, 4, {"goes-on": "epochs-counted-anew"}),
        ([3], 4, 4, {"goes-on": "epoch-repeated"}),
        ([4], 4, 4, {"goes-on": "trains-when-done"}),
        ([5, 1, 1], 0, 2, {"goes-on": "other-epochs", "order": "other-orders"}),
        ([], 0, 2, {"goes-on": "nothing-trained", "order": "nothing-trained"}),
    ],
)
def test_what_is_wrong_with_epochs_has_a_name_and_their_order_is_judged_by_itself(told, start, until, keys):
    found = {name: CRITERIA[name].wrong([call([told] * 2, start, until)]) for name in ("order", "goes-on")}
    assert {name: wrong.key for name, wrong in found.items() if wrong} == keys


def test_ranks_that_go_through_different_epochs_are_told():
    assert CRITERIA["order"].wrong([call([[2, 3], [2, 2]], 2, 4)]).message.startswith("On rank 1")
    wrong = CRITERIA["goes-on"].wrong([call([[2, 3], [2]], 2, 4)])
    assert wrong.message == "Epochs that are trained on rank 1: 2. Expected: 2, 3."
