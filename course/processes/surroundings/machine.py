"""What this process may use of its machine: memory, cores, processes.

A container, a pod, a job or a login session may have less than there is. Its control groups say how much, in version 1
or 2, see cgroups(7) and Linux's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst: the group of a
process and those above it all hold, so the tightest counts. Where there is none, it is what the machine has.

root: where /proc and /sys are. process: whose groups are asked about. Needs the standard library alone, as set-up does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CORES = "LOCKSTEP_CORES"  # how many this process may use, where it does not see its groups: in a sandbox
UNLIMITED = 2**60  # bytes; version 1 has no word for it, but a number that depends on the size of pages
GIB = 2**30


@dataclass(frozen=True)
class Group:
    """A control group, as its folder tells. version: 1 or 2. What is missing or unreadable sets no limit."""

    folder: Path
    version: int

    def number(self, *names: str) -> int | None:
        """The number in the first of these files that has one, of 0 or more; None: there is no limit."""
        for name in names:
            text = read(self.folder / name).strip()
            if text.isdecimal() and int(text) < UNLIMITED:
                return int(text)
        return None

    def table(self, name: str) -> dict[str, int]:
        """The numbers in a file of lines with a word and a number."""
        pairs = (line.split() for line in read(self.folder / name).splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}

    def memory(self) -> tuple[int, int] | None:
        """Bytes that it may have, and bytes of these that are left; None: it has no limit.

        Files that the kernel only keeps at hand count as left. Above `memory.high`, processes are slowed down until
        they hardly move, so it counts as a limit, too.
        """
        about = self.table("memory.stat")
        if self.version == 2:
            limits = [self.number("memory.max"), self.number("memory.high")]
            used, names = self.number("memory.current"), ("active_file", "inactive_file", "slab_reclaimable")
        else:
            above = about.get("hierarchical_memory_limit", UNLIMITED)  # also of groups that a container does not see
            limits = [self.number("memory.limit_in_bytes"), above if above < UNLIMITED else None]
            used, names = self.number("memory.usage_in_bytes"), ("total_active_file", "total_inactive_file")
        found = [limit for limit in limits if limit is not None]
        if not found:
            return None
        held = max(0, (used or 0) - sum(about.get(name, 0) for name in names))
        return min(found), max(0, min(found) - held)

    def cores(self) -> int | None:
        """Whole cores that its quota of processor time makes, at least 1; None: it has none."""
        quota, period = (*read(self.folder / "cpu.max").split(), "", "")[:2]
        if self.version == 1:
            quota, period = (read(self.folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
        if not (quota.isdecimal() and period.isdecimal() and int(period)):
            return None
        return max(1, int(quota) // int(period))

    def out_of_memory(self) -> tuple[int | None, int]:
        """How many of its processes were killed as no memory was left, and how often its own limit was reached.

        None: it does not count them. The first is of this group, or in version 2 of those below it, too, whoever's
        limit was reached.
        """
        if self.version == 2:
            events = self.table("memory.events")
            return events.get("oom_kill"), events.get("oom", 0)
        reached = self.number("memory.failcnt") or 0
        return self.table("memory.oom_control").get("oom_kill"), reached if self.memory() else 0


@dataclass(frozen=True)
class Memory:
    """Bytes: all that may be used, and what of it is left. group: the one whose limit that is; None: the machine's."""

    total: int
    available: int
    group: Path | None = None


@dataclass(frozen=True)
class Processes:
    """How many processes and threads there may be at a time, how many of these are left, and the group that says so."""

    total: int
    left: int
    group: Path


