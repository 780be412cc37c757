"""What is wrong with the answers to the tasks of steps: each variable beside what known mistakes would give."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from course.batch.srun_tasks import places_of, tasks_of

from .answers import DECOYED

# What comes of `os.environ`, by the variable of the answer: of what srun sets there, or torchrun.
DECOYS = {
    "RANK": ("SLURM_PROCID", "RANK"),
    "WORLD_SIZE": ("SLURM_NTASKS", "WORLD_SIZE"),
    "LOCAL_RANK": ("SLURM_LOCALID", "LOCAL_RANK"),
    "LOCAL_WORLD_SIZE": ("SLURM_STEP_TASKS_PER_NODE", "LOCAL_WORLD_SIZE"),
    "MASTER_ADDR": ("SLURM_STEP_NODELIST", "MASTER_ADDR"),
}

finding = Findings("""
reads-os-environ 2
Your function reads `os.environ`. It is given an environment, perhaps that of another task: look into `environ` only.

job-not-step 2
{name} is {actual}, which is right for the whole job. The step runs on some of the job's nodes only: there it is
{expected}.

repetition-not-read 2
Your function fails where SLURM_STEP_TASKS_PER_NODE is {tasks}: {error} Slurm shortens equal numbers that follow each
other.

first-node-for-own 1.5
LOCAL_WORLD_SIZE is {actual}, the number of tasks on the step's first node. Rank {rank} is on node number {node} of
{tasks}.

tasks-by-rank 1.5
LOCAL_WORLD_SIZE is {actual} on rank {rank}: that is entry number {rank} of {tasks}. The list has one entry for each
node, not for each rank.

tasks-shared-evenly 1.5
LOCAL_WORLD_SIZE is {actual}, as if the tasks were shared out evenly. There are {tasks} on the nodes, by
SLURM_STEP_TASKS_PER_NODE.

wish-for-number 1.5
LOCAL_WORLD_SIZE is {actual}: that is SLURM_NTASKS_PER_NODE, which somebody wished for. What runs is {tasks}.

wish-not-there 1.5
Your function fails where SLURM_NTASKS_PER_NODE is not set. It is what somebody wished for, so it is there only where
somebody has; and then other numbers may run.

rank-modulo-tasks 2
LOCAL_RANK is {actual} on rank {rank}: its number modulo the tasks of a node. Where tasks are placed in turns, or nodes
have unequally many, that is another rank's GPU. Slurm tells the local rank itself.

rank-as-local-rank 2
LOCAL_RANK is {actual} on rank {rank}, its number among all ranks. On its own node it is number {expected}.

local-rank-as-rank 2
RANK is {actual}, its number on its own node. Among all ranks it is number {expected}, and each number exists only once.

nodes-for-ranks 2
WORLD_SIZE is {actual}, the number of nodes. {expected} tasks run on them.

list-cut-at-comma 2
MASTER_ADDR is "{actual}" for the list {nodelist}. A comma inside brackets does not separate nodes.

list-cut-at-bracket 2
MASTER_ADDR is "{actual}" for the list {nodelist}. The number of the first node is inside the brackets.

zeros-lost 2
MASTER_ADDR is "{actual}" for the list {nodelist}. There is no such node: numbers in a name keep their zeros.

range-kept 2
MASTER_ADDR is "{actual}" for the list {nodelist}. That is the range with its bounds, not a node in it.

text-behind-lost 2
MASTER_ADDR is "{actual}" for the list {nodelist}. What stands behind a bracket is part of the name, too.

whole-list 2
MASTER_ADDR is "{actual}". That is the whole list; one node is asked for.

last-node 2
MASTER_ADDR is "{actual}", another node of the list {nodelist} than the first one.

own-node 2
MASTER_ADDR is "{actual}" on rank {rank}: its own node. Ranks on other nodes have another one, and never meet.

loopback 2
MASTER_ADDR is "{actual}". On each node that is the node itself: ranks on two nodes never meet.

