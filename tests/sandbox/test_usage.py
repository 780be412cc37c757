"""What the processes of a sandbox use is told as the kernel sees it. Each test is a program in a sandbox of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from textwrap import dedent

import pytest

from autograde.sandbox import bubblewrap
from autograde.sandbox.resources.limits import Limits

BEGIN = """
import json, os, threading, time
from autograde.sandbox.resources.usage import in_files, proportional, usage
def spent():
    return sum(os.times()[:4])
before, began = usage(), spent()
def tell(**seen):
    print(json.dumps(seen))
"""
MIB = 2**20


def told(program: str) -> dict:
    """What a program in a sandbox tells."""
    own, fds = bubblewrap.own_etc()
    command = [*bubblewrap.in_both({}, Limits(), own), sys.executable, "-c", BEGIN + dedent(program)]
    done = subprocess.run(command, env=bubblewrap.environment(), pass_fds=fds, capture_output=True, text=True, cwd="/")
    for fd in fds:
        os.close(fd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_memory_threads_and_processor_time_count():
    seen = told("""
        x = bytearray(b"x") * (300 * 2**20)
        for _ in range(3):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        after = usage()
        tell(memory=after.memory - before.memory, threads=after.threads - before.threads, cpu=after.cpu - before.cpu,
             spent=spent() - began, exact=proportional((os.getpid(),)))
        os._exit(not print(end="", flush=True) and 0)
    """)
    assert 290 * MIB < seen["memory"] < 320 * MIB
    assert 290 * MIB < seen["exact"] < 340 * MIB
    assert seen["threads"] == 3
    assert seen["cpu"] == pytest.approx(seen["spent"], abs=0.3) and seen["cpu"] > 0.4


def test_the_processor_time_of_children_that_ended_counts():
    seen = told("""
        if os.fork() == 0:
            if os.fork() == 0:
                end = time.process_time() + 0.5
                while time.process_time() < end:
                    pass
            else:
                os.wait()
            os._exit(0)
        os.wait()
        after = usage()
        tell(cpu=after.cpu - before.cpu, spent=spent() - began, processes=len(after.pids) - len(before.pids))
    """)
    assert seen["processes"] == 0
    assert seen["cpu"] == pytest.approx(seen["spent"], abs=0.3) and seen["cpu"] > 0.4


def test_memory_that_forks_share_counts_once_where_it_is_counted_exactly():
    seen = told("""
        x = bytearray(b"x") * (200 * 2**20)
        for _ in range(3):
            if os.fork() == 0:
                time.sleep(60)
        after = usage()
        tell(memory=after.memory - before.memory, exact=proportional(after.pids), processes=len(after.pids))
        os._exit(not print(end="", flush=True) and 0)
    """)
    assert seen["memory"] > 700 * MIB
    assert 195 * MIB < seen["exact"] < 260 * MIB


def test_files_in_memory_count():
    seen = told("""
        empty = in_files("/tmp", "/dev/shm")
        with open("/dev/shm/x", "wb") as file:
            file.write(bytes(20 * 2**20))
        tell(empty=empty, files=in_files("/tmp", "/dev/shm"))
    """)
    assert 20 * MIB < seen["files"] - seen["empty"] < 21 * MIB


def test_a_process_that_has_ended_holds_no_files_and_one_that_only_lost_its_first_thread_may_hold_many():
    seen = told("""
        import ctypes
        from autograde.sandbox.resources.usage import MAX_FILES, open_files
        ended = os.fork()
        if ended == 0:
            os._exit(0)
        headless = os.fork()
        if headless == 0:
            threading.Thread(target=time.sleep, args=(60,)).start()
            ctypes.CDLL(None).pthread_exit(None)
        for pid in (ended, headless):
            while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.01)
        tell(ended=open_files(f"/proc/{ended}"), headless=open_files(f"/proc/{headless}"), most=MAX_FILES)
        os.kill(headless, 9)
    """)
    assert seen["ended"] == 0
    assert seen["headless"] == seen["most"]
