"""Evidence that no run gave: written to the grader's channel, replayed, or of a form that nobody expects."""

from __future__ import annotations

from attack import NO_DOUBLE, NO_TOTAL, Attack
from patches import in_prober

# A reply as the process that runs the checks would send it, with a fixed guess in it, and who to send it to.
REPLY = """
import json, os, socket, stat

def result(value):
    seen = {"value": {"kind": "int", "is_float": False, "value": value}}
    return {"calls": [{"seen": seen, "changed": [], "tried": []}], "overwritten": []}

RANK = {"rank": 0, "world_rank": 0, "state": "returned", "result": result(1), "error": None, "call": None, "line": None,
        "source": None, "code": None, "loss": None, "seconds": 0.1, "stdout": "", "events": [], "full": False,
        "unseen": False}
EVIDENCE = {"state": "ok", "detail": "", "report": "", "seconds": 0.1, "ranks": [RANK]}

def lines(**changes):
    return (json.dumps({"evidence": {**EVIDENCE, **changes}, "seconds": 0.1}) + "\\n").encode()

def channels():
    for fd in range(3, 200):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode) and socket.socket(fileno=os.dup(fd)).family == socket.AF_UNIX:
                yield fd
        except OSError:
            pass
"""
UNREADABLE = {"double": (None, "")}

ATTACKS = (
    Attack(
        "writes-to-every-channel",
        "Writes replies with full marks to all pipes, sockets and files of all processes that the rank can see.",
        REPLY
        + """
import glob

def double(x):
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.path.samestat(os.stat(path), os.stat("/dev/null")):
                continue
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND)
            os.write(fd, lines())
            os.close(fd)
        except OSError:
            pass
    return 1
""",
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "overwrites-its-record",
        "Writes over the record of what its rank communicated.",
        REPLY
        + """
import glob

def double(x):
    for path in glob.glob("/proc/self/fd/*"):
        try:
            if "/run-" in os.readlink(path):
                with open(path, "r+b", buffering=0) as record:
                    record.write(lines())
        except OSError:
            pass
    return 1
""",
        scores={"double": (0.0, "bad-result")},
    ),
    Attack(
        "steals-the-channel",
        "Takes the open files of every process that it can see with pidfd_getfd, and writes replies to the sockets.",
        REPLY
        + """
import ctypes

libc = ctypes.CDLL(None, use_errno=True)

def double(x):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        handle = libc.syscall(434, int(pid), 0)
        for number in range(3, 64) if handle >= 0 else ():
            stolen = libc.syscall(438, handle, number, 0)
            if stolen >= 0:
                try:
                    line = socket.socket(fileno=os.dup(stolen))
                    if line.family == socket.AF_UNIX and line.getsockname() == line.getpeername() == "":
                        os.set_blocking(stolen, False)
                        os.write(stolen, lines())
                except OSError:
                    pass
                os.close(stolen)
    return 1
""",
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "replies-itself",
        "A result that, where it is unpickled, sends a forged reply with a guess before the real one.",
        in_prober(REPLY + "\nfor fd in channels():\n    os.write(fd, lines())\n"),
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "replies-for-all",
        "A result that, where it is unpickled, sends forged replies for this case, the next, and the next TODO.",
        in_prober(
            REPLY
            + """
for fd in channels():
    for _ in range(2):
        os.write(fd, lines())
    os.write(fd, lines(ranks=[{**RANK, "rank": rank, "world_rank": rank, "result": result(2)} for rank in (0, 1)]) * 3)
os._exit(0)
"""
        ),
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},
    ),
    Attack(
        "replays",
        "Is right for a positive number, and then sends this evidence once more, as if for the negative one.",
        in_prober(
            """
from course.world import report

real = report.Outcome.plain

def plain(self):
    kept.append(real(self))
    return kept[0]

kept = report.__dict__.setdefault("kept", [])
if not kept:
    report.Outcome.plain = plain
""",
            value="2 * x",
        ),
        scores={"double": (1.5, "sign-lost")},
    ),
    Attack(
        "no-ranks",
        "Forges evidence that has no rank in it, so that nothing in it is wrong.",
        in_prober(REPLY + "\nfor fd in channels():\n    os.write(fd, lines(ranks=[]) * 2)\n"),
        scores=UNREADABLE,
    ),
    Attack(
        "no-numbers",
        "Forges evidence with NaN, true and twice the same name in it, where numbers are due.",
        in_prober(
            REPLY
            + """
for fd in channels():
    os.write(fd, lines().replace(b'"value": 1', b'"value": NaN, "value": true'))
"""
        ),
        scores={"double": (0.0, "sandbox-ended")},
    ),
    Attack(
        "stopped-for-nothing",
        "Forges evidence of a kind after which other cases are not tried, hoping that these count as passed.",
        in_prober(REPLY + '\nfor fd in channels():\n    os.write(fd, lines(state="hang") * 2)\n'),
        scores=UNREADABLE,
    ),
    Attack(
        "deep-evidence",
        "Forges evidence that is nested so deeply, or has so long a number, that reading it breaks the reader.",
        in_prober(
            REPLY
            + """
for fd in channels():
    os.write(fd, b'{"evidence": ' + b'[' * 100_000 + b']' * 100_000 + b'}\\n')
    os.write(fd, b'{"evidence": ' + b'9' * 100_000 + b'}\\n')
"""
        ),
        scores={"double": (0.0, "sandbox-ended")},
    ),
    Attack(
        "claims-failure",
        "Tells the grader that its own side failed, so as not to be given 0 points.",
        in_prober(
            REPLY
            + """
for fd in channels():
    os.write(fd, b'{"failed": "no space left on device"}\\n')
"""
        ),
        scores=UNREADABLE,
    ),
    Attack(
        "talks-without-end",
        "Sends bytes to the grader without end, and never a whole line.",
        in_prober(
            REPLY
            + """
for fd in channels():
    while True:
        os.write(fd, b"x" * 2**16)
"""
        ),
        scores={"double": (0.0, "evidence-limit")},
    ),
    Attack(
        "hangs-up",
        "Closes the line to the grader, and goes on for ever.",
        in_prober(
            REPLY
            + """
import time
for fd in channels():
    socket.socket(fileno=fd).shutdown(socket.SHUT_RDWR)
time.sleep(600)
"""
        ),
        scores={"double": (0.0, "sandbox-ended")},
    ),
)