hyphen-cut 2
MASTER_ADDR is "{actual}" for the list {nodelist}. A hyphen outside brackets belongs to the name.

wrong-answer 2
{name} is {actual} on rank {rank} of {size}, where {expected} is expected. SLURM_STEP_TASKS_PER_NODE is {tasks}, and
SLURM_STEP_NODELIST is {nodelist}.

step-zero-refused 2
Your function fails where SLURM_STEP_ID is "0": {error} That is the number of each job's first step.

fails-on-a-step 2
Your function fails where SLURM_STEP_NODELIST is {nodelist} and SLURM_STEP_TASKS_PER_NODE is {tasks}: {error}
""")

Candidates = dict[str, list[str]]


def answer_mistakes(steps: list[dict], runs: list[dict], names: Collection[str]) -> list[Finding | Diagnosis]:
    """What is wrong with RANK to MASTER_ADDR. runs: the answers, of this Python and of another. names: that are in
    them."""
    found: list[Finding | Diagnosis] = []
    errors = [answer["error"] for run in runs for answers in run["steps"] for answer in answers]
    if any("SLURM_NTASKS_PER_NODE" in error for error in errors):
        names = [name for name in names if name != "LOCAL_WORLD_SIZE"]  # it is the wish, where there is one
    for run in runs:
        failing = {step["step"] for step, of in zip(steps, run["steps"], strict=True) for each in of if each["error"]}
        for step, answers in zip(steps, run["steps"], strict=True):
            about = {"tasks": tasks_of(**step)[0]["SLURM_STEP_TASKS_PER_NODE"], "nodelist": step["nodelist"]}
            if errors := [answer["error"] for answer in answers if answer["error"]]:
                repeated = "(x" in about["tasks"] and re.search(r"invalid literal|\(x", errors[0])
                key = "repetition-not-read" if repeated else "fails-on-a-step"
                key = "step-zero-refused" if failing == {0} and any(each["step"] for each in steps) else key
                key = "wish-not-there" if "SLURM_NTASKS_PER_NODE" in errors[0] else key
                found.append(finding(key, error=errors[0], **about))
                continue
            for name, judged in JUDGES.items():
                if name not in names:
                    continue
                actual = [answer["values"][name] for answer in answers]
                expected, candidates = judged(step)
                found.append(compared(name, actual, expected, candidates, {**about, "step": step}))
    return found


def compared(name: str, actual: list, expected: list[str], candidates: Candidates, about: dict[str, Any]) -> Diagnosis:
    """One variable of all tasks of a step, beside what is expected and what mistakes give."""
    step = about.pop("step")
    decoys = [DECOYED[variable].partition("(")[0] for variable in DECOYS[name]]
    read = {f"reads-os-environ/{number}": [value] * len(actual) for number, value in enumerate(decoys)}
    candidates = {**read, **candidates}
    rank = next((number for number, pair in enumerate(zip(actual, expected, strict=True)) if pair[0] != pair[1]), 0)
    seen = {"name": name, "rank": rank, "size": len(actual), "node": places_of(step["tasks"], step["cyclic"])[rank][0]}
    seen |= {"actual": actual[rank], "expected": expected[rank]}
    return diagnose(name, actual, expected, candidates, partial(finding, **about, **seen), "wrong-answer", same_texts)


def same_texts(actual: list, expected: list) -> bool:
    """Whether the texts are the same."""
    return actual == expected


def ranks(step: dict) -> tuple[list[str], Candidates]:
    """RANK."""
    places = places_of(step["tasks"], step["cyclic"])
    return [*map(str, range(len(places)))], {"local-rank-as-rank": [str(local) for _, local in places]}


def world_sizes(step: dict) -> tuple[list[str], Candidates]:
    """WORLD_SIZE."""
    size = sum(step["tasks"])
    given = {"nodes-for-ranks": len(step["tasks"]), "nodes-for-ranks/job": step["job_nodes"]}
    return [str(size)] * size, {key: [str(value)] * size for key, value in given.items()}


def local_ranks(step: dict) -> tuple[list[str], Candidates]:
    """LOCAL_RANK."""
    places = places_of(step["tasks"], step["cyclic"])
    everyone = range(len(places))
    mistakes = {"rank-as-local-rank": [*map(str, everyone)]}
    modulo = {"first": [step["tasks"][0]] * len(places), "own": [step["tasks"][node] for node, _ in places]}
    modulo["most"] = [max(step["tasks"])] * len(places)
    modulo["even"] = [max(1, len(places) // len(step["tasks"]))] * len(places)
    modulo["wish"] = [step["wish"] or 1] * len(places)
    modulo["nodes"] = [len(step["tasks"])] * len(places)
    for form, counts in modulo.items():
        mistakes[f"rank-modulo-tasks/{form}"] = [
            str(rank % count) for rank, count in zip(everyone, counts, strict=True)
        ]
    return [str(local) for _, local in places], mistakes


def local_sizes(step: dict) -> tuple[list[str], Candidates]:
    """LOCAL_WORLD_SIZE."""
    tasks, nodes = step["tasks"], [node for node, _ in places_of(step["tasks"], step["cyclic"])]
    size = len(nodes)
    every: dict[str, Any] = {
        "first-node-for-own": [tasks[0]] * size,
        "tasks-shared-evenly": [size // len(tasks)] * size,
        "tasks-shared-evenly/up": [-(-size // len(tasks))] * size,
        "tasks-shared-evenly/all": [size] * size,
    }
    if len(tasks) >= size:
        every["tasks-by-rank"] = tasks[:size]
    every["wish-for-number"] = [step["wish"]] * size if step["wish"] else [1] * size
    return [str(tasks[node]) for node in nodes], {key: [*map(str, values)] for key, values in every.items()}


def addresses(step: dict) -> tuple[list[str], Candidates]:
    """MASTER_ADDR."""
    text, names, job = step["nodelist"], step["names"], step["job_nodelist"]
    nodes = [names[node] for node, _ in places_of(step["tasks"], step["cyclic"])]
    expected, size = names[0], len(nodes)
    head, _, inside = text.partition("[")
    inner, _, behind = inside.partition("]")
    number = re.match(r"\d*", inner)[0]
    one: dict[str, str] = {
        "job-not-step": job.partition(",")[0],
        "list-cut-at-comma": text.partition(",")[0],
        "list-cut-at-comma/closed": f"{text.partition(',')[0]}]",
        "list-cut-at-comma/bare": text.partition(",")[0].replace("[", ""),
        "list-cut-at-comma/range": text.partition(",")[0].replace("[", "").replace("]", ""),
        "list-cut-at-bracket": text.partition(",")[0].partition("[")[0],
        "list-cut-at-bracket/whole": head,
        "zeros-lost": re.sub(r"(?<=\D)0+(?=\d)", "", expected),
        "zeros-lost/behind": f"{head}{int(number or 0)}{behind.partition(',')[0]}" if inside else expected,
        "range-kept": re.sub(r"[\[\]]", "", re.match(r"([^\[,]|\[[^\]]*\])+", text)[0]),
        "range-kept/first": f"{head}{inner.partition(',')[0]}",
        "text-behind-lost": f"{head}{number}" if inside else expected,
        "whole-list": text,
        "last-node": names[-1],
        "loopback": "localhost",
        "loopback/number": "127.0.0.1",
        "hyphen-cut": re.split(r"[-,]", text)[0].replace("[", ""),
        "hyphen-cut/open": re.split(r"[-,]", text)[0],
        "hyphen-cut/expanded": expected.partition("-")[0],
    }
    return [expected] * size, {**{key: [value] * size for key, value in one.items()}, "own-node": nodes}


Judge = Callable[[dict], tuple[list[str], Candidates]]
JUDGES: dict[str, Judge] = {
    "RANK": ranks,
    "WORLD_SIZE": world_sizes,
    "LOCAL_RANK": local_ranks,
    "LOCAL_WORLD_SIZE": local_sizes,
    "MASTER_ADDR": addresses,
}
