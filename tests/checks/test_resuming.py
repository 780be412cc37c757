"""The verdict on a training that is stopped and resumed, by evidence made in one process."""

from __future__ import annotations

import copy
import random

import pytest
import torch
from lab_packages import check_module

from autograde.contract.verdict import settle

CHECK = check_module("10_ddp_transformer", "train").CHECK
epochs_run = check_module("10_ddp_transformer", "training").epochs_run
draw_training = check_module("10_ddp_transformer", "training_plan").draw_training
everyones_batches = check_module("10_ddp_transformer", "training_plan").everyones_batches
in_one_process = check_module("10_ddp_transformer", "training_plan").in_one_process
in_steps = check_module("10_ddp_transformer", "training_plan").in_steps

FRESH = 3


def call(training: dict, start: int, until: int) -> dict:
    """What a right `train` does that begins after `start` epochs."""
    epochs = [in_steps(everyones_batches(training, epoch), training["accumulate"]) for epoch in range(until)]
    losses, weights = in_one_process(training, [step for steps in epochs for step in steps])
    own = losses[sum(map(len, epochs[:start])) :]
    return {
        "kind": "list",
        "losses": [{"float": True, "type": "float", "value": loss} for loss in own],
        "epochs": [*range(start, until)],
        "files": [epoch - 1 if epoch else None for epoch in range(start, until)] + [until - 1],
        "weights": weights,
    }


def honest(size: int, killed: bool) -> tuple[dict, dict]:
    """A case, and evidence of a right answer."""
    training = draw_training(random.Random(4), size, batches=5, accumulate=2)
    kill = {"rank": size - 1, "epoch": 1} if killed else None
    epochs = [3] if killed else [2, 4, 4]
    case = {"training": training, "epochs": epochs, "kill": kill, "fresh": FRESH}
    whole = [call(training, start, until) for start, until in zip([0, *epochs], epochs, strict=False)]
    resumed = [call(training, 1, 3)] if killed else None
    result = {"whole": whole, "resumed": resumed, "found": 0 if killed else None}
    return case, {
        "state": "ok",
        "detail": "",
        "report": "",
        "ranks": [{"result": copy.deepcopy(result), "events": [], "full": False, "unseen": False} for _ in range(size)],
    }


def keys(case: dict, evidence: dict) -> list[str]:
    """Of what is found."""
    return [finding.key for finding in settle([CHECK.verdict(case, evidence)])]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("killed", [False, True])
def test_a_right_training_has_no_mistakes(size, killed):
    assert keys(*honest(size, killed)) == []


def test_one_process_gives_the_same_on_another_number_of_threads():
    training = draw_training(random.Random(4), 3, batches=5, accumulate=2)
    before, once = torch.get_num_threads(), call(training, 0, 2)
    torch.set_num_threads(3)
    assert call(training, 0, 2) == once and torch.get_num_threads() == 3
    torch.set_num_threads(before)


@pytest.mark.parametrize(("size", "off", "found"), [(2, 1e-13, True), (3, 1e-13, False), (3, 1e-4, True)])
def test_after_a_kill_weights_are_the_same_bit_for_bit_on_two_ranks_and_nearly_so_on_more(size, off, found):
    case, evidence = honest(size, True)
    weights = evidence["ranks"][1]["result"]["resumed"][0]["weights"]
    weights[0] *= 1 + off
    assert bool(keys(case, evidence)) == found


def test_a_kill_that_never_came_or_left_nothing_costs_points():
    case, evidence = honest(2, True)
    for rank in evidence["ranks"]:
        rank["result"]["found"] = None
    assert keys(case, evidence) == ["nothing-kept"]
    for rank in evidence["ranks"]:
        rank["result"]["resumed"] = None
    assert keys(case, evidence) == ["never-stopped"]


@pytest.mark.parametrize("part", ["losses", "epochs", "files", "weights"])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("killed", [False, True])
def test_numbers_that_are_not_those_of_the_training_cost_points(part, number, killed):
    for damage in ("emptied", "shortened", "changed"):
        case, evidence = honest(2, killed)
        result = evidence["ranks"][0]["result"]
        values = (result["resumed"][0] if killed and number else result["whole"][number])[part]
        if damage == "emptied" and part != "files":
            values.clear()
        elif damage == "shortened" and part != "files":
            values.pop()
        elif part == "losses":
            values[-1]["value"] = None
        else:
            values[-1] = 7
        assert keys(case, evidence), damage


@pytest.mark.parametrize(
    ("seen", "start", "until", "key"),
    [
        ([0, 1], 0, 2, None),
        ([], 4, 4, None),
        ([0, 0], 0, 2, "sampler-not-told"),
        ([0, 0], 2, 4, "sampler-not-told"),
        ([1, 2], 0, 2, "epoch-shifted"),
        ([0, 1], 2, 4, "set-epoch-from-0"),
        ([0, 2], 2, 4, "set-epoch-late"),
        ([0, 1, 2, 3], 2, 4, "not-resumed"),
        ([1, 2, 3], 2, 4, "epoch-repeated"),
        ([3], 2, 4, "epoch-skipped"),
        ([2, 3, 4, 5], 2, 4, "epochs-counted-anew"),
        ([4, 5, 6, 7], 4, 4, "epochs-counted-anew"),
        ([3], 4, 4, "epoch-repeated"),
        ([4], 4, 4, "trains-when-done"),
        ([], 0, 2, "unexpected-epochs"),
        ([5, 1, 1], 0, 2, "unexpected-epochs"),
    ],
)
def test_what_is_wrong_with_epochs_has_a_name(seen, start, until, key):
    assert [finding.key for finding in settle([[epochs_run(seen, start, until)]])] == ([key] if key else [])


def steps_of_one(places: list, accumulate: int) -> list:
    """As a training takes them that does not accumulate."""
    return in_steps(places, 1)


@pytest.mark.parametrize(
    ("cut", "cheap"), [(in_steps, "sampler-not-told"), (steps_of_one, "not-accumulated")], ids=["orders", "steps"]
)
def test_who_makes_a_cheap_mistake_still_has_to_resume(cut, cheap):
    case, evidence = honest(2, False)
    training, orders = case["training"], [0, 0] if cheap == "sampler-not-told" else [0, 1]
    steps = [step for each in orders for step in cut(everyones_batches(training, each), training["accumulate"])]
    losses, weights = in_one_process(training, steps)
    for rank in evidence["ranks"]:
        first, second, _ = rank["result"]["whole"]
        first |= {"epochs": orders, "weights": weights}
        first["losses"] = [{"float": True, "type": "float", "value": loss} for loss in losses]
        second["epochs"] = [0, 1, 2, 3]
    assert "not-resumed" in keys(case, evidence)
    if cut is steps_of_one:
        assert cheap in keys(case, evidence)
