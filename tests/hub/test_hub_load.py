"""A class of twenty on one hub: all at once, through a restart of the hub, within a stated memory; idle worlds end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from hub_client import Kernel, Session
from labs_under_test import OURS
from running_hub import Hub, processes_of, running_hub
from small_clone import wait_for
from unix_accounts import with_accounts

pytestmark = [pytest.mark.timeout(900), pytest.mark.alone, *with_accounts]
LAB = OURS[0].name
STUDENTS = [f"s{number:02}" for number in range(20)]
WORLDS = 6  # how many of them compute at once
IDLE = "s19"  # whose kernel ends when it was idle for some seconds, not hours
MEMORY = 1.2  # GiB that a student takes with a server, a kernel and a world of four ranks
SMALL = 0.25  # GiB, with a server only
CONFIG = f"""
def cull_soon(spawner):
    if spawner.user.name.startswith("{IDLE}"):
        spawner.args = ["--MappingKernelManager.cull_idle_timeout=3", "--MappingKernelManager.cull_interval=1",
                        "--MappingKernelManager.cull_connected=True"]

c = get_config()
c.Spawner.pre_spawn_hook = cull_soon
"""
START_WORLD = """
from course.world import COMM, World
world = World({size}, progress=False)
world.run(lambda: __import__("torch"))
print(world.run(lambda comm: comm.allreduce(1), COMM))
"""
COMPUTE = "print(world.run(lambda comm: comm.allreduce(1), COMM))"


class Class:
    """A course of twenty, who are logged in."""

    def __init__(self, hub: Hub) -> None:
        self.hub, self.course = hub, hub.name("hpc")
        self.iris = Session(hub, hub.name("iris"))
        self.iris.log_in(hub.password("iris")).raise_for_status()
        assert self.iris.grade(self.course, f"assignment/{LAB}/release")["success"]
        self.students = {short: Session(hub, hub.name(short)) for short in STUDENTS}
        self.kernels: dict[str, Kernel] = {}

    def all_at_once(self, do: Callable[[str], object], who: list[str] = STUDENTS) -> list:
        """Do something for each of them at the same time. Returns what comes of it."""
        with ThreadPoolExecutor(len(who)) as threads:
            return [*threads.map(do, who)]

    def come(self, short: str) -> None:
        """Log in, start a server, fetch the lab, and write something into it."""
        student = self.students[short]
        student.log_in(self.hub.password(short)).raise_for_status()
        student.start_server()
        student.assignments("fetch", self.course, LAB)
        path = f"api/contents/{self.course}/{LAB}/{LAB}.ipynb"
        text = student.own("GET", path)["content"]
        text["metadata"]["by"] = student.name
        student.own("PUT", path, json={"type": "notebook", "content": text})

    def hand_in(self, short: str) -> None:
        """Hand in; who gets no answer tries again, as one does, until it is listed."""
        while True:
            try:
                said = self.students[short].assignments("submit", self.course, LAB)
            except requests.RequestException:
                time.sleep(0.5)
                continue
            if said["success"]:
                assert any(one["status"] == "submitted" for one in said["value"]), said
            else:  # what got no answer had arrived
                assert "It is as you handed it in" in said["value"], said
            return

    def start_world(self, short: str, size: int = 2) -> str:
        """Start a kernel and a world in it. Returns what its ranks computed."""
        self.kernels[short] = self.students[short].start_kernel()
        return self.kernels[short].run(START_WORLD.format(size=size)).strip()

    def uid(self, short: str) -> int:
        """A student's account."""
        return self.hub.home(short).stat().st_uid

    def memory(self, short: str) -> float:
        """GiB of all that a student's account runs; what processes share is shared out among them."""
        kib = 0
        for process in processes_of({self.uid(short)}):
            lines = (process / "smaps_rollup").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss:", "SwapPss:")))
        return kib / 2**20

    def commands(self, short: str) -> str:
        """Command lines of all that a student's account runs."""
        return "\n".join((path / "cmdline").read_text().replace("\0", " ") for path in processes_of({self.uid(short)}))


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """A hub for twenty, with nobody's server started yet."""
    config = tmp_path_factory.mktemp("config") / "config.py"
    config.write_text(CONFIG)
    with running_hub({"hpc": (["iris"], STUDENTS)}, "--config", str(config)) as hub:
        yield Class(hub)


def test_twenty_start_compute_and_hand_in_while_the_hub_is_restarted_and_nothing_is_lost(twenty):
    began = time.monotonic()
    twenty.all_at_once(twenty.come)
    started = time.monotonic()
    waited = sum(student.waited > 0 for student in twenty.students.values())
    assert 0 < waited <= 10, "ten start at once, the others come again"

    of_server = [twenty.memory(short) for short in STUDENTS]
    assert twenty.all_at_once(twenty.start_world, STUDENTS[:WORLDS]) == ["[2, 2]"] * WORLDS
    computed = time.monotonic()

    early, late = STUDENTS[:10], STUDENTS[10:]
    twenty.all_at_once(twenty.hand_in, early)
    with ThreadPoolExecutor(len(late)) as threads:
        handing_in = [threads.submit(twenty.hand_in, short) for short in late]
        twenty.hub.end()
        twenty.hub.start()
        for one in handing_in:
            one.result()
    restarted = time.monotonic()
    assert (
        twenty.all_at_once(lambda short: twenty.kernels[short].run(COMPUTE).strip(), STUDENTS[:WORLDS])
        == ["[2, 2]"] * WORLDS
    )

    assert twenty.iris.grade(twenty.course, f"assignment/{LAB}/collect")["success"]
    for short in STUDENTS:
        name = twenty.hub.name(short)
        collected = twenty.hub.course("hpc") / "class" / "submitted" / name / LAB / f"{LAB}.ipynb"
        assert collected.read_bytes() == (twenty.hub.home(short) / twenty.course / LAB / f"{LAB}.ipynb").read_bytes()
        assert json.loads(collected.read_text())["metadata"]["by"] == name
    inbound = twenty.hub.exchange("hpc") / "inbound"
    assert not [path for path in inbound.iterdir() if path.name.startswith(".")]
    print(f"20 servers: {started - began:.0f} s, each {max(of_server):.2f} GiB at most")
    print(f"{WORLDS} worlds: {computed - started:.0f} s; hand-ins and a restart: {restarted - computed:.0f} s")
    assert max(of_server) < SMALL


def test_a_student_with_a_world_of_four_ranks_takes_the_memory_that_is_stated(twenty):
    assert twenty.start_world("s10", size=4) == "[4, 4, 4, 4]"
    taken = twenty.memory("s10")
    print(f"server, kernel, world of four ranks with torch: {taken:.2f} GiB")
    assert taken < MEMORY


def test_an_idle_world_ends_with_its_kernel(twenty):
    assert twenty.start_world(IDLE) == "[2, 2]"
    folder = Path(twenty.kernels[IDLE].run("print(world._processes.folder)").strip())
    assert "course.processes.rank_server" in twenty.commands(IDLE) and folder.exists()
    wait_for(lambda: not twenty.students[IDLE].own("GET", "api/kernels"), 30)
    wait_for(lambda: "singleuser" in twenty.commands(IDLE) and len(twenty.commands(IDLE).splitlines()) == 1, 15)
    assert not folder.exists()
