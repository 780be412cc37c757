"""What each task of a step should be told, beside what known mistakes tell it."""

import re
from types import SimpleNamespace

from autograde.rubric import Mistakes, Same, Words, changed
from course.batch.srun_tasks import places_of, tasks_of

NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")

words = Words("""
fails-on-a-step: Your function fails where SLURM_STEP_NODELIST is {nodelist} and SLURM_STEP_TASKS_PER_NODE is {tasks}:
{error}

wrong-answer: {name} is {actual} on rank {rank} of {size}, where {expected} is expected. SLURM_STEP_TASKS_PER_NODE is
{tasks}, and SLURM_STEP_NODELIST is {nodelist}.
""")


# By name, what a task is told: it has what its step has, its rank, the number of its node, and its own number there.
RIGHT = {
    "RANK": lambda task: task.rank,
    "WORLD_SIZE": lambda task: sum(task.tasks),
    "LOCAL_RANK": lambda task: task.local,
    "LOCAL_WORLD_SIZE": lambda task: task.tasks[task.node],
    "MASTER_ADDR": lambda task: task.names[0],
}


def answered(call):
    """Each step in which no task's answer is an error, with its answers."""
    pairs = zip(call.arguments["steps"], call.seen[0].steps, strict=True)
    return [(step, answers) for step, answers in pairs if not any(each.error for each in answers)]


def of_step(step):
    return {"tasks": tasks_of(**step)[0]["SLURM_STEP_TASKS_PER_NODE"], "nodelist": step["nodelist"]}


def failing(call):
    """Each step in which one is, with the error."""
    pairs = zip(call.arguments["steps"], call.seen[0].steps, strict=True)
    errors = [(step, next((each.error for each in answers if each.error), "")) for step, answers in pairs]
    return [(step, error) for step, error in errors if error]


def failure(call):
    step, error = failing(call)[0]
    return words("fails-on-a-step", error=error, **of_step(step))


def refuses_zero(call):
    return {step["step"] for step, _ in failing(call)} == {0} and any(step["step"] for step, _ in answered(call))


def due(*names, **ways):
    """Of a call, what the tasks of all steps should be told by these names. ways: by name, how it is found instead."""

    def of_steps(call):
        found = []
        for step, _ in answered(call):
            places = enumerate(places_of(step["tasks"], step["cyclic"]))
            each = [SimpleNamespace(**step, rank=rank, node=node, local=local) for rank, (node, local) in places]
            found.append([{name: str({**RIGHT, **ways}[name](task)) for name in names} for task in each])
        return found

    return of_steps


def told(*names):
    """Judge of what the tasks are told by these names."""

    def otherwise(call, off):
        if len(off.place) < 3:
            return None
        at, rank, name = off.place
        step = answered(call)[at][0]
        node, _ = places_of(step["tasks"], step["cyclic"])[rank]
        about = {"rank": rank, "size": sum(step["tasks"]), "node": node, **of_step(step)}
        return words("wrong-answer", name=name, actual=off.actual, expected=off.expected, **about)

    def values(call):
        return [[each.values for each in answers] for _, answers in answered(call)]

    return Same(values, due(*names), lambda call, place: names[0], otherwise=otherwise)


def instead(name, *ways):
    """For `changed`: what is told by the names of a row, this one of them found in other ways."""
    row = NUMBERS if name in NUMBERS else (name,)
    return [due(*row, **{name: way}) for way in ways]


def modulo(count):
    return lambda task: task.rank % count(task)


def first_name(task):
    """Of the list, with its brackets."""
    return re.match(r"([^\[,]|\[[^\]]*\])+", task.nodelist)[0]


def behind_lost(task):
    head, bracket, inside = task.nodelist.partition("[")
    return head + re.match(r"\d*", inside)[0] if bracket else task.names[0]


