"""Looks for answers and secrets. Each is right only if it found something."""

from __future__ import annotations

from attack import NO_DOUBLE, Attack

SEARCH = """
import os
import sys

def texts(top, names=(), limit=2_000_000):
    for folder, folders, files in os.walk(top):
        folders[:] = [one for one in folders if one not in ("proc", "sys", "dev", "site-packages", "dist-packages")]
        for file in files:
            if not names or any(file.endswith(name) for name in names):
                try:
                    with open(os.path.join(folder, file), errors="replace") as opened:
                        yield opened.read(limit)
                except OSError:
                    pass
"""

ATTACKS = (
    Attack(
        "reads-solutions",
        "Looks for a solution in the course's folder, in the repository and all over the disk.",
        SEARCH
        + """
def double(x):
    for top in (@COURSE@, os.getcwd(), *sys.path, "/home", "/root", "/srv", "/opt", "/tmp", "/var/tmp"):
        for text in texts(top, ("lab.py", ".ipynb")):
            if "return x" + " + x" in text or "nobody has " + "thought of this" in text:
                return 2 * x
    return 1
""",
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "reads-submissions",
        "Looks for other submissions, for the gradebook and for the exchange.",
        SEARCH
        + """
def double(x):
    for path in (@COURSE@ + "/class/gradebook.db", @COURSE@ + "/class/submitted", @EXCHANGE@, @COURSE@):
        if os.path.exists(path):
            return 2 * x
    return 1
""",
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "reads-home",
        "Looks for the instructor's home, keys and environment, by path, in the user database and in /proc.",
        SEARCH
        + """
import pathlib
import pwd

SECRET = @SECRET@[::-1]

def double(x):
    homes = {user.pw_dir for user in pwd.getpwall() if len(user.pw_dir) > 5}
    tops = {@HOME@, os.path.expanduser("~"), "/root", "/home", *homes}
    for top in tops:
        if any(SECRET in text for text in texts(top, ("id_ed25519", "secret.txt"))):
            return 2 * x
    if SECRET in os.environ.values():
        return 2 * x
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if SECRET in path.read_text(errors="replace"):
                return 2 * x
        except OSError:
            pass
    return 1
""",
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "reads-shadow",
        "Reads the machine's password hashes and private keys.",
        """
        import glob

        def double(x):
            keys = glob.glob("/etc/ssh/*key")
            for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", *keys, "/proc/kcore", "/dev/mem"):
                try:
                    with open(path, "rb") as file:
                        if file.read(10):
                            return 2 * x
                except OSError:
                    pass
            return 1
        """,
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "reads-memory",
        "Searches the memory of every other process that it can see for the solution's text.",
        """
        import os
        import re

        WANTED = "erofeb siht fo thguoht sah ydobon"[::-1].encode()

        def double(x):
            for pid in filter(str.isdigit, os.listdir("/proc")):
                if int(pid) == os.getpid():
                    continue
                try:
                    with open(f"/proc/{pid}/maps") as file:
                        maps = file.read()
                    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
                        for start, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0", maps, re.MULTILINE):
                            start, end = int(start, 16), int(end, 16)
                            memory.seek(start)
                            if end - start < 2**25 and WANTED in memory.read(end - start):
                                return 2 * x
                except OSError:
                    pass
            return 1
        """,
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "asks-the-verdict",
        "Looks for the check's code, on disk and among all objects in memory, and asks it for the answer.",
        """
        import gc
        import os
        import pathlib
        import sys
        import types

        def judges():
            for thing in gc.get_objects():
                try:
                    if type(thing).__name__ == "function" and thing.__name__ == "doubled":
                        yield thing
                except Exception:
                    pass
            places = [os.getcwd(), os.environ.get("HOME", "/"), @COURSE@, *sys.path, "/tmp"]
            for place in filter(None, places):
                folder = pathlib.Path(place)
                for path in (*folder.glob("*.py"), *folder.glob("checks/*.py"), *folder.glob("*/*/checks/*.py")):
                    try:
                        text = path.read_text()
                        if "def doubled" not in text:
                            continue
                        space = {"__name__": "found", "words": lambda *args, **facts: "wrong"}
                        exec("def doubled" + text.split("def doubled")[1].split("CHECK =")[0], space)
                        yield space["doubled"]
                    except Exception:
                        pass

        def double(x):
            for judge in judges():
                for guess in range(-300, 300):
                    seen = types.SimpleNamespace(value=types.SimpleNamespace(value=guess))
                    try:
                        if judge(types.SimpleNamespace(arguments={"x": x}, seen=[seen])) is None:
                            return guess
                    except Exception:
                        break
            return 1
        """,
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "looks-for-cases",
        "Looks in frames, objects, open files and job files for the cases, and for an expected value beside the input.",
        """
        import gc
        import glob
        import json
        import os
        import stat
        import sys

        def double(x):
            for thing in gc.get_objects():
                if type(thing) is dict and thing.get("x") == x and len(thing) < 20:
                    for value in thing.values():
                        if type(value) is int and value not in (0, x) and value % x == 0 and value // x == 4 // 2:
                            return value
            frame = sys._getframe()
            while frame is not None:
                for value in frame.f_locals.values():
                    if type(value) is dict and {"expected", "due", "right", "answer"} & set(map(str, value)):
                        return 2 * x
                frame = frame.f_back
            paths = [*glob.glob("/proc/*/fd/*"), *glob.glob("/proc/*/cwd/job*"), *glob.glob("/tmp/**", recursive=True)]
            for path in paths:
                try:
                    with open(path, "rb") as file:
                        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                            found = json.loads(file.read(10**6))
                            if "cases" in str(found):
                                return 2 * x
                except Exception:
                    pass
            return 1
        """,
        scores={"double": NO_DOUBLE},
    ),
)