def read(path: str | Path) -> str:
    """The text of a file of the kernel; empty if there is none that can be read."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def groups(controller: str, root: str | Path = "/", process: int | str = "self") -> list[Group]:
    """The groups of a process that control its `memory`, `cpu` or `pids`: its own one, then all above it that are seen.

    A controller is in a hierarchy of version 1, or else in the one of version 2; both may be there (*hybrid*).
    """
    lines = [line.split(":", 2) for line in read(f"{root}/proc/{process}/cgroup").splitlines()]
    paths = {name: path for _, names, path in (line for line in lines if len(line) == 3) for name in names.split(",")}
    version = 1 if controller in paths else 2
    own = Path(paths.get(controller if version == 1 else "", "/"))
    found = []
    for line in read(f"{root}/proc/self/mountinfo").splitlines():
        about, _, kind = line.partition(" - ")
        words, options = about.split(), kind.split()
        if len(words) < 5 or not options or options[0] != ("cgroup2" if version == 2 else "cgroup"):
            continue
        if version == 1 and controller not in options[-1].split(","):
            continue
        # What is mounted may be a part of the hierarchy: a container's own group, under the path that its host knows.
        top, place = (Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), word)) for word in words[3:5])
        below = own.is_relative_to(top) and ".." not in own.parts
        found.append((not below, place, own.relative_to(top) if below else Path()))
    if not found:
        return []
    _, place, below = min(found, key=lambda each: each[0])
    top = Path(root, place.relative_to("/"))
    return [Group(top / folder, version) for folder in (below, *below.parents)]


def memory(root: str | Path = "/", process: int | str = "self") -> Memory:
    """The memory that a process may use, with all others of its groups."""
    return memory_of(groups("memory", root, process), root)


def memory_of(controlled_by: Sequence[Group], root: str | Path) -> Memory:
    """The memory that a process of these groups may use."""
    lines = (line.split() for line in read(f"{root}/proc/meminfo").splitlines())
    machine = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) > 1}
    total = machine.get("MemTotal") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    available, tightest = machine.get("MemAvailable", machine.get("MemFree", total)), None
    for group in controlled_by:
        if limit := group.memory():
            available = min(available, limit[1])
            if limit[0] < total:
                total, tightest = limit[0], group.folder
    return Memory(total, available, tightest)


def cores(root: str | Path = "/") -> int:
    """Cores that this process may use: those that it may run on, but no more than it has processor time for."""
    allowed = [len(os.sched_getaffinity(0))]
    if known := os.environ.get(CORES, ""):
        return max(1, min(*allowed, int(known)))
    return min([*allowed, *(quota for group in groups("cpu", root) if (quota := group.cores()) is not None)])


def processes(root: str | Path = "/", process: int | str = "self") -> Processes | None:
    """How many processes and threads a process may start, with all others of its groups; None: there is no limit."""
    found = []
    for group in groups("pids", root, process):
        if (most := group.number("pids.max")) is not None:
            found.append(Processes(most, max(0, most - (group.number("pids.current") or 0)), group.folder))
    return min(found, key=lambda each: each.left, default=None)


def out_of_memory(root: str | Path = "/") -> dict[str, int]:
    """How often memory ran out so far, for `ran_out`: processes killed for it, and by folder, how often that group's
    limit was reached."""
    return counts(groups("memory", root), root)


def counts(controlled_by: Sequence[Group], root: str | Path) -> dict[str, int]:
    """What `out_of_memory` returns to a process of these groups."""
    counted = [(group, *group.out_of_memory()) for group in controlled_by]
    of_machine = re.search(r"^oom_kill (\d+)$", read(f"{root}/proc/vmstat"), re.MULTILINE)
    kills = [killed for _, killed, _ in counted if killed is not None] + [int(of_machine[1]) if of_machine else 0]
    return {"killed": kills[0], **{str(group.folder): reached for group, _, reached in counted}}


def ran_out(before: Mapping[str, int], root: str | Path = "/") -> str:
    """What to say of a process of this one's group that was killed, if memory has run out since; empty if it has not.

    before: from `out_of_memory`.
    """
    own = groups("memory", root)
    now = counts(own, root)
    if now["killed"] <= before.get("killed", now["killed"]):
        return ""
    reached = (group for group in own if now[str(group.folder)] > before.get(str(group.folder), now[str(group.folder)]))
    limit = next((found for group in reached if (found := group.memory())), None)
    have = memory_of(own, root)
    if limit is None and have.group is None:
        return f"no memory was left on this machine, which has {in_words(have.total)}"
    most = have.total if limit is None else limit[0]
    return f"no memory was left of the {in_words(most)} that all in its container, job or session may have"


def in_words(size: int) -> str:
    """So many bytes, in GiB, or below one in MiB."""
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / 2**20:.0f} MiB"
