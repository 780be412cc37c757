"""Calls, writes and climbs out of the sandbox. Each is right only if it got somewhere."""

from __future__ import annotations

from attack import NO_DOUBLE, NO_TOTAL, Attack

ATTACKS = (
    Attack(
        "calls-home",
        "Connects to the outside, to a server on the grader's own loopback, and to sockets in the file system.",
        """
        import socket

        def double(x):
            targets = [
                (socket.AF_INET, ("127.0.0.1", @PORT@)),
                (socket.AF_INET, ("1.1.1.1", 53)),
                (socket.AF_UNIX, @DOOR@),
                (socket.AF_UNIX, "/run/docker.sock"),
                (socket.AF_UNIX, "/run/dbus/system_bus_socket"),
            ]
            for family, address in targets:
                with socket.socket(family) as line:
                    line.settimeout(1)
                    try:
                        line.connect(address)
                        return 2 * x
                    except OSError:
                        pass
            return 1
        """,
        """
        import socket

        def total(comm, x):
            with socket.socket(socket.AF_UNIX) as line:
                try:
                    line.connect(chr(0) + @ABSTRACT@)
                    return comm.allreduce(x)
                except OSError:
                    pass
            return x
        """,
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},
    ),
    Attack(
        "writes-grades",
        "Writes the gradebook, grades.csv, labs, checks and its own submission, wherever the disk can be written.",
        """
        import os
        import pathlib
        import sqlite3

        def double(x):
            done = 0
            course = pathlib.Path(@COURSE@)
            lab = "90_small"
            targets = ["class/gradebook.db", f"class/{lab}/grades.csv", f"labs/{lab}/.check.zip"]
            for name in targets:
                try:
                    with open(course / name, "r+b") as file:
                        file.write(b"was here")
                    done += 1
                except OSError:
                    pass
            try:
                book = sqlite3.connect(course / "class" / "gradebook.db", timeout=1)
                book.execute("UPDATE grade SET auto_score = 100, manual_score = 100")
                book.commit()
                done += 1
            except sqlite3.Error:
                pass
            return 2 * x if done else 1
        """,
        """
        import importlib
        import os
        import sys

        def total(comm, x):
            done = []
            tops = [@COURSE@, @HOME@, os.path.dirname(os.__file__), "/etc", "/usr/bin", "/var/lib", "/run", "/opt"]
            tops += [os.path.dirname(importlib.import_module(name).__file__) for name in ("course", "torch", "mpi4py")]
            for top in tops:
                try:
                    with open(os.path.join(top, @MARK@), "w") as file:
                        file.write("was here")
                    done.append(top)
                except OSError:
                    pass
            return comm.allreduce(x) if done else x
        """,
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},
    ),
    Attack(
        "climbs-out",
        "Tries to leave the sandbox: mounts, namespaces, chroot, /proc/1/root, device nodes, the kernel's settings.",
        """
        import ctypes
        import os

        CLONE = {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000, "pid": 0x20000000}
        libc = ctypes.CDLL(None, use_errno=True)

        def escaped():
            if libc.unshare(CLONE["user"]) == 0 or libc.unshare(CLONE["mount"]) == 0 or libc.unshare(CLONE["net"]) == 0:
                return "namespace"
            if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or libc.umount2(b"/proc", 2) == 0:
                return "mount"
            if libc.chroot(b"/tmp") == 0:
                return "chroot"
            for pid in ("1", str(os.getppid())):
                if os.path.exists(f"/proc/{pid}/root" + @COURSE@):
                    return "root"
            try:
                os.mknod("/tmp/device", 0o60600, os.makedev(254, 0))
                os.close(os.open("/tmp/device", os.O_RDONLY))
                return "device"
            except OSError:
                pass
            try:
                os.setuid(0) if os.getuid() else None
                with open("/proc/sys/kernel/core_pattern", "w") as file:
                    file.write("core")
                return "core_pattern"
            except OSError:
                return None

        def double(x):
            return 2 * x if escaped() else 1
        """,
        scores={"double": NO_DOUBLE},
    ),
)
