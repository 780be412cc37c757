"""An array that changes while it is sent is noted, whatever waits for the send; what arrives is what it was before."""

from __future__ import annotations

import pytest

from autograde.probes.under_way import sends_under_way
from autograde.rubric.communication.messages import changed_under_way
from course.world import COMM


@pytest.mark.parametrize(
    ("changed", "waits", "found"),
    [
        *(("before", "Wait", True), ("before", "Test", True), ("before", "Waitall", True)),
        *(("after", "Wait", False), ("never", "Waitall", False)),
    ],
)
def test_what_changes_before_its_send_is_complete_is_found(world, changed, waits, found):
    def both(changed, waits, comm):
        import numpy as np
        from mpi4py import MPI

        other, came = 1 - comm.rank, np.zeros(3)
        with sends_under_way(comm) as own:
            for operation in ("Isend", "Issend"):
                array = np.full(3, 5.0)
                request = getattr(own, operation)(array, dest=other)
                own.Recv(came, source=other)
                array[0] = 9 if changed == "before" else 5
                if waits == "Waitall":
                    MPI.Request.Waitall([request])
                elif waits == "Wait":
                    request.Wait()
                while waits == "Test" and not request.Test():
                    pass
                array[1] = 9 if changed == "after" else 5
        return came.tolist()

    assert world.run(both, changed, waits, COMM, size=2) == [[5.0] * 3] * 2
    for log in world.events:
        begun = changed_under_way(log)
        assert (begun is not None) == found
        assert not found or begun["op"] == "Isend"
