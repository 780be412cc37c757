"""Ranks that hold other data than rank 0 are named, on all ranks."""

from __future__ import annotations

import pytest

from course.data import DataError, digits
from course.world import COMM, RANK, RanksFailed, World

from ..models.agreement import same_on_all_ranks


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKSTEP_DATA", raising=False)


@pytest.mark.thorough
def test_ranks_that_hold_other_digits_are_named_on_every_rank(world: World) -> None:
    def one_is_other(comm, rank: int) -> str:
        try:
            same_on_all_ranks(comm, "ab" if rank != 2 else "cd", "digits")
        except DataError as error:
            return str(error)
        return "the same"

    texts = world.run(one_is_other, COMM, RANK)
    assert len(set(texts)) == 1 and texts[0].startswith("rank 2 holds other digits than rank 0.")
    assert [event["op"] for event in world.events[0]] == ["allgather"]


def test_ranks_that_agree_go_on(world: World) -> None:
    def train_set(comm) -> int:
        train, _ = digits()
        same_on_all_ranks(comm, train.fingerprint, "digits")
        return len(train)

    assert world.run(train_set, COMM) == [1442] * 4


def test_several_ranks_with_other_data_are_all_named(world: World) -> None:
    with pytest.raises(RanksFailed, match="ranks 1, 3 hold other sentence pairs than rank 0"):
        world.run(lambda comm, rank: same_on_all_ranks(comm, str(1 - rank % 2), "sentence pairs"), COMM, RANK)
