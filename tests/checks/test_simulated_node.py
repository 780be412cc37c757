"""On a simulated node, code finds the GPUs that it is to find, and its process group works on any machine."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist

from autograde.probes.simulated_node import Chosen, seeded_apart, simulated_node
from course.ports import reserved_ports

RIGHT = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}


@pytest.fixture(autouse=True)
def one_rank(monkeypatch) -> Iterator[None]:
    """The environment of the only rank of a run."""
    with reserved_ports(1) as (port,):
        for name, value in {**RIGHT, "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}.items():
            monkeypatch.setenv(name, value)
        yield
        if dist.is_initialized():
            dist.destroy_process_group()


def test_the_simulated_gpus_are_there_and_are_gone_afterwards():
    before = torch.cuda.device_count()
    with simulated_node(1, 2, 4) as noted:
        assert (torch.cuda.is_available(), torch.cuda.device_count()) == (True, 4)
        assert torch.accelerator.current_accelerator().type == "cuda"
        assert os.environ["LOCAL_RANK"] == "1" and os.environ["LOCAL_WORLD_SIZE"] == "2"
        torch.cuda.set_device("cuda:3")
        assert torch.cuda.current_device() == 3
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            torch.cuda.set_device(torch.device("cpu"))
    assert noted["current"] == 3
    assert torch.cuda.device_count() == before and os.environ["LOCAL_RANK"] == "0"


def test_without_simulated_gpus_there_are_none():
    with simulated_node(0, 1, 0):
        assert not torch.cuda.is_available() and torch.accelerator.current_accelerator() is None


def test_a_group_asked_for_with_nccl_works_and_says_nccl():
    with simulated_node(0, 1, 1) as noted:
        dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
        dist.barrier(device_ids=[0])
        assert dist.get_backend() == "nccl"
        total = torch.ones(1)
        dist.all_reduce(total)
    assert noted["starts"] == [{"backend": "nccl", "rank": 0, "size": 1, "in_place": True}]
    assert dist.get_backend() == "gloo"


@pytest.mark.parametrize(
    ("method", "in_place"),
    [(None, True), ("env://", True), ("tcp://{MASTER_ADDR}:{MASTER_PORT}", True), ("tcp://127.0.0.1:29500", False)],
)
def test_where_a_group_meets_is_noted(method, in_place):
    with simulated_node(0, 1, 0) as noted:
        dist.init_process_group("gloo", method and method.format(**os.environ), rank=0, world_size=1)
    assert noted["starts"][0]["in_place"] == in_place


def test_wrong_numbers_are_noted_and_the_group_starts_all_the_same(monkeypatch):
    with simulated_node(0, 1, 0) as noted:
        os.environ["MASTER_ADDR"] = "nowhere.invalid"
        dist.init_process_group("gloo", rank=3, world_size=9)
    assert noted["starts"] == [{"backend": "gloo", "rank": 3, "size": 9, "in_place": False}]
    assert dist.get_world_size() == 1


def test_a_plain_cuda_is_the_current_gpu():
    assert Chosen.of(torch.device("cuda"), {"current": 1}).device == "cuda:1"
    assert Chosen.of(torch.device("cuda"), {"current": None}).device == "cuda:0"
    assert Chosen.of("cuda", {"current": 1}).device is None


def test_a_simulated_node_ends_with_its_block():
    import horovod.torch as hvd

    before = (
        hvd.local_rank,
        torch.cuda.device_count,
        os.environ.get("LOCAL_RANK"),
        torch.rand(1, generator=None).shape,
    )
    with simulated_node(1, 2, 3) as noted, seeded_apart(1):
        assert (hvd.local_rank(), hvd.local_size(), os.environ["LOCAL_RANK"]) == (1, 2, "1")
        torch.cuda.set_device("cuda:2")
        assert (noted["current"], torch.cuda.current_device(), torch.cuda.device_count()) == (2, 2, 3)
        with torch.cuda.device(0):
            assert torch.cuda.current_device() == 0
        assert torch.cuda.current_device() == 2
    assert before[:3] == (hvd.local_rank, torch.cuda.device_count, os.environ.get("LOCAL_RANK"))


def test_ranks_are_seeded_apart_and_get_their_random_state_back():
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    with seeded_apart(0):
        one = torch.rand(3).tolist()
    with seeded_apart(1):
        other = torch.rand(3).tolist()
    assert one != other
    assert torch.equal(torch.random.get_rng_state(), state)
