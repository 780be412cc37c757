"""Uses up what there is of memory, processes and processor time."""

from __future__ import annotations

from attack import Attack


def bomb(name: str, tries: str, body: str, finding: str, imports: str = "import os") -> Attack:
    """Its `double` runs `body` and then gives a wrong number; all points go to one finding."""
    return Attack(
        name, tries, f"{imports}\n\ndef double(x):\n{body}\n    return 1\n", scores={"double": (0.0, finding)}
    )


ATTACKS = (
    bomb(
        "memory-in-one",
        "Takes more memory than there is for it, in one piece.",
        "    kept = bytearray(2**40)",
        "memory-limit",
    ),
    bomb(
        "memory-by-and-by",
        "Takes memory bit by bit, and uses it.",
        """
    kept = []
    while True:
        kept.append(os.urandom(2**20) * 16)
""",
        "memory-limit",
    ),
    bomb(
        "memory-in-children",
        "Takes memory in several processes, each of which has little.",
        """
    for _ in range(8):
        if os.fork() == 0:
            kept = b"x" * (150 * 2**20)
            time.sleep(60)
            os._exit(0)
    time.sleep(8)
""",
        "memory-limit",
        "import os, time",
    ),
    bomb(
        "fork-bomb",
        "Forks as fast as it can, and so does each child.",
        "    while True:\n        os.fork()",
        "process-limit",
    ),
    bomb(
        "slow-fork-bomb",
        "Starts more processes than are allowed, which all do nothing.",
        """
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    time.sleep(5)
""",
        "process-limit",
        "import os, time",
    ),
    bomb(
        "thread-bomb",
        "Starts threads as fast as it can.",
        """
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
""",
        "process-limit",
        "import threading, time",
    ),
    bomb(
        "processor",
        "Uses up processor time in many processes at once, so that no single one is slow.",
        """
    for _ in range(12):
        if os.fork() == 0:
            while True:
                pass
    time.sleep(60)
""",
        "cpu-limit|too-slow",
        "import os, time",
    ),
)
