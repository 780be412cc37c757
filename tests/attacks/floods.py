"""Floods what takes data in: disk, output, evidence, open files, and memory that belongs to no process."""

from __future__ import annotations

from attack import NO_DOUBLE, NO_TOTAL, Attack
from bombs import bomb

ATTACKS = (
    bomb(
        "memory-in-nameless-files",
        "Takes memory in files that no folder has and no process has mapped.",
        """
    kept = []
    for number in range(50):
        kept.append(os.memfd_create(str(number)))
        os.write(kept[-1], bytes(48 * 2**20))
    time.sleep(3)
""",
        "raised",
        "import os, time",
    ),
    bomb(
        "memory-in-segments",
        "Takes memory in shared memory segments that no process is attached to any more.",
        """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(10):
        segment = libc.shmget(0, 2**28, 0o1600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "no segment")
        address = libc.shmat(segment, None, 0)
        ctypes.memset(address, 1, 2**28)
        libc.shmdt(ctypes.c_void_p(address))
    time.sleep(3)
""",
        "raised",
        "import ctypes, time",
    ),
    bomb(
        "memory-in-sockets",
        "Takes memory of the kernel, in what was sent to sockets and is never read.",
        """
    for _ in range(8):
        if os.fork() == 0:
            kept = []
            while True:
                try:
                    kept.append(socket.socketpair())
                    kept[-1][0].setblocking(False)
                    while True:
                        kept[-1][0].send(bytes(2**15))
                except BlockingIOError:
                    pass
                except OSError:
                    time.sleep(30)
    time.sleep(8)
""",
        "memory-limit",
        "import os, socket, time",
    ),
    bomb(
        "memory-in-names",
        "Takes half of the memory that it may, and then the kernel's, in names of empty files.",
        """
    for part in range(3):
        if os.fork() == 0:
            folder = tempfile.mkdtemp()
            for number in itertools.count():
                os.mknod(f"{folder}/{'x' * 200}{number}")
    half = b"x" * (400 * 2**20)
    time.sleep(8)
""",
        "memory-limit",
        "import itertools, os, tempfile, time",
    ),
    bomb(
        "fills-tmp",
        "Fills the temporary folder with files.",
        """
    for number in range(100):
        with open(os.path.join(tempfile.gettempdir(), f"part{number}"), "wb") as file:
            file.write(bytes(16 * 2**20))
""",
        "file-limit",
        "import os, tempfile",
    ),
    bomb(
        "fills-memory-disk",
        "Fills /dev/shm, where the ranks' own files are.",
        """
    for number in range(100):
        with open(f"/dev/shm/part{number}", "wb") as file:
            file.write(bytes(16 * 2**20))
""",
        "file-limit",
    ),
    bomb(
        "huge-file",
        "Makes a file that takes no room and claims a terabyte.",
        """
    with open(os.path.join(tempfile.gettempdir(), "huge"), "wb") as file:
        file.truncate(2**40)
""",
        "file-limit",
        "import os, tempfile",
    ),
    bomb("prints", "Prints without end.", '    while True:\n        print("x" * 10_000)', "output-limit"),
    bomb(
        "prints-errors",
        "Prints without end to the error output, past Python.",
        """
    sys.stderr.write("x" * 10_000_000)
""",
        "output-limit",
        "import sys",
    ),
    bomb(
        "writes-to-descriptors",
        "Writes without end to the descriptors of output and error, past Python.",
        """
    while True:
        for fd in (1, 2):
            os.write(fd, bytes(2**16))
""",
        "too-slow|memory-limit",
    ),
    Attack(
        "huge-result",
        "Returns more than anybody can look at.",
        "def double(x):\n    return 'x' * (50 * 2**20)",
        scores={"double": (0.0, "evidence-limit")},
    ),
    Attack(
        "deep-result",
        "Returns lists in lists, so deep that reading them needs more stack than there is.",
        """
        def double(x):
            made = []
            for _ in range(400):
                made = [made]
            return made
        """,
        scores={"double": (0.0, "sandbox-ended")},
    ),
    Attack(
        "endless-number",
        "Returns a number of so many digits that writing it down takes for ever, and one that is barely too long.",
        "def double(x):\n    return 2 ** (2 ** 24)",
        "def total(comm, x):\n    return 10 ** 1000",
        scores={"double": (0.0, "bad-result"), "total": NO_TOTAL},
    ),
    Attack(
        "many-events",
        "Communicates so often that what was recorded of it is too large.",
        total="""
        def total(comm, x):
            for _ in range(200_000):
                comm.Iprobe()
                comm.send(x, dest=comm.rank) if False else None
            for _ in range(20_000):
                comm.barrier()
            return x
        """,
        scores={"total": (0.0, "evidence-limit")},
    ),
    Attack(
        "opens-everything",
        "Opens files until there are no more, and keeps them.",
        """
        KEPT = []

        def double(x):
            try:
                while True:
                    KEPT.append(open("/dev/null"))
            except OSError:
                pass
            return 1
        """,
        scores={"double": NO_DOUBLE},
    ),
)
