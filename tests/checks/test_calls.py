"""Tools of probes: meetings between calls, results as plain data, libraries that stay alive."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from made_events import event

from autograde.contract.calls import calls_apart, described, nothing_starts_or_ends


def test_events_are_cut_where_the_ranks_met():
    meeting = event("barrier", line=None)
    assert calls_apart([event(), meeting, meeting, event(), event("barrier")]) == [
        [event()],
        [],
        [event(), event("barrier")],
    ]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (1.5, {"float": True, "type": "float", "value": 1.5}),
        (np.float64(1.5), {"float": True, "type": "float64", "value": 1.5}),
        (np.float32(1.5), {"float": False, "type": "float32", "value": 1.5}),
        (torch.tensor([1.5]), {"float": False, "type": "Tensor of torch.float32", "value": 1.5}),
        (np.ones(2), {"float": False, "type": "ndarray of float64", "value": None}),
        (float("nan"), {"float": True, "type": "float", "value": None}),
        (None, {"float": False, "type": "NoneType", "value": None}),
    ],
    ids=str,
)
def test_a_result_is_described_in_plain_data(value, seen):
    assert described(value) == seen


def test_libraries_cannot_be_started_or_ended_but_it_is_noted():
    import torch.distributed as dist

    end = dist.destroy_process_group
    tried: list[str] = []
    with nothing_starts_or_ends(tried):
        dist.init_process_group("gloo")
        dist.destroy_process_group()
    assert tried == ["dist.init_process_group", "dist.destroy_process_group"]
    assert dist.destroy_process_group is end
