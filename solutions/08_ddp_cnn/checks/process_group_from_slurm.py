"""The check of `process_group_from_slurm`: what it answers to all tasks of several steps, beside what srun means."""

import re

from autograde.rubric import CallCheck, Criterion, Mistakes, Words, first_of

from ..probes import process_group_from_slurm
from ..probes.answers import NAMES
from ..probes.decoys import DECOYS
from ..probes.process_group_from_slurm import IN_A_ROW, SCATTERED
from .node_lists import draw_list
from .ports import ports
from .tasks import NUMBERS, OTHER_ADDRESSES, OTHER_NUMBERS, answered, failing, failure, of_step, refuses_zero, told

TURN = 65_536  # ports there are. The last jobs that Slurm counts have numbers of 1,000 times as much
DECOY = {value.partition("(")[0] for name, value in DECOYS.items() if not name.endswith(("NODEID", "JOB_ID", "PORT"))}

words = Words("""
no-dict: Your function returns {kind}. A dict with strings is expected.

not-texts: The value of {name} is of type {kind}. Environment variables are strings.

names-missing: The dict has no {names}. torch.distributed, or whoever chooses the GPU, will look for it.

environ-changed: After the call, `environ` is not what it was before. Whoever called your function still needs it.

os-environ-written: Your function writes to `os.environ`. It is asked for what it returns only: its caller decides what
becomes of that.

reads-os-environ: Your function reads `os.environ`. It is given an environment, perhaps that of another task: look into
`environ` only.

program-called: Your function calls the program {program}. Everything it needs is in `environ`, and not every node has
that program.

step-not-needed: Without SLURM_STEP_ID, your function {does}. Then it is called in the batch script, which has
SLURM_PROCID 0 and all of SLURM_NTASKS: it would wait for ranks that nobody has started. A ValueError is expected.
""")


def something(call):
    """There is an answer at all."""
    kinds = [each.kind for _, answers in answered(call) for each in answers]
    if not kinds:
        return failure(call)
    return words("no-dict", kind=max(kinds)) if all(kinds) else None


def strings(call):
    """Six strings for each task of each step."""
    for _, answers in answered(call):
        for each in answers:
            if each.kind:
                return words("no-dict", kind=each.kind)
            if missing := [name for name in NAMES if name not in each.values]:
                return words("names-missing", names=" and no ".join(missing))
            if other := [name for name, kind in each.kinds.items() if kind != "str"]:
                return words("not-texts", name=other[0], kind=each.kinds[other[0]])
    return failure(call) if failing(call) else None


def parsed(call):
    """No step is too much for what reads lists; that its number is 0 says nothing about lists."""
    return failure(call) if failing(call) and not refuses_zero(call) else None


def repetition(call):
    steps = [(of_step(step)["tasks"], error) for step, error in failing(call)]
    return bool(steps) and all("(x" in tasks and re.search(r"invalid literal|\(x", error) for tasks, error in steps)


def wish(call):
    return bool(failing(call)) and all("SLURM_NTASKS_PER_NODE" in error for _, error in failing(call))


def environments(call):
    """What there is besides the answer: both environments, and programs."""
    answers = [each for step in call.seen[0].steps for each in step]
    told = [value for each in answers for name, value in each.values.items() if name != "MASTER_PORT"]
    if called := next((each.program for each in answers if each.program), ""):
        return words("program-called", program=called)
    found = {"reads-os-environ": not DECOY.isdisjoint(told), "environ-changed": any(each.changed for each in answers)}
    found["os-environ-written"] = any(each.written for each in answers)
    return next((words(key) for key, made in found.items() if made), None)


def needs_step(call):
    error = call.seen[0].stepless
    does = f"raises {error}" if error else "returns something"
    return None if error == "ValueError" else words("step-not-needed", does=does)


