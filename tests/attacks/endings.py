"""Early ends, in every way, and signals to whoever can be reached."""

from __future__ import annotations

from attack import Attack

DIED = (0.0, "rank-died")
ENDED = (0.0, "sandbox-ended")
RAISED = (0.0, "raised")


def both(name: str, tries: str, statement: str, result: tuple[float, str], imports: str = "import os") -> Attack:
    """Ends both TODOs by this statement."""
    body = f"{imports}\n\ndef {{}}:\n    {statement}\n    return 1"
    return Attack(
        name, tries, body.format("double(x)"), body.format("total(comm, x)"), {"double": result, "total": result}
    )


ATTACKS = (
    both("sys-exit", "Exits with the status of success.", "sys.exit(0)", RAISED, "import sys"),
    both("os-exit", "Exits at once with the status of success, without any clearing up.", "os._exit(0)", DIED),
    both(
        "interrupt",
        "Raises KeyboardInterrupt, as if the person who grades had stopped.",
        "raise KeyboardInterrupt",
        RAISED,
    ),
    both(
        "no-exception",
        "Raises what is no Exception, which few handlers catch.",
        "raise Gone",
        DIED,
        "class Gone(BaseException): pass",
    ),
    both("abort", "Aborts, as gloo does.", "os.abort()", DIED),
    both("segfault", "Reads from address 0.", "ctypes.string_at(0)", DIED, "import ctypes"),
    both("becomes-true", "Becomes the program `true`, which ends well.", 'os.execv("/bin/true", ["true"])', DIED),
    Attack(
        "exits-as-a-cell",
        "Exits when its cell is run, before anything was called, and in a TODO's class body.",
        "raise SystemExit(0)",
        "import os\n\nclass total:\n    os._exit(0)",
        {"double": (0.0, "cell-fails"), "total": DIED},
    ),
    Attack(
        "kills-its-group",
        "Kills its own process group, its session and its parent.",
        """
        import os
        import signal

        def double(x):
            for target in (os.getppid(), os.getsid(0)):
                if target > 1:
                    os.kill(target, signal.SIGKILL)
            os.killpg(0, signal.SIGKILL)
        """,
        scores={"double": DIED},
    ),
    Attack(
        "kills-all",
        "Kills everything it may signal, and process 1 by itself.",
        """
        import os
        import signal

        def double(x):
            os.kill(1, signal.SIGKILL)
            os.kill(-1, signal.SIGKILL)
            while True:
                pass
        """,
        scores={"double": ENDED},
    ),
    Attack(
        "kills-each",
        "Asks every process in /proc to end, then kills each, its parent last.",
        """
        import os
        import signal

        def double(x):
            others = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
                for pid in sorted(others, key=os.getppid().__eq__):
                    try:
                        os.kill(pid, number)
                    except OSError:
                        pass
            return 1
        """,
        scores={"double": ENDED},
    ),
    Attack(
        "stops-all",
        "Stops every other process, so that nobody is there to notice.",
        """
        import os
        import signal

        def double(x):
            os.kill(-1, signal.SIGSTOP)
            return 1
        """,
        scores={"double": (0.0, "too-slow")},
    ),
)
