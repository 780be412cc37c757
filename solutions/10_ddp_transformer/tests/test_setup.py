"""The device that `setup` chooses on a simulated node, and the group that it starts, are judged."""

from __future__ import annotations

import pytest

from autograde.probes.simulated_node import Chosen
from autograde.rubric import Call

from ..checks.setup import CHECK
from ..probes import setup as SETUP


def seen_on(gpus: int, changes: dict[int, dict]) -> Call:
    """Two nodes of two ranks, and what right code does there, but for changes by rank."""
    on_gpu, seen = gpus >= 2, []
    for rank in range(4):
        changed = changes.get(rank, {})
        device = f"cuda:{rank % 2}" if on_gpu else "cpu"
        chosen = {"kind": "device", "device": device, "current": rank % 2 if on_gpu else None}
        start = {"backend": "nccl" if on_gpu else "gloo", "rank": rank, "size": 4, "in_place": True}
        start |= {name: changed[name] for name in changed if name in start}
        chosen |= {name: changed[name] for name in changed if name in chosen}
        group = changed.get("group", [0, 1, 2, 3])
        seen.append(SETUP.Seen(Chosen(**chosen), [SETUP.Start(**start)], group))
    arguments = {"local": [[0, 2], [1, 2], [0, 2], [1, 2]], "gpus": gpus}
    return Call({}, 0, arguments, seen)


def setup_mistakes(gpus: int, changes: dict[int, dict]) -> list[str]:
    wrong = [criterion.wrong([seen_on(gpus, changes)]) for criterion in CHECK.criteria]
    return list(dict.fromkeys(each.key for each in wrong if each))


@pytest.mark.parametrize("gpus", [0, 1, 2, 8])
def test_a_right_setup_has_no_mistakes(gpus):
    assert setup_mistakes(gpus, {}) == []


@pytest.mark.parametrize(
    ("gpus", "changes", "key"),
    [
        (2, {2: {"device": "cuda:2"}, 3: {"device": "cuda:3"}}, "rank-for-local-rank"),
        (2, {1: {"device": "cuda:0"}, 3: {"device": "cuda:0"}}, "one-gpu-for-all"),
        (2, {0: {"device": "cuda:1"}}, "wrong-gpu"),
        (2, {1: {"current": None}}, "not-current"),
        (2, {rank: {"device": "cuda:0", "current": None} for rank in range(4)}, "one-gpu-for-all"),
        (2, {1: {"device": "cpu", "backend": "gloo"}}, "cpu-for-gpu"),
        (2, {1: {"backend": "gloo"}}, "always-gloo"),
        (0, {1: {"backend": "nccl"}}, "nccl-without-gpus"),
        (1, {1: {"device": "cuda:0", "backend": "nccl"}}, "gpu-for-cpu"),
        (0, {1: {"current": 1}}, "no-such-gpu"),
        (0, {rank: {"group": [0, 1, 3, 2]} for rank in range(4)}, "wrong-numbers"),
        (0, {3: {"rank": 1}, 2: {"rank": 0}}, "local-rank-for-rank"),
        (0, {1: {"in_place": False}}, "own-address"),
        (0, {1: {"group": None}}, "no-group"),
        (0, {1: {"device": None, "kind": "str"}}, "not-a-device"),
    ],
)
def test_ranks_that_do_something_else_are_found(gpus, changes, key):
    assert setup_mistakes(gpus, changes) == [key]
