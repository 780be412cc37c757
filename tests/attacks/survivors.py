"""Tries to outlive its grading: in processes, in shared memory, and in files."""

from __future__ import annotations

from attack import NO_DOUBLE, Attack

DAEMON = """
import os
import signal
import time

def survive(seconds=600):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    {more}
    os.chdir("/")
    end = time.time() + seconds
    while time.time() < end:
        time.sleep(1)
    os._exit(0)
"""

ATTACKS = (
    Attack(
        "daemon",
        "Is right, and leaves a process that has left its session and ignores all signals.",
        DAEMON.format(more="pass") + "\ndef double(x):\n    survive()\n    return 2 * x\n",
    ),
    Attack(
        "nameless-daemon",
        "Leaves a process that has closed all files, has another name, and nothing in its environment.",
        DAEMON.format(more='os.closerange(0, 4096); os.execve("/bin/sleep", ["[kworker/0:1]", "600"], dict())')
        + "\ndef double(x):\n    survive()\n    return 1\n",
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "many-daemons",
        "Leaves processes that start each other anew as soon as one of them is gone.",
        DAEMON.format(more="pass")
        + """
def double(x):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            child = os.fork()
            if child == 0:
                parent = os.getppid()
                while os.getppid() == parent:
                    time.sleep(0.05)
                continue
            os.waitpid(child, 0)
    return 2 * x
""",
    ),
    Attack(
        "threads",
        "Is right, and leaves threads that never end and keep the rank from exiting.",
        """
        import threading
        import time

        def double(x):
            for _ in range(5):
                threading.Thread(target=lambda: time.sleep(600), daemon=False).start()
            return 2 * x
        """,
    ),
    Attack(
        "at-exit",
        "Is right, and registers what never ends for the time of its exit, in Python and in C.",
        """
        import atexit
        import signal
        import time

        class Sleeper:
            def __del__(self):
                time.sleep(600)

        def double(x):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda *args: time.sleep(600))
            atexit.register(time.sleep, 600)
            double.kept = Sleeper()
            return 2 * x
        """,
    ),
    Attack(
        "shared-memory",
        "Is right, and leaves shared memory of all kinds, and files wherever it may write.",
        """
        import ctypes
        import os
        import pathlib
        import tempfile

        def double(x):
            libc = ctypes.CDLL(None)
            libc.shmget(0x4C4F434B, 2**20, 0o1666)
            libc.shmget(0, 2**20, 0o1666)
            own = (tempfile.gettempdir(), os.getcwd(), str(pathlib.Path.home()))
            for folder in ("/dev/shm", "/tmp", "/var/tmp", *own):
                try:
                    (pathlib.Path(folder) / @MARK@).write_bytes(bytes(10_000))
                except OSError:
                    pass
            return 2 * x
        """,
    ),
    Attack(
        "spoils-the-next",
        "Leaves files, environment and settings for the next submission's ranks: a wrong sitecustomize, a broken PATH.",
        """
        import os
        import pathlib
        import sys

        def double(x):
            for folder in (os.getcwd(), "/tmp", "/tmp/work", *sys.path, os.path.dirname(sys.executable)):
                for name in ("sitecustomize.py", "usercustomize.py", "torch.py", "json.py", "numpy.py"):
                    try:
                        (pathlib.Path(folder) / name).write_text("import os; os._exit(3)")
                    except OSError:
                        pass
            os.environ.update(PATH="/nowhere", PYTHONHOME="/nowhere", OMPI_MCA_btl="none", LD_PRELOAD="/nowhere.so")
            return 2 * x
        """,
    ),
)