def draw_step(rng, form, tasks, cyclic):
    """A step on part of a larger job. form: which kind of list its nodes have, see `draw_list`.

    The step begins on another node than the job, and the wish for tasks on each node is not what runs.
    """
    text, names = draw_list(rng, form, len(tasks))
    before = f"{rng.choice(('big', 'mem'))}{rng.randrange(10, 99)}"
    drawn = {"nodelist": text, "tasks": tasks, "cyclic": cyclic, "job": rng.randrange(1000, 10_000_000)}
    drawn |= {"job_nodelist": f"{before},{text}", "job_nodes": len(tasks) + 1, "names": names}
    drawn |= {"step": form % 2 * rng.randrange(1, 9)}
    return drawn | {"wish": None if form in (0, 3) else max(tasks) + 2}  # the other forms show all that lists have


def cases(rng):
    """All in one call, as starting another Python is what takes time."""
    steps = [draw_step(rng, 0, [2], False), draw_step(rng, 1, [3, 1, 1], True), draw_step(rng, 2, [1, 1], False)]
    steps += [draw_step(rng, 3, [2, 2, 1], True), draw_step(rng, 4, [1, 2, 2, 2], False)]
    steps += [draw_step(rng, form, rng.choice(([2, 3], [1, 4, 1], [2, 1, 1])), form % 2 == 0) for form in range(5)]
    # Numbers that are no ports of ours when taken as they are: below 1024, and above 32767 after many turns.
    jobs = [rng.randrange(1, 512), TURN * rng.randrange(1, 1000) + rng.randrange(33_000, 65_000)]
    return [{"size": 1, "calls": [{"steps": steps, "jobs": jobs, "salt": rng.randrange(1, 2**31)}]}]


def fits(case, arguments, seen):
    rows = [*seen.ports, *([] if seen.error else seen.elsewhere)]
    counts = [len(answers) for answers in seen.steps], {*map(len, rows)}, len(rows), len(seen.scattered)
    tasks = [sum(step["tasks"]) for step in arguments["steps"]]
    return counts == (tasks, {IN_A_ROW}, 2 if seen.error else 4, SCATTERED)


CHECK = CallCheck.of(
    "process_group_from_slurm",
    process_group_from_slurm.PROBE,
    cases,
    Criterion(
        "strings",
        0.75,
        "each task of a step gets a dict with six strings, also in the step with the number 0",
        first_of(something, strings),
        Mistakes(
            """
            step-zero-refused: Your function fails where SLURM_STEP_ID is "0": {error} That is the number of each job's
            first step.

            repetition-not-read: Your function fails where SLURM_STEP_TASKS_PER_NODE is {tasks}: {error} Slurm shortens
            equal numbers that follow each other.

            wish-not-there: Your function fails where SLURM_NTASKS_PER_NODE is not set. It is what somebody wished for,
            so it is there only where somebody has; and then other numbers may run.
            """,
            wish_not_there=wish,
            repetition_not_read=repetition,
            step_zero_refused=refuses_zero,
        ),
    ),
    Criterion(
        "environ",
        0.5,
        "`environ` alone is looked at, and nothing changes or calls anything; a ValueError is raised where "
        "SLURM_STEP_ID is missing",
        first_of(something, environments, needs_step),
    ),
    Criterion(
        "numbers",
        0.75,
        "RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE are those of the task and its node",
        first_of(something, parsed, told(*NUMBERS)),
        OTHER_NUMBERS,
        after=("strings", "environ"),
    ),
    Criterion(
        "address",
        1,
        "MASTER_ADDR is the first node of the step's list, written out",
        first_of(something, parsed, told("MASTER_ADDR")),
        OTHER_ADDRESSES,
        after=("strings", "environ"),
    ),
    Criterion(
        "port",
        1,
        "MASTER_PORT is the same for all tasks of a step, from 1024 to 32767, and another one for each of 500 jobs",
        first_of(something, ports),
        after=("strings",),
    ),
    repeats=False,
    fits=fits,
    consolidation="The launcher knows everything, and the script only translates. What belongs to the step is not what "
    "belongs to the job, and what was wished for is not what runs.",
)
