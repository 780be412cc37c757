"""Every “*Change:*” of the lectures, as a small edit of a cell."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """What a reader does who follows a line that begins with “*Change:*”.

    lecture: its number. line: how its text goes on. edits: old and new text of a cell; the old one occurs once in the
    lecture. told: a part of each sentence of the text that then no longer holds, and of which a line says so.
    """

    lecture: int
    line: str
    edits: tuple[tuple[str, str], ...]
    told: tuple[str, ...] = ()


CHANGES = (
    Change(
        1,
        "leave out the two of Adam",
        (('"gradients", "Adam: mean", "Adam: square")', '"gradients")'),),
        ("BERT's 340 million weights need 5.4 GB",),
    ),
    Change(1, "take a learning rate of 1.5", (("lr=0.05)\nbefore", "lr=1.5)\nbefore"),), ("a small step against it",)),
    Change(
        1,
        "leave out `zero_grad`",
        (("            optimizer.zero_grad()\n            path", "            path"),),
        ("after the second 0.720, 0.329 and 0.039.",),
    ),
    Change(1, "make the rate 0.01", (("lr=0.05)\n    losses", "lr=0.01)\n    losses"),)),
    Change(
        1,
        "write `HOUSES = HOUSES * 2`",
        (("together = train_on", "HOUSES = HOUSES * 2\ntogether = train_on"),),
        ("the weights go to 0.728, 0.332 and 0.041.",),
    ),
    Change(
        2,
        "write `x = comm.bcast",
        (("all have set their own", "\n    x = comm.bcast(x, root=0)"),),
        ("Rank 0's 5 stays with rank 0.",),
    ),
    Change(2, "write `size=3`", (("world.run(hello, COMM)", "world.run(hello, COMM, size=3)"),)),
    Change(
        2,
        "let odd ranks sleep",
        (("    return what, time.time()", "    time.sleep(0.1 * (comm.rank % 2))\n    return what, time.time()"),),
    ),
    Change(
        2,
        "give rank 0 three steps",
        (("{0: [0, 1], 1: [2, 3]}", "{0: [0, 1, 2], 1: [3]}"),),
        ("10 and 18, then 28 on both.",),
    ),
    Change(
        2,
        "let rank 1 help with D",
        (("time.sleep(1 if comm.rank < 2 else 3)", "time.sleep(2)"),),
        ("G starts after 3 s",),
    ),
    Change(
        2,
        "let the odd ranks receive first",
        (
            (
                "    comm.Ssend(own, (comm.rank + 1) % comm.size)\n    comm.Recv(other, (comm.rank - 1) % comm.size)\n",
                "    send = lambda: comm.Ssend(own, (comm.rank + 1) % comm.size)\n"
                "    receive = lambda: comm.Recv(other, (comm.rank - 1) % comm.size)\n"
                "    for act in (receive, send) if comm.rank % 2 else (send, receive):\n        act()\n",
            ),
        ),
        ("the report names each rank, its call and its line.",),
    ),
    Change(
        3,
        "write `if comm.rank < 3:`",
        (("    comm.Barrier()\n    return float", "    if comm.rank < 3:\n        comm.Barrier()\n    return float"),),
        ("each collective on all four.",),
    ),
    Change(
        3,
        "make it 20 pieces",
        (("np.array_split(file, 50)", "np.array_split(file, 20)"),),
        ("There are 350 messages now instead of 7",),
    ),
    Change(
        3,
        "make rank 2 the root",
        (
            ("total = np.zeros(1) if comm.rank == 0", "total = np.zeros(1) if comm.rank == 2"),
            ("total, root=0)", "total, root=2)"),
        ),
        ("Its root gets the sum",),
    ),
    Change(3, "let rank 3 be late by 4 s", (("time.sleep(0.3)", "time.sleep(4)"),)),
    Change(
        3,
        "add `MPI.LAND`",
        (("MPI.MIN, MPI.MAX", "MPI.MIN, MPI.MAX, MPI.LAND"),),
        ("On your ranks, which bring 1, 2, 3 and 4",),
    ),
    Change(3, "write `ring_film(7)`", (("ring_film(4)", "ring_film(7)"),)),
    Change(3, "make that link ten times slower", (("{(0, 1): 2}", "{(0, 1): 10}"),)),
    Change(
        3,
        "give Horovod's `allreduce`",
        (("torch.tensor(rank + 1.0)))", "torch.tensor(rank + 1.0), op=hvd.Sum))"),),
        ("10 and 2.5.",),
    ),
    Change(
        4,
        "let the sizes begin at 8 bytes",
        (("[1000 * 4**power", "[8 * 4**power"),),
        ("with arrays from 1 kB to 16 MB.",),
    ),
    Change(4, "use 128 ranks", (("plans_picture(16,", "plans_picture(128,"),)),
    Change(
        4,
        "make a start-up ten times cheaper",
        (("ALPHA, BETA = 0.005,", "ALPHA, BETA = 0.0005,"),),
        ("22 and 31 ms for 8 kB",),
    ),
    Change(
        4, "give each node one card", (("CARDS, CARD = 4,", "CARDS, CARD = 1,"),), ("the speed-up is 87 for the V100",)
    ),
    Change(5, "give each rank 1024 samples", (("torch.randn(64, width)", "torch.randn(1024, width)"),)),
    Change(
        5,
        'give `"Adam"` as one more argument',
        (
            (
                'apart = world.run(fit, False, "Average", 60, 0.1, init',
                'apart = world.run(fit, False, "Average", 60, 0.1, "Adam", init',
            ),
        ),
    ),
    Change(
        5,
        "write a rate of 0.1 in all three",
        (
            ('"mean": world.run(fit, True, "Average", 50, 0.08', '"mean": world.run(fit, True, "Average", 50, 0.1'),
            ('"Sum", 50, 0.08, init', '"Sum", 50, 0.1, init'),
            ('"Sum", 50, 0.08, "Adam"', '"Sum", 50, 0.1, "Adam"'),
        ),
    ),
    Change(5, "compute the loss with `line`", (("(wrapped(x[own, None])", "(line(x[own, None])"),)),
    Change(6, "give `late` a rate of 0.02", (("[late(delay)]", "[late(delay, 0.02)]"),)),
    Change(
        6,
        "walk 32 epochs",
        (("EPOCHS = 8\n", "EPOCHS = 32\n"),),
        ("four ranks end at a loss of 0.73 instead of 0.52",),
    ),
    Change(
        6,
        "let the all-reduce carry ten times",
        (("np.ones(500_000), np.empty(500_000)", "np.ones(5_000_000), np.empty(5_000_000)"),),
    ),
    Change(7, "write `[4, 3, 3, 2]`", (("three_steps, COMM, [6, 2, 2, 2]", "three_steps, COMM, [4, 3, 3, 2]"),)),
    Change(
        7,
        "write `size=2`",
        (
            (
                "strided = world.run(first_batch, [*range(100)], 0, False, RANK, SIZE)",
                "strided = world.run(first_batch, [*range(100)], 0, False, RANK, SIZE, size=2)",
            ),
        ),
        ("The four batches of a step are samples 0 to 19",),
    ),
    Change(
        7,
        "give only rank 3 another seed",
        (("rank if own_seed else 0", "int(own_seed and rank == 3)"),),
        ("28 of 100 cells are empty",),
    ),
    Change(
        7,
        "read epoch 0",
        (("for epoch in (1, 2):\n    tables", "for epoch in (0,):\n    tables"), ("[*range(1, 101)]", "[*range(100)]")),
    ),
    Change(7, "write `SAMPLES, BATCH = 11, 2`", (("SAMPLES, BATCH = 10, 2", "SAMPLES, BATCH = 11, 2"),)),
    Change(7, "write `SAMPLES, BATCH = 11, 2`", (("SAMPLES, BATCH = 10, 2", "SAMPLES, BATCH = 9, 2"),)),
    Change(7, "let samples 8 and 9", (("sample not in (0, 1)", "sample not in (8, 9)"),), ("0.667 and 0.833",)),
    Change(
        8,
        "put three tasks on the first node",
        (
            ('tasks = tasks_of("gpu[07-08]", [2, 2])', 'tasks = tasks_of("gpu[07-08]", [3, 1])'),
            ('"gpu[07-08]", [2, 2], cyclic=True', '"gpu[07-08]", [3, 1], cyclic=True'),
        ),
        ("two ranks on each of two nodes",),
    ),
    Change(
        8,
        "play the other job",
        (("world.run(join, COMM, tasks, port", "world.run(join, COMM, in_turns, port"),),
        ("two ranks on each of two nodes",),
    ),
    Change(
        8,
        "allow no restart",
        (("ranks=2, restarts=1", "ranks=2, restarts=0"),),
        ("Both ranks were started again",),
    ),
    Change(9, "halve `seq`", (("job = Cost(par=90, seq=10,", "job = Cost(par=90, seq=5,"),)),
    Change(
        9, "halve `seq`", (("job = Cost(par=90, seq=10, per_doubling=2", "job = Cost(par=90, seq=10, per_doubling=1"),)
    ),
    Change(
        9,
        "let the all-reduce carry 16 MB",
        (("np.zeros(131_072), np.zeros(131_072)", "np.zeros(2_097_152), np.zeros(2_097_152)"),),
    ),
    Change(9, "send a fifth", (("COMM, weights // 10", "COMM, weights // 5"),)),
    Change(
        10,
        "put `time.sleep(0.1 * (rank == 3))`",
        (
            (
                "loss.backward()\n        optimizer.step()\n    return ddp.module.weight.grad",
                "time.sleep(0.1 * (rank == 3))\n        loss.backward()\n        optimizer.step()\n"
                "    return ddp.module.weight.grad",
            ),
        ),
    ),
    Change(
        10,
        "write `range(9)`",
        (("range(3):\n            time.sleep(0.03)", "range(9):\n            time.sleep(0.03)"),),
        ("The gradient is 10 each time.",),
    ),
    Change(10, "set `LATENCY = 0.001`", (("8, 0.080, 0.080, 0.0 ", "8, 0.080, 0.080, 0.001 "),)),
    Change(
        10,
        "in `leave_one_out`",
        (("rank == 2 and step == 1", "rank == 2 and step == 3"),),
        ("32.5 is (10 + 10 + 100 + 10) / 4.",),
    ),
    Change(
        10,
        "load by `strict=False`",
        (("load_state_dict(saved)", "load_state_dict(saved, strict=False)"),),
        ("The wrapper's names begin with",),
    ),
    Change(11, "let rank 0 die", (("killed, (2, 24)", "killed, (0, 24)"),), ("rank 2 dies in step 24.",)),
    Change(11, "let rank 2 leave out step 5", (("rank == 2 and step == 3", "rank == 2 and step == 5"),)),
    Change(11, "write `STEPS, EVERY = 40, 10`", (("STEPS, EVERY = 40, 20", "STEPS, EVERY = 40, 10"),)),
    Change(11, "write `STEPS, EVERY = 40, 10`", (("STEPS, EVERY = 40, 20", "STEPS, EVERY = 40, 24"),)),
    Change(
        11,
        "forget the weights instead",
        (('kept["w"], kept["v"] if momentum else v', 'kept["w"] if momentum else w, kept["v"]'),),
    ),
    Change(
        11,
        "load on four ranks",
        (('shards / "behind", size=3', 'shards / "behind", size=4'),),
        ("rank 1 reads from both files",),
    ),
    Change(11, "save by `async_save`", (("SAVE, FAILS = 30,", "SAVE, FAILS = 1,"),), ("Every 15 minutes or so",)),
    Change(
        12,
        "put `torch.optim.SGD(weights, lr=0.1)`",
        (
            (
                "optimizer = torch.optim.Adam(weights)\n    with kept",
                "optimizer = torch.optim.SGD(weights, lr=0.1)\n    with kept",
            ),
        ),
        ("2.1 million weights make 33.6 MB",),
    ),
    Change(
        12,
        "run it with `size=2`",
        (
            (
                'passes = world.run(pipeline_step, 1, init="torch")',
                'passes = world.run(pipeline_step, 1, init="torch", size=2)',
            ),
        ),
        ("works for two eighths of the time",),
    ),
    Change(
        12, "show the film of", (("film(in_ticks(gpipe(4, 4)))", "film(in_ticks(one_forward_one_backward(4, 8)))"),)
    ),
    Change(12, "show the film of", (("film(in_ticks(gpipe(4, 4)))", "film(in_ticks(gpipe(4, 8)))"),)),
    Change(
        12,
        "leave out the second `comm.allreduce`",
        (("comm.allreduce(hidden_gradient @ a.T)", "hidden_gradient @ a.T"),),
        ("two all-reduces: the two bars in each row.",),
    ),
    Change(
        12,
        "write `fully_shard(block",
        (("fully_shard(block, mesh=mesh)", "fully_shard(block, mesh=mesh, reshard_after_forward=False)"),),
        ("there are 8 all-gathers",),
    ),
    Change(
        13,
        "write `billions=7.5`",
        (
            (
                'billions=70, gpus=64, gigabytes=80, precision="mixed", tokens=8192',
                'billions=7.5, gpus=64, gigabytes=80, precision="mixed", tokens=4096',
            ),
        ),
        ("The rows take 1299, 472, 334, 197, 31 and 19 GB:",),
    ),
    Change(
        13,
        "write `UPDATE = 0.003`",
        (("UPDATE = 0.001", "UPDATE = 0.003"),),
        ("The weight in bfloat16 has not moved.",),
    ),
    Change(13, "write `EVERY = 2`", (("EVERY = 1 ", "EVERY = 2 "),), ("2.4 MB, an eighth, at the price of 16",)),
    Change(
        13,
        "write `EACH_STEP = 8`",
        (("EACH_STEP = 1 ", "EACH_STEP = 8 "),),
        ("In a step of one micro-batch, ZeRO 1 and 2 send nothing more",),
    ),
    Change(14, "write `RECOMPUTE = True`", (("RECOMPUTE = False", "RECOMPUTE = True"),), ("Four sums in a layer:",)),
    Change(
        14,
        "forget to scale",
        (("result = scale * result", "result = result"),),
        ("The result is that of one process, but for rounding.",),
    ),
    Change(
        14,
        "let all tokens agree",
        (("size=(4, 64, 64))\n", "size=(4, 64, 64))\nx[:, 0], router[0] = 9, (9, -9, -9, -9)\n"),),
        ("the experts get about as many tokens each",),
    ),
    Change(
        14,
        "write `MICRO_BATCHES = 16`",
        (("MICRO_BATCHES = 8\n", "MICRO_BATCHES = 16\n"),),
        ("a rank is idle for 27% of the time in 1F1B",),
    ),
    Change(
        14,
        "write the numbers of your own machines",
        (("decision_tree(setting)", "decision_tree(Setting(30, 32, 40))"),),
    ),
    Change(
        15,
        "write `FACTOR = 1e-6`",
        (("FACTOR = 200, 0.1, 1.0", "FACTOR = 200, 0.1, 1e-6"),),
        ("and the two losses agree to three digits",),
    ),
    Change(
        15,
        "write `use_error_feedback=False`",
        (("use_error_feedback=True", "use_error_feedback=False"),),
        ("and hardly at its end",),
    ),
    Change(
        15,
        "write `COLUMNS = 4`",
        (("COLUMNS = 1\n", "COLUMNS = 4\n"),),
        ("6,480 bytes in place of 340,008, a 52nd",),
    ),
    Change(
        15,
        'write `DILOCO = {"lr": 0.7}`',
        (('"lr": 0.7, "momentum": 0.9, "nesterov": True', '"lr": 0.7'),),
        ("DiLoCo ends at about half of that.",),
    ),
    Change(
        15,
        "write `SCALED = ()`",
        (('SCALED = ("float8_e5m2", "float8_e4m3fn")', "SCALED = ()"),),
        ("none is lost, and the error is 2% in E4M3 and 4% in E5M2",),
    ),
    Change(
        16,
        "sort by `-row.cpu_time_total`",
        (("-row.self_cpu_time_total)", "-row.cpu_time_total)"),),
        ("At the top stands the matrix product.",),
    ),
    Change(
        16,
        "let rank 1 be late instead",
        (("[0.02, 0.02, 0.02, 0.15]", "[0.02, 0.15, 0.02, 0.02]"),),
        ("Rank 3, the late one, has the shortest all-reduces of all.", "the other three were waiting for it."),
    ),
    Change(
        16,
        "write `ROWS = (1, 2, 4, 16, 32)`",
        (("ROWS = 4096, (1, 8, 64, 512)", "ROWS = 4096, (1, 2, 4, 16, 32)"),),
        ("with 512 rows 205.",),
    ),
)
