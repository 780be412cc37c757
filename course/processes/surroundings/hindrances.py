"""What of this machine, folder and environment keeps ranks from starting: `World` names it, and the doctor finds it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from course.processes.slurm_command import SlurmError
from course.processes.surroundings import folder, job, limits, machine, room


@dataclass(frozen=True)
class Hindrance:
    """Something that is in the way. name: of what, in a word. seen: in a sentence. mend: what to do, or to type."""

    name: str
    seen: str
    mend: str

    def __str__(self) -> str:
        return f"{self.seen} {self.mend}"


def hindrances(ranks: int) -> Iterator[Hindrance]:
    """What is in the way of so many ranks here. The current folder and the environment are the notebook's."""
    if folder.here() is None:
        yield Hindrance("folder", "The current folder has been deleted.", "Open the notebook from one that is there.")
    for sentence in folder.sentences(folder.hidden()):
        seen, _, mend = sentence.rpartition(": ")
        yield Hindrance("folder", f"{seen}.", mend[:1].upper() + mend[1:])
    if short := room.shortage(ranks, [room.MEMORY]):
        yield Hindrance("memory", f"Shared memory is short: {short}.", f"`ls -lS {room.MEMORY}` lists what is there.")
    for option, allowed in limits.low_limits().items():
        yield Hindrance("limits", f"`ulimit -{option}` allows {allowed}.", "Start from a shell with a higher one.")
    if few := limits.few_processes(ranks):
        yield Hindrance("processes", few, limits.MORE_PROCESSES)
    if low := limits.low_memory(ranks):
        yield Hindrance("memory", low, limits.MORE_MEMORY)
    try:
        ended = job.standing().ended
    except SlurmError as error:
        ended = f"{error}."
    if ended:
        yield Hindrance("job", ended, f"`unset {job.NAME}` before JupyterLab is started.")


def how_to_look() -> str:
    """How the doctor is called with the environment and the folder of this process, in a sentence."""
    command = f"{shlex.quote(sys.executable)} -P -m autograde doctor"
    from IPython import get_ipython

    if get_ipython() is not None:
        return f"To look for the cause, run in a cell of this notebook:  !{command}"
    return f"To look for the cause, run from this shell:  cd {shlex.quote(folder.here() or '/')} && {command}"


def not_started(ranks: int, why: str, memory: Mapping[str, int], output: str = "") -> str:
    """What to say of ranks that did not start. why: in some words. memory: what `machine.out_of_memory` counted before.
    output: what was printed meanwhile."""
    causes = [str(each) for each in hindrances(ranks)]
    if told := machine.ran_out(memory):
        causes = [f"A process was killed, as {told}. {limits.MORE_MEMORY}", *causes]
    return "\n".join([f"The MPI ranks did not start, {why}.", *causes, how_to_look(), output]).rstrip()


def reason(error: Exception) -> str:
    """Why something could not be done, in some words, with the file that it was about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    return f"{type(error).__name__}: {error}"[:300]


def several_worlds(ranks: int, place: Mapping[str, Any], launcher: str, mend: str) -> str:
    """What to say of ranks whose MPI does not know what started them. place: of one of them, see `rank.Place`."""
    library = f"{place['library']} ({', '.join(place['files']) or 'of a file that is not known'})"
    return (
        f"The ranks do not find each other: MPI has made worlds of {place['size']} instead of one of {ranks}. "
        f"They were started by {launcher}, and mpi4py uses {library}, which belongs to another MPI. {mend} "
        f"{how_to_look()}"
    )
