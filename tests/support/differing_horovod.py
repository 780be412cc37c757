"""Bodies of programs with one mistake each in what their ranks do with Horovod, and a right one; see
`differing_programs`."""

from __future__ import annotations

HEAD = "import horovod.torch as hvd\n"
# By name: the key, the lines of the body that are told, from 0 with HEAD, and the body.
HOROVOD = {
    "order without names": (
        "other-order",
        [1],
        "[hvd.allreduce, lambda t: hvd.broadcast(t, 0)][rank](torch.ones(1))",
    ),
    "one name, two operations": (
        "other-order",
        [1],
        '[hvd.allreduce, hvd.allgather][rank](torch.ones(1), name="loss")',
    ),
    "names": ("name-differs", [1], 'hvd.allreduce(torch.ones(1), name=f"loss {rank}")'),
    "a call is missing": (
        "call-missing",
        [1, 2],
        'if rank == 0:\n    hvd.allreduce(torch.ones(1), name="loss")',
    ),
    "names of objects": ("name-differs", [1], "hvd.broadcast_object({} if rank == 0 else None, 0)"),
    "root": ("root-differs", [1], "hvd.broadcast(torch.ones(1), rank)"),
    "size": ("size-differs", [1], 'hvd.allreduce(torch.ones(2 + rank), name="loss")'),
    "type": ("dtype-differs", [1], "hvd.allreduce(torch.ones(1, dtype=[torch.float32, torch.float64][rank]))"),
    "operator": ("operator-differs", [1], "hvd.allreduce(torch.ones(1), op=[hvd.Max, hvd.Min][rank])"),
}
TOLD = ("names", "names of objects", "size")  # what is tried each time; the others are alike
HOROVOD_RIGHT = """
    names = ["a", "b"] if rank else ["b", "a"]
    [hvd.synchronize(each) for each in [hvd.allreduce_async(torch.ones(1), name=name) for name in names]]
    hvd.allgather(torch.ones(1 + rank))
    hvd.allgather_object([1] * rank)
    model = torch.nn.Linear(2, 1)
    hvd.broadcast_parameters(model.state_dict(), 0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
    """
JOINED = """
    for _ in range(1 + rank):
        hvd.allreduce(torch.ones(1), name="loss")
    hvd.join()
    """