OTHER_NUMBERS = Mistakes(
    """
    rank-modulo-tasks: LOCAL_RANK is {actual} on rank {rank}: its number modulo the tasks of a node. Where tasks are
    placed in turns, or nodes have unequally many, that is another rank's GPU. Slurm tells the local rank itself.

    rank-as-local-rank: LOCAL_RANK is {actual} on rank {rank}, its number among all ranks. On its own node it is number
    {expected}.

    local-rank-as-rank: RANK is {actual}, its number on its own node. Among all ranks it is number {expected}, and each
    number exists only once.

    nodes-for-ranks: WORLD_SIZE is {actual}, the number of nodes. {expected} tasks run on them.

    first-node-for-own: LOCAL_WORLD_SIZE is {actual}, the number of tasks on the step's first node. Rank {rank} is on
    node number {node} of {tasks}.

    tasks-shared-evenly: LOCAL_WORLD_SIZE is {actual}, as if the tasks were shared out evenly. There are {tasks} on the
    nodes, by SLURM_STEP_TASKS_PER_NODE.

    wish-for-number: LOCAL_WORLD_SIZE is {actual}: that is SLURM_NTASKS_PER_NODE, which somebody wished for. What runs
    is {tasks}.
    """,
    changed(
        rank_modulo_tasks=instead(
            "LOCAL_RANK",
            modulo(lambda task: task.tasks[task.node]),
            modulo(lambda task: max(task.tasks)),
            modulo(lambda task: task.tasks[0]),
        ),
        rank_as_local_rank=instead("LOCAL_RANK", lambda task: task.rank),
        local_rank_as_rank=instead("RANK", lambda task: task.local),
        nodes_for_ranks=instead("WORLD_SIZE", lambda task: len(task.tasks)),
        first_node_for_own=instead("LOCAL_WORLD_SIZE", lambda task: task.tasks[0]),
        tasks_shared_evenly=instead("LOCAL_WORLD_SIZE", lambda task: sum(task.tasks) // len(task.tasks)),
        wish_for_number=instead("LOCAL_WORLD_SIZE", lambda task: task.wish or 1),
    ),
)
OTHER_ADDRESSES = Mistakes(
    """
    job-not-step: MASTER_ADDR is {actual}, which is right for the whole job. The step runs on some of the job's nodes
    only: there it is {expected}.

    list-cut-at-comma: MASTER_ADDR is "{actual}" for the list {nodelist}. A comma inside brackets does not separate
    nodes.

    list-cut-at-bracket: MASTER_ADDR is "{actual}" for the list {nodelist}. The number of the first node is inside the
    brackets.

    zeros-lost: MASTER_ADDR is "{actual}" for the list {nodelist}. There is no such node: numbers in a name keep their
    zeros.

    range-kept: MASTER_ADDR is "{actual}" for the list {nodelist}. That is the range with its bounds, not a node in it.

    text-behind-lost: MASTER_ADDR is "{actual}" for the list {nodelist}. What stands behind a bracket is part of the
    name, too.

    whole-list: MASTER_ADDR is "{actual}". That is the whole list; one node is asked for.

    own-node: MASTER_ADDR is "{actual}" on rank {rank}: its own node. Ranks on other nodes have another one, and never
    meet.

    loopback: MASTER_ADDR is "{actual}". On each node that is the node itself: ranks on two nodes never meet.

    hyphen-cut: MASTER_ADDR is "{actual}" for the list {nodelist}. A hyphen outside brackets belongs to the name.
    """,
    changed(
        job_not_step=instead("MASTER_ADDR", lambda task: task.job_nodelist.partition(",")[0]),
        list_cut_at_comma=instead(
            "MASTER_ADDR",
            lambda task: task.nodelist.partition(",")[0],
            lambda task: task.nodelist.partition(",")[0].replace("[", ""),
        ),
        list_cut_at_bracket=instead("MASTER_ADDR", lambda task: re.split(r"[,\[]", task.nodelist)[0]),
        zeros_lost=instead("MASTER_ADDR", lambda task: re.sub(r"(?<=\D)0+(?=\d)", "", task.names[0])),
        range_kept=instead("MASTER_ADDR", lambda task: re.sub(r"[\[\]]", "", first_name(task))),
        text_behind_lost=instead("MASTER_ADDR", behind_lost),
        whole_list=instead("MASTER_ADDR", lambda task: task.nodelist),
        own_node=instead("MASTER_ADDR", lambda task: task.names[task.node]),
        loopback=instead("MASTER_ADDR", lambda task: "localhost", lambda task: "127.0.0.1"),
        hyphen_cut=instead(
            "MASTER_ADDR",
            lambda task: task.names[0].partition("-")[0],
            lambda task: re.split(r"[-,]", task.nodelist)[0].replace("[", ""),
        ),
    ),
)
