"""What differs between ranks is told, also where MPI lets it pass, and right programs stay silent."""

from __future__ import annotations

import textwrap
from types import SimpleNamespace

import pytest
from differing_horovod import HEAD, HOROVOD, HOROVOD_RIGHT, JOINED, TOLD
from differing_programs import FIRST, HANGING, HANGING_TORCH, PASSING, RIGHT, TORCH, TORCH_RIGHT, program
from made_events import event
from student_cells import call

from course.figures.ranks.timeline import timeline
from course.watch.differences import differences, in_words
from course.watch.differences.difference import KEYS, PASSED
from course.watch.differences.groups import Group
from course.watch.differences.messages_met import Half, Post
from course.world import COMM
from course.world.world import RanksFailed


def found_in(world, body: str, init: str | None = None, size: int = 2):
    """What differs between the ranks that run this."""
    outcome = world.attempt(call, program(body), COMM, size=size, init=init)
    return outcome, outcome.differences


@pytest.mark.parametrize("name", PASSING)
def test_what_mpi_lets_pass_is_told_all_the_same(world, name):
    key, lines, body = PASSING[name]
    outcome, found = found_in(world, body)
    assert outcome.state == "ok", "else it belongs to the others"
    assert [each.key for each in found] == [key], in_words(found)
    assert [*found[0].lines] == [FIRST + line for line in lines]
    assert found[0].sentence.endswith(PASSED) == (key != "never-waited")
    assert key in KEYS


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.thorough] * (each in HANGING_TORCH)) for each in TORCH]
)
def test_what_differs_with_torch_is_told(world, name):
    key, lines, body = TORCH[name]
    outcome, found = found_in(world, body, init="torch")
    assert [each.key for each in found] == [key], (outcome.report, in_words(found))
    assert {*found[0].lines} == {FIRST + line for line in lines}


def test_a_right_program_with_torch_stays_silent(world):
    outcome, found = found_in(world, TORCH_RIGHT, init="torch", size=4)
    assert outcome.ok, outcome.report
    assert in_words(found) == ""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.thorough] * (each not in TOLD)) for each in HOROVOD]
)
def test_what_differs_with_horovod_is_told(world, name):
    key, lines, body = HOROVOD[name]
    outcome, found = found_in(world, HEAD + body, init="horovod")
    assert [each.key for each in found] == [key], (outcome.report, in_words(found))
    assert {*found[0].lines} == {FIRST + line for line in lines}
    assert "communicator" not in in_words(found)


@pytest.mark.parametrize("body", [HOROVOD_RIGHT, JOINED], ids=["training", "joined"])
def test_a_right_program_with_horovod_stays_silent(world, body):
    outcome, found = found_in(world, HEAD + textwrap.dedent(body).lstrip(), init="horovod", size=4)
    assert outcome.ok, outcome.report
    assert in_words(found) == ""


def test_with_horovod_names_count_and_not_the_order(world):
    body = """
        import horovod.torch as hvd
        names = ["a", "b"] if rank else ["b", "a"]
        handles = [hvd.allreduce_async(torch.ones(1), name=name) for name in names]
        [hvd.synchronize(handle) for handle in handles]
        hvd.allreduce_async(torch.ones(1), name="forgotten")
        """
    outcome, found = found_in(world, body, init="horovod")
    assert outcome.ok, outcome.report
    assert [(each.key, each.lines, each.ranks) for each in found] == [("never-waited", (FIRST + 4,), (0, 1))]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_stays_silent(world, name):
    outcome, found = found_in(world, RIGHT[name], size=4)
    assert outcome.ok, outcome.report
    assert in_words(found) == ""


def test_it_is_told_once_under_the_output_and_a_right_run_prints_its_own_lines_only(world, capsys):
    world.run(call, program("print('here')\nfor _ in range(3):\n    comm.Bcast(one, root=rank)"), COMM, size=2)
    *printed, said = capsys.readouterr().out.splitlines()
    assert printed == ["[rank 0] here", "[rank 1] here"]
    assert said == (
        f"In comm.Bcast (cell line {FIRST + 2}), the ranks name different roots: rank 0: root 0, rank 1: root 1. "
        + PASSED
    )
    world.run(call, program("print('here')\ncomm.Bcast(one)"), COMM, size=2)
    assert capsys.readouterr().out.splitlines() == ["[rank 0] here", "[rank 1] here"]


