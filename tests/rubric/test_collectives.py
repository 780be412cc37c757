"""The judge of how many collectives a rank calls, on events made by hand."""

from __future__ import annotations

from made_events import event

from autograde.rubric import Collectives
from autograde.rubric.judge import Call


def test_to_make_a_communicator_counts_as_a_collective_where_that_is_said():
    log = [event("allgather"), event("communicator", op="Split"), event("allgather")]
    call = Call({}, 0, {}, [None, None], [log, log])
    assert Collectives("mpi4py", least=0, most=2)(call) is None
    wrong = Collectives("mpi4py", least=0, most=2, splits=True)(call)
    assert wrong.key == "many-collectives" and "3 collective calls on rank 0" in wrong.message
