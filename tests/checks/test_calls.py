"""Tools of probes: meetings between calls, results as plain data, libraries that stay alive."""

from __future__ import annotations

from made_events import event

from autograde.contract.calls import calls_apart, nothing_starts_or_ends


def test_events_are_cut_where_the_ranks_met():
    meeting = event("barrier", line=None)
    assert calls_apart([event(), meeting, meeting, event(), event("barrier")]) == [
        [event()],
        [],
        [event(), event("barrier")],
    ]


def test_libraries_cannot_be_started_or_ended_but_it_is_noted():
    import torch.distributed as dist

    end = dist.destroy_process_group
    tried: list[str] = []
    with nothing_starts_or_ends(tried):
        dist.init_process_group("gloo")
        dist.destroy_process_group()
    assert tried == ["dist.init_process_group", "dist.destroy_process_group"]
    assert dist.destroy_process_group is end