def test_what_decides_who_makes_a_call_is_quoted_and_where_a_request_was_prepared_is_said(world):
    _, found = found_in(world, PASSING["a call is missing"][2])
    assert f" Cell line {FIRST} (if rank == 0:) decides which ranks make the call." in in_words(found)
    _, found = found_in(world, PASSING["a call is missing, which another branch has, too"][2])
    assert f" Cell lines {FIRST} and {FIRST + 1} decide which ranks make the call." in in_words(found)
    _, found = found_in(world, PASSING["type of a message that is prepared"][2])
    assert f"in comm.Send_init (cell line {FIRST + 3}, started in line {FIRST + 4})" in in_words(found)


def test_a_run_that_hangs_says_which_communicators_differ(world):
    with pytest.raises(RanksFailed) as failed:
        world.run(call, program("other = comm.Dup()\n(other if rank else comm).allreduce(1)"), COMM, size=2)
    outcome = failed.value.outcome
    assert [(each.key, each.lines) for each in outcome.differences] == [("communicator-differs", (FIRST + 1,))]
    assert in_words(outcome.differences) in str(failed.value)
    assert in_words(outcome.differences) in outcome.plain()["report"], "which a check shows"
    assert "which makes that call on another communicator" in timeline(outcome.events).alt


def test_who_waits_for_ever_is_told_while_another_rank_computes_and_could_not_help(world):
    body = "while rank == 2:\n    pass\ncomm.recv(source=1 - rank)"
    outcome = world.attempt(call, program(body), COMM, size=3, deadline=40)
    assert outcome.state == "hang"
    assert [rank.state for rank in outcome.ranks] == ["waiting", "waiting", "running"]
    assert [(each.key, each.ranks) for each in outcome.differences] == [("never-sent", (0, 1))]


def test_who_waits_for_a_rank_that_computes_is_left_waiting(world):
    outcome, found = found_in(world, "import time\ntime.sleep((1 - rank) * 4)\ncomm.barrier()")
    assert outcome.ok, outcome.report
    assert not found


def test_a_record_without_end_is_not_judged():
    roots = [SimpleNamespace(events=[event("broadcast", op="Bcast", peer=rank)], state="returned") for rank in (0, 1)]
    for rank in roots:
        rank.full, rank.unseen, rank.cells = False, False, []
    assert [each.key for each in differences(roots)] == ["root-differs"]
    roots[1].full = True
    assert differences(roots) == []


def test_the_partner_of_a_message_is_looked_up_and_not_searched_for(monkeypatch):
    tries, fits = [], Half.fits
    monkeypatch.setattr(Half, "fits", lambda *halves: tries.append(halves) or fits(*halves))
    post, number = Post(), 300
    group = Group("mpi4py", (0, 1), 0)
    for tag in range(number):
        post.post(Half(0, event("send", tag=tag), True, group, 0, 1, tag))
    for tag in reversed(range(number)):
        post.post(Half(1, event("recv", tag=tag), False, group, 0, 1, tag))
    assert [(send.tag, receive.tag) for send, receive in post.met] == [(tag, tag) for tag in reversed(range(number))]
    assert len(tries) <= number, "and not as many for each"


def test_a_receive_from_anybody_takes_what_was_sent_first_and_a_send_the_receive_that_came_first():
    post, group = Post(), Group("mpi4py", (0, 1, 2), 0)
    first, second = (Half(rank, event("send"), True, group, rank, 2, 0) for rank in (0, 1))
    anybody, exact = (Half(2, event("recv"), False, group, source, 2, 0) for source in (None, 1))
    for half in (first, second, anybody, exact):
        post.post(half)
    assert post.met == [(first, anybody), (second, exact)]
    other = Post()
    waiting = [Half(2, event("recv"), False, group, source, 2, 0) for source in (None, 1)]
    sends = [Half(1, event("send"), True, group, 1, 2, 0) for _ in range(2)]
    for half in (*waiting, *sends):
        other.post(half)
    assert other.met == [*zip(sends, waiting, strict=True)]
    assert not [*other.not_received()]


@pytest.mark.thorough
@pytest.mark.parametrize("name", HANGING)
def test_what_differs_where_ranks_hang_is_told(world, name):
    key, lines, body = HANGING[name]
    outcome, found = found_in(world, body)
    assert outcome.state == "hang"
    assert [each.key for each in found] == [key], in_words(found)
    assert [*found[0].lines] == [FIRST + line for line in lines]
