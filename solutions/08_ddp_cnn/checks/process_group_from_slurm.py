"""The check of `process_group_from_slurm`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, one_of, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.fresh_process import FreshProcess
from autograde.verdicts.judged import JudgedRun
from course.batch.srun_tasks import tasks_of

from .answers import IN_A_ROW, NAMES, answers_to, ask_all, decoyed
from .node_lists import draw_list
from .slurm_answers import answer_mistakes
from .slurm_ports import port_mistakes

PATIENCE = 20.0  # seconds that the other process may take
TURN = 65_536  # ports there are. The last jobs that Slurm counts have numbers of 1,000 times as much

finding = Findings("""
no-dict 4
Your function returns {kind}. A dict with strings is expected.

not-texts 1
The value of {name} is of type {kind}. Environment variables are strings.

names-missing 2
The dict has no {names}. torch.distributed, or whoever chooses the GPU, will look for it.

environ-changed 1
After the call, `environ` is not what it was before. Whoever called your function still needs it.

os-environ-written 1
Your function writes to `os.environ`. It is asked for what it returns only: its caller decides what becomes of that.

program-called 1
Your function calls the program {program}. Everything it needs is in `environ`, and not every node has that program.

step-not-needed 1
Without SLURM_STEP_ID, your function {does}. Then it is called in the batch script, which has SLURM_PROCID 0 and all of
SLURM_NTASKS: it would wait for ranks that nobody has started. A ValueError is expected.

fails-elsewhere 2
In a Python that was started by itself, your function fails: {error}
""")


class ProcessGroupFromSlurm(RankCheck, JudgedRun):
    """All tasks of several steps, each asked in two Pythons, with other values in `os.environ`."""

    todo, points, deadline = "process_group_from_slurm", 4, 30.0
    consolidation = (
        "The launcher knows everything, and the script only translates. What belongs to the step is not what belongs "
        "to the job, and what was wished for is not what runs."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """One case, in which two Pythons go through all steps: starting them is what takes time."""
        plain = [draw_step(rng, 0, [2], False), draw_step(rng, 1, [3, 1, 1], True), draw_step(rng, 2, [1, 1], False)]
        steps = [*plain, draw_step(rng, 3, [2, 2, 1], True), draw_step(rng, 4, [1, 2, 2, 2], False)]
        ### BEGIN HIDDEN CASES
        steps += [draw_step(rng, form, rng.choice(([2, 3], [1, 4, 1], [2, 1, 1])), form % 2 == 0) for form in range(5)]
        ### END HIDDEN CASES
        # Numbers that are no ports of ours when taken as they are: below 1024, and above 32767 after many turns.
        jobs = [rng.randrange(1, 512), TURN * rng.randrange(1, 1000) + rng.randrange(33_000, 65_000)]
        return [{"steps": steps, "jobs": jobs, "salt": rng.randrange(1, 2**31)}]

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """All answers here, where errors of the cell show as they are, and all in another Python."""
        function = subject.load()
        with decoyed(), suppress(KeyError, OSError):  # what Slurm need not set, and programs: told below
            function(tasks_of("login", [1], names=["login"], step=1)[0])
        with FreshProcess(ask_all, subject, case, salt=case["salt"]) as process:
            own = answers_to(function, case)
            return own | {"other": process.answer(PATIENCE)}

    def shape(self, case: dict) -> dict:
        """The answers to all tasks, ports of many jobs, and what comes without a step."""
        answer = record(
            values=record(**{name: optional(string()) for name in NAMES}),
            kinds=record(**{name: string() for name in NAMES}),
            kind=string(),
            error=string(),
            changed=boolean(),
            written=boolean(),
            program=string(),
        )
        steps = {"type": "array", "minItems": len(case["steps"]), "maxItems": len(case["steps"])}
        steps["items"] = [array(answer, sum(step["tasks"])) for step in case["steps"]]
        ports = array(array(optional(string()), IN_A_ROW), len(case["jobs"]))
        other = one_of(
            record(result=optional(record(steps=steps, ports=ports)), error=optional(string())), "result", "error"
        )
        return record(steps=steps, ports=ports, stepless=string(), other=other)

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """The form of all answers; then each variable of each task, and the ports."""
        [seen] = results
        failed, other = seen["other"]["error"], seen["other"]["result"]
        runs = [seen] if failed else [seen, other]
        everything = [answer for run in runs for step in run["steps"] for answer in step]
        found = [finding("fails-elsewhere", error=failed[:300])] if failed else []
        found += form_mistakes(everything)
        if seen["stepless"] != "ValueError":
            does = f"raises {seen['stepless']}" if seen["stepless"] else "returns something"
            found.append(finding("step-not-needed", does=does))
        if any(each.key == "no-dict" for each in found):
            return found
        there = [name for name in NAMES if name not in missing_among(everything)]
        answers = answer_mistakes(case["steps"], runs, there)
        if "MASTER_PORT" not in there or any(getattr(each, "key", "") == "step-zero-refused" for each in answers):
            return [*found, *answers]
        return [*found, *answers, *port_mistakes(runs, case["jobs"])]


def form_mistakes(answers: list[dict]) -> list[Finding]:
    """What is wrong with the form of the answers, and with what was done besides."""
    found: list[Finding] = []
    whole = [answer for answer in answers if not answer["error"]]
    if kinds := [answer["kind"] for answer in whole if answer["kind"] != "dict"]:
        return [finding("no-dict", kind=kinds[0])]
    if missing := missing_among(answers):
        found.append(finding("names-missing", names=" and no ".join(missing)))
    wrong = [(name, kind) for answer in whole for name, kind in answer["kinds"].items() if kind not in ("", "str")]
    if wrong:
        found.append(finding("not-texts", name=wrong[0][0], kind=wrong[0][1]))
    for key, name in (("environ-changed", "changed"), ("os-environ-written", "written")):
        if any(answer[name] for answer in answers):
            found.append(finding(key))
    if programs := [answer["program"] for answer in answers if answer["program"]]:
        found.append(finding("program-called", program=programs[0][:40]))
    return found


def missing_among(answers: list[dict]) -> list[str]:
    """The names that are not in each answer."""
    return [name for name in NAMES if any(answer["kinds"][name] == "" and not answer["error"] for answer in answers)]


def draw_step(rng: random.Random, form: int, tasks: list[int], cyclic: bool) -> dict:
    """A step on part of a larger job. form: which kind of list its nodes have, see `draw_list`.

    The step begins on another node than the job, and the wish for tasks on each node is not what runs.
    """
    text, names = draw_list(rng, form, len(tasks))
    before = f"{rng.choice(('big', 'mem'))}{rng.randrange(10, 99)}"
    given = {"nodelist": text, "tasks": tasks, "cyclic": cyclic, "job": rng.randrange(1000, 10_000_000)}
    given |= {"job_nodelist": f"{before},{text}", "job_nodes": len(tasks) + 1, "names": names}
    given |= {"step": form % 2 * rng.randrange(1, 9)}
    given |= {"wish": None if form in (0, 3) else max(tasks) + 2}  # the other forms show all that lists have
    return given


CHECK = ProcessGroupFromSlurm()
