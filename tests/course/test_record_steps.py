"""Recorded steps: complete, on one clock for all ranks, and without a trace in what the watch sees."""

from __future__ import annotations

from itertools import pairwise

import pytest

from course.profiles.recording import record_steps
from course.profiles.spans import KINDS, Span
from course.world import RANK, World

CLOCK = 0.005  # seconds: the profiler works moments out from a counter of the processor, not exactly alike on all ranks
PARTS = ("loading", "forward", "backward", "optimizer", "wait")


def train(rank: int, steps: int, late: float) -> tuple[list[Span], list[int]]:
    """Recorded steps of a small model, with one all-reduce in `backward` and one in `wait`, and the steps' numbers.
    late: seconds that rank 1 takes longer to load its samples; it begins three times as late."""
    import time

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import record_function

    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer, numbers = torch.optim.SGD(model.parameters(), 0.1), []

    def step(number: int) -> None:
        numbers.append(number)
        with record_function("loading"):
            time.sleep(late * rank)
        with record_function("forward"):
            loss = model(torch.ones(4, 8)).square().sum()
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            optimizer.step()
        with record_function("wait"):
            dist.all_reduce(loss.detach(), async_op=True).wait()

    time.sleep(3 * late * rank)
    return record_steps(step, steps, warm_up=2), numbers


@pytest.fixture(scope="module")
def profile(world: World) -> list[list[Span]]:
    """Two steps on two ranks; rank 1 is late."""
    return [spans for spans, _ in world.run(train, RANK, 2, 0.1, size=2, init="torch")]


def of_kind(spans: list[Span], kind: str) -> list[Span]:
    """The spans of a kind, in their order."""
    return [span for span in spans if span.kind == kind]


def test_each_step_is_there_with_its_parts_in_their_order(profile: list[list[Span]]) -> None:
    for spans in profile:
        steps = of_kind(spans, "step")
        marks = [span for span in spans if span.name in PARTS]
        assert [span.name for span in marks] == [*PARTS] * len(steps)
        assert len(steps) == 2
        assert [of_kind(marks, kind)[0].name for kind in ("loading", "wait")] == ["loading", "wait"]
        assert {span.kind for span in marks} == {"part", "loading", "wait"}
        for number, step in enumerate(steps):
            own = marks[len(PARTS) * number :][: len(PARTS)]
            assert step.start <= own[0].start and own[-1].end <= step.end
            assert all(one.end <= other.start for one, other in pairwise(own))


def test_operations_and_collectives_lie_within_the_steps(profile: list[list[Span]]) -> None:
    for spans in profile:
        assert {span.kind for span in spans} == {*KINDS}
        first, last = of_kind(spans, "step")
        assert all(first.start <= span.start <= last.end for span in spans)
        assert [span.name for span in of_kind(spans, "communication")] == ["gloo:all_reduce"] * 4
        assert [span.name for span in of_kind(spans, "launch")] == ["c10d::allreduce_"] * 4
        assert "aten::addmm" in [span.name for span in of_kind(spans, "compute")]


def test_of_one_thread_two_spans_are_apart_or_nested(profile: list[list[Span]]) -> None:
    for spans in profile:
        assert spans == sorted(spans, key=lambda span: (span.start, -span.end))
        around: list[Span] = []
        for span in spans:
            if span.kind != "communication":
                while around and around[-1].end <= span.start:
                    around.pop()
                assert not around or span.end <= around[-1].end, (around[-1], span)
                around.append(span)


def test_all_ranks_have_one_clock(profile: list[list[Span]]) -> None:
    assert all(spans[0].start >= 0 for spans in profile), "it counts from when the last rank was ready"
    for both in zip(*(of_kind(spans, "communication") for spans in profile), strict=True):
        begun, over = max(span.start for span in both), min(span.end for span in both)
        assert begun < over + CLOCK, "both are in the same all-reduce"
    for here, there in zip(of_kind(profile[0], "communication")[::2], of_kind(profile[1], "loading"), strict=True):
        assert here.end > there.end, "no sum is complete on rank 0 before rank 1 has its samples"


def test_the_warm_up_is_not_recorded_and_the_watch_sees_the_training_alone(world: World) -> None:
    for spans, numbers in world.run(train, RANK, 3, 0.0, size=2, init="torch"):
        assert numbers == [0, 1, 2, 3, 4]
        assert len(of_kind(spans, "step")) == 3
    assert [event["kind"] for event in world.events[0]] == ["allreduce"] * 5, "those of DDP are C++'s"


def test_one_process_can_be_recorded_without_a_group() -> None:
    import torch

    spans = record_steps(lambda number: torch.ones(4, 4) @ torch.ones(4, 4), 1)
    assert spans[0].kind == "step"
    assert "aten::mm" in [span.name for span in spans]
