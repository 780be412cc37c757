"""Refuses system calls that can allocate memory that no limit counts, and others that have no use here.

See seccomp(2): the filter is a program of classic BPF, which the kernel runs at each system call of this process and
its children, for good. A refused call fails with EPERM, as if this account were not allowed to make it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data, which describes the call
X32 = 0x40000000  # x86_64 has a second set of the same calls, numbered from here on

# By machine: the kernel's constant for it, and the numbers of the calls, from the kernel's tables.
MACHINES = {
    "x86_64": (
        0xC000003E,
        {
            "shmget": 29,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "perf_event_open": 298,
            "memfd_create": 319,
            "bpf": 321,
            "userfaultfd": 323,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "shmget": 194,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "memfd_create": 279,
            "bpf": 280,
            "userfaultfd": 282,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
    ),
}


class Program(ctypes.Structure):
    """struct sock_fprog: the number of instructions, and where they are."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def instructions(machine: str) -> bytes:
    """The filter for a machine, by its name in `platform.machine`. Raises KeyError for an unknown one."""
    architecture, calls = MACHINES[machine]
    refused = [(JUMP_EQUAL, number) for number in calls.values()] + [(JUMP_AT_LEAST, X32)]
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),  # calls made as on another machine have other numbers
        (LOAD, 0, 0, NUMBER),
        *((kind, len(refused) - place, 0, value) for place, (kind, value) in enumerate(refused)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def refuse_calls() -> None:
    """Install the filter in this process, which must have set PR_SET_NO_NEW_PRIVS. Raises OSError.

    On a machine that is not in MACHINES, it does nothing.
    """
    if platform.machine() not in MACHINES:
        return
    code = instructions(platform.machine())
    program = Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
