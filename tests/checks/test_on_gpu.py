"""A case that is run on a GPU: the finding names the tensor, the line and both devices, and nothing else is found."""

from __future__ import annotations

import pytest
from lab_packages import probe_of

from autograde.cells.subject import Subject
from autograde.contract.check import draw_cases, run
from autograde.contract.gpu import ON_GPU
from autograde.contract.result import Result
from autograde.rubric import CallCheck, Criterion, DeviceCriterion

PROBE = probe_of(
    "mean",
    """
import torch

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    value: Number


def call(mean, rank, call):
    weight = torch.ones(2, 2, device=rank.torch_device)
    return Seen(Number.of(mean(torch.tensor(call["batch"]), weight)))


PROBE = CallProbe(Seen, call)
""",
)
# The mean product of a batch on the CPU and a weight that may be on a GPU.
MEAN = CallCheck.of(
    "mean",
    PROBE,
    lambda rng: [(2, {"batch": [rng.random(), 1.0]}, {"batch": [1.0, rng.random()]})],
    Criterion("returns", 2, "it comes back", lambda call: None),
    DeviceCriterion(1, "on a GPU, too"),
    gpu_case=lambda rng: {"calls": [{"batch": [rng.random(), 1.0]}]},
    repeats=False,
)


def result(world, *lines: str) -> Result:
    """The result for a `mean` with this body."""
    source = "\n    ".join(("def mean(batch, weight):", *lines))
    return run(MEAN, world, Subject("mean", source), 1)


def test_the_case_on_a_gpu_comes_last_and_alone_has_its_mark():
    cases = draw_cases(MEAN, 1)
    assert [case.get(ON_GPU, False) for case in cases] == [False, True]
    assert [len(case["calls"]) for case in cases] == [2, 1]


TOLD = {
    "`batch` is on the CPU, and `weight` on cuda:0 (cell line 2)": ["return (weight @ batch).mean()"],
    "`batch` is on the CPU, and `weight` on cuda:0 (cell line 3)": ["parts = [batch, 1]", "weight + parts[0]"],
    "a tensor is on the CPU, and `weight` on cuda:0": ["import torch", "weight + torch.ones(2)"],
    "`moved` is on cuda:0, and an array is in the CPU's memory": ["moved = batch.to(weight.device)", "moved.numpy()"],
    "Device string must not be empty (cell line 3)": ["import torch", "batch.to('' if weight.is_cuda else 'cpu')"],
    "`total` is on the CPU, and what it meets on cuda:0": ["total = batch.sum()", "total += weight.sum()"],
}


@pytest.mark.parametrize(("said", "lines"), TOLD.items())
def test_a_mistake_is_told_with_the_tensor_the_line_and_both_devices(world, said, lines):
    found = result(world, *lines)
    (only,) = found.findings
    assert only.key == "not-on-device" and said in only.message
    assert (found.score, [row.state for row in found.rows]) == (2, ["holds", "fails"])


@pytest.mark.parametrize(
    "lines",
    [
        ["return (weight @ batch.to(weight.device)).mean()"],
        ["return (weight.cpu() @ batch).mean()"],
        ["if weight.is_cuda:", "    raise ValueError('not simulated')"],
        ["import torch", "if weight.is_cuda:", "    torch.cuda.Stream()"],
    ],
)
def test_a_right_answer_and_what_is_not_simulated_cost_nothing(world, lines):
    found = result(world, *lines)
    assert (found.findings, found.score) == ([], 3)


@pytest.mark.parametrize(("device", "refused"), [("cuda", 0), ("cuda:2", 0), ("cuda:0", 2), ("cpu", 2)])
def test_nccl_takes_tensors_on_the_current_gpu_alone(world, device, refused):
    def reduce(device: str) -> str:
        import torch
        import torch.distributed as dist

        from course.simulated.gpu.block import simulated_gpu

        with simulated_gpu(2, 3, "nccl"):
            try:
                dist.all_reduce(torch.ones(1, device=device))
            except RuntimeError:
                return "refused"
        return "done"

    assert world.run(reduce, device, init="torch", size=2).count("refused") == refused


def test_distributed_data_parallel_may_make_its_buckets_anew(world):
    """It does so before the second forward pass, and sends numbers that nobody has put onto a GPU."""

    def two_passes() -> str:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        from course.simulated.gpu.block import simulated_gpu

        with simulated_gpu(0, 2, "nccl") as device:
            model = DistributedDataParallel(torch.nn.Linear(2, 2).to(device))
            for _ in range(2):
                model(torch.ones(1, 2, device=device)).sum().backward()
            return model.module.weight.grad.device.type

    assert world.run(two_passes, init="torch", size=2) == ["cuda"] * 2
