"""Takes for ever, in every way: on purpose, or as honest mistakes do."""

from __future__ import annotations

from attack import Attack

SLOW = (0.0, "too-slow")

ATTACKS = (
    Attack(
        "endless-loop",
        "Loops for ever, with all signals that can be ignored ignored.",
        """
        import signal

        def double(x):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            while True:
                pass
        """,
        scores={"double": SLOW},
    ),
    Attack(
        "sleeps-in-c",
        "Sleeps in C, and holds the interpreter's lock meanwhile, so that no Python thread runs.",
        "import ctypes\n\ndef double(x):\n    ctypes.PyDLL(None).sleep(10**6)\n    return 2 * x",
        scores={"double": SLOW},
    ),
    Attack(
        "slow-cell",
        "Loops for ever when its cell is run, before anything is called.",
        "while True:\n    pass",
        "import time\ntime.sleep(10**6)\n\ndef total(comm, x):\n    return comm.allreduce(x)",
        scores={"double": SLOW, "total": SLOW},
    ),
    Attack(
        "deadlock",
        "Waits for a message that nobody sends.",
        total="def total(comm, x):\n    comm.recv(source=1 - comm.rank)\n    return comm.allreduce(x)",
        scores={"total": (0.0, "hang")},
    ),
    Attack(
        "slow-to-compile",
        "Has text that takes long to read and compile.",
        "def double(x):\n    return " + "(" * 90 + "x" + ")" * 90 + "\n\n" + "X = " + "9" * 90_000,
        scores={"double": (0.0, "cell-fails")},
    ),
    Attack(
        "slow-expression",
        "Computes a power with more digits than there are atoms, in C, where no signal is heard.",
        "def double(x):\n    return 2 * x + 0 * len(str(7 ** 7 ** 9)) + 0 * (7 ** 7 ** 10 % 1)",
        scores={"double": SLOW},
    ),
    Attack(
        "slow-to-pickle",
        "Is slow where the result is made ready for the way, not where it is computed.",
        """
        import time

        class Slow:
            def __reduce__(self):
                time.sleep(10**6)

        def double(x):
            return Slow()
        """,
        scores={"double": SLOW},
    ),
    Attack(
        "slow-to-unpickle",
        "Is slow where the result is unpickled, outside of the ranks.",
        """
        import time

        class Slow:
            def __reduce__(self):
                return time.sleep, (10**6,)

        def double(x):
            return Slow()
        """,
        scores={"double": SLOW},
    ),
)
