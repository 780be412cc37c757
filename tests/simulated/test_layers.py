"""A layer lies below the watch, and on all that is made of a communicator, on real ranks."""

from __future__ import annotations

import pytest
from student_cells import call, cell

from course.world import COMM

NAMED = """
    import numpy as np
    from mpi4py import MPI
    from course.simulated.layers import Layer, layered
    from course.simulated.safe import safe

    class Named(Layer):
        def methods(self, base):
            return {"Get_name": lambda own: "layered " + base.Get_name(own)}
    """

MAKERS = cell(
    NAMED
    + """
    def f(comm):
        own = layered(comm, Named())
        group = own.Get_group()
        made = {
            "layered": own,
            "Dup": own.Dup(),
            "Dup_with_info": own.Dup_with_info(MPI.INFO_NULL),
            "Clone": own.Clone(),
            "Split": own.Split(own.rank % 2),
            "Split_type": own.Split_type(MPI.COMM_TYPE_SHARED),
            "Create": own.Create(group),
            "Create_group": own.Create_group(group),
            "Split of Split": own.Split(0).Split(0),
            "Dup of Split": own.Split(0).Dup(),
        }
        grid = own.Create_cart([own.size])
        made |= {"Create_cart": grid, "Sub": grid.Sub([True]), "Dup of Create_cart": grid.Dup()}
        half = own.Split(own.rank % 2)
        bridge = half.Create_intercomm(0, own, 1 - own.rank % 2)
        made |= {"Create_intercomm": bridge, "Merge": bridge.Merge()}
        names = {}
        for name, communicator in made.items():
            communicator.Barrier()
            names[name] = communicator.Get_name().startswith("layered")
        return names, grid.coords, own == comm, own.Split(MPI.UNDEFINED) == MPI.COMM_NULL
    """
)


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
def test_what_is_made_of_a_communicator_has_its_layer_and_its_watch(world, watch):
    results = world.run(call, MAKERS, COMM, watch=watch)
    for rank, (names, place, same, null) in enumerate(results):
        assert all(names.values()), [name for name, has in names.items() if not has]
        assert (place, same, null) == ([rank], True, True)
    barriers = [event["op"] for event in world.events[0]].count("Barrier")
    assert barriers == (len(results[0][0]) if watch else 0)


def test_layers_lie_one_above_the_other(world):
    both = cell(
        NAMED
        + """
    def f(comm):
        names = [one.Split(0).Get_name() for one in (layered(safe(comm), Named()), safe(layered(comm, Named())))]
        twice = layered(layered(comm, Named()), Named())
        return names, twice.Dup().Get_name(), twice.Split(0).Get_name()
    """
    )
    assert world.run(call, both, COMM, size=1) == [(["layered "] * 2, *["layered layered "] * 2)]


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
def test_a_layer_that_is_used_again_and_again_makes_no_more_classes(world, watch):
    again = cell(
        NAMED
        + """
    def classes(base):
        return 1 + sum(map(classes, base.__subclasses__()))

    def f(comm):
        one, before = safe(comm), classes(MPI.Intracomm)
        same = all(type(safe(comm).Split(0)) is type(one) for _ in range(20))
        return same, classes(MPI.Intracomm) - before
    """
    )
    assert world.run(call, again, COMM, size=2, watch=watch) == [(True, 0)] * 2
