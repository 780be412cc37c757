"""The check of `images_per_second`."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from typing import Any

from autograde.contract.calls import described, meet, nothing_starts_or_ends
from autograde.contract.findings import Findings
from autograde.contract.gpu import ON_GPU
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, described_value, integer, number, record, string
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.verdicts.collectives import deadlock, left_running
from autograde.verdicts.judged import JudgedRun, Run, run_of
from autograde.verdicts.numbers import on_all
from course.world.report import name_ranks

from .clocks import APART, own_clock
from .common import in_group_or_alone
from .held_up import held_up, left_at
from .slow_device import SlowDevice, machine
from .timed_ranks import TOLERANCE, TimedRanks

UNIT, SLOW, FIRST = 0.01, 2.5, 6.0  # seconds of a step; how many times slower one rank, and the first step, are
HELD_UP, TRIES = 0.004, 5  # seconds of doing nothing beside its clock, after which ranks are asked again; how often
WIDEST = 0.4  # the tolerance where they were held up each time

finding = Findings("""
group-needed 1.5
Without a process group your function fails: {error}

steps-not-made 2
On {who} there are {actual} steps; expected are {warmup} for the warm-up and {steps} that count.

no-warm-up 1.5
There are {actual} steps, and all of them count: the first one takes {first:g} times longer here, as the first steps of
a training do. `warmup` = {warmup} of them come before.

clock-before-device 2
On {who} nothing waits for the device after the last step. `step()` has returned, and the device is still working: the
clock stops too early.

warm-up-still-running 1.5
On {who} nothing waits for the device between the warm-up and the steps that count: they begin while it still works on
the warm-up, and the clock runs.

communicates-between-steps 1.5
Between the steps that count, the ranks call {op}. Then each step waits for the slowest rank, and the call itself takes
time, too. That is measured, and it is not the training.

waits-between-steps 0.5
On {who} your function waits for the device between the steps that count. Each wait takes time, and the device has
nothing to do until the next step begins. When is one wait enough?

clock-before-the-others 2
The result is {actual:.5g}: the clock of a rank begins when it is ready itself, and it still has to wait for the last
one. Where does the clock begin, and where do the ranks meet? {expected:.5g} is expected.

clocks-compared 2
The result is {actual:.5g}, from the clock of one rank minus that of another. Ranks on two nodes have clocks that begin
at any time, here an hour apart. Subtract what one clock shows; {expected:.5g} is expected.

waiting-not-counted 2
The result is {actual:.5g}, many times as much as expected, which is {expected:.5g}. Does your clock go on while the
processor has nothing to do? That of `process_time` does not.

not-together 1.5
The ranks do not begin the steps that count together: {who} begins {seconds:.0f} ms before the last one. When is the
warm-up over on all ranks?

rates-differ 1
The ranks return {values}: nearly the same, and yet each has its own. One number is expected, from the time of the
slowest rank.

own-clock-times-ranks 2
Each rank returns a rate of its own, from its own clock: {values}. The images of all ranks are done when the slowest one
is: {expected:.5g}.

sum-of-rates 2
The result is {actual:.5g}, the sum of the ranks' own rates. In training the others wait for the slowest rank:
counted until it is done, all ranks together make {expected:.5g} images a second.

mean-of-times 2
The result is {actual:.5g}, from the mean of the ranks' times. The steps are done when the slowest rank is:
{expected:.5g} is expected.

fastest-rank 2
The result is {actual:.5g}, from the time of the fastest rank. The steps are done when the slowest one is:
{expected:.5g} is expected.

one-ranks-images 2
The result is {actual:.5g}: the images of one rank. All {size} ranks together make {expected:.5g} a second.

one-steps-images 2
The result is {actual:.5g}: the images of one step, over the time of all. {expected:.5g} is expected.

warm-up-timed 2
The result is {actual:.5g}: the time of the warm-up is in it. Without it, {expected:.5g} images are done in a second.

seconds-returned 2
The result is {actual:.5g}, a time. Images a second are expected: {expected:.5g}.
""")


class ImagesPerSecond(RankCheck, JudgedRun):
    """Devices that go on working after a step has returned, one of them slower, alone and on several ranks."""

    todo, points, deadline = "images_per_second", 3, 20.0
    consolidation = (
        "A rate is about what is done, so the clock begins when all are ready and stops when the slowest is done. "
        "Whatever you do between two steps, you measure."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Alone, and on four ranks; then other sizes. All steps go on after they have returned, but for a case."""

        def case(size: int, alone: bool = False, on_its_own: bool = True) -> dict:
            given = {"size": size, "alone": alone, "on_its_own": on_its_own, "images": rng.randrange(16, 99)}
            # With seven in all, the defaults' five would look like those that count.
            warmup, steps = rng.choice([(2, 4), (2, 6), (3, 5), (3, 6)])
            return given | {"warmup": warmup, "steps": steps, "slow": rng.randrange(size)}

        cases = [case(4), case(1, alone=True), case(3, on_its_own=False)]
        ### BEGIN HIDDEN CASES
        cases += [case(2)]
        ### END HIDDEN CASES
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """A few steps on two ranks."""
        given = {"size": 2, "alone": False, "on_its_own": True, "images": 8, "warmup": 1, "steps": 2, "slow": 0}
        return given

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The call, on the ranks of the case; again where a rank was held up beside its clock, as on a busy machine."""
        for _ in range(TRIES):
            evidence = in_group_or_alone(world, case, self.deadline, type(self).run, subject)
            if evidence["state"] != "ok" or held_up(case, evidence["ranks"]) < HELD_UP:
                break
        return evidence

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """One call of the student's function: what it returns, and when steps and waits were."""
        device = SlowDevice(UNIT * (SLOW if rank.rank == case["slow"] else 1), FIRST, case["on_its_own"])
        tried: list[str] = []
        with own_clock(subject.filename, APART * rank.rank):
            function = subject.load()
        meet(rank.comm)
        met = time.monotonic()
        given = (device.step, device.wait, case["images"], rank.torch_device, case["warmup"], case["steps"])
        with nothing_starts_or_ends(tried), own_clock(subject.filename, APART * rank.rank):
            value = function(*given)
        returned = time.monotonic() - met
        notes = [[what, began - met, ended - met] for what, began, ended in device.notes]
        times = {"notes": notes, "returned": returned, "met": met, "machine": machine()}
        return {"value": described(value), "tried": tried} | times

    def shape(self, case: dict) -> dict:
        """The value, and the notes of the device."""
        note = {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "items": [{"enum": ["step", "wait"]}, number(), number()],
        }
        times = {"notes": array(note, most=1000), "returned": number(), "met": number(), "machine": integer(0)}
        return record(value=described_value(), tried=array(string()), **times)

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What an error or a deadlock means."""
        if run.state == "raised" and case["alone"] and "process group" in run.detail:
            return [finding("group-needed", error=run.detail)]
        return deadlock([calls[-1] for calls in run.events], run.report) if run.state == "hang" else []

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """Besides what `judge` finds: what was communicated between the steps."""
        held = held_up(case, evidence["ranks"]) if evidence["state"] == "ok" else 0.0
        found = super().verdict(case | {"held_up": held if held > HELD_UP else 0.0}, evidence)
        unknown = "steps-not-made" in {each.key for each in settle([found])}  # which steps count
        if case.get(ON_GPU) or evidence["state"] != "ok" or unknown:
            return found
        timed = TimedRanks(case, [rank["result"] for rank in evidence["ranks"]])
        met = [left_at(rank) for rank in evidence["ranks"]]
        between = timed.between([calls[-1] for calls in run_of(evidence).events], met, max(held, HELD_UP))
        return [*found, finding("communicates-between-steps", op=between)] if between else found

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """Which steps there were, and when; then the number."""
        timed, found = TimedRanks(case, results), left_running([each["tried"] for each in results])
        counts = [len(own) for own in timed.steps]
        about = {"warmup": case["warmup"], "steps": case["steps"], "first": FIRST}
        if case["on_its_own"] and all(counts) and (missing := without(timed.waited_after)):
            found.append(finding("clock-before-device", who=name_ranks(missing)))
        if not timed.warmup:
            found.append(finding("no-warm-up", actual=counts[0], **about))
        elif wrong := [rank for rank, count in enumerate(counts) if count != case["warmup"] + case["steps"]]:
            who = name_ranks(wrong[:1])
            return [*found, finding("steps-not-made", who=who, actual=counts[wrong[0]], **about)]
        if case["on_its_own"]:
            if timed.warmup and (missing := without(timed.waited_between)):
                found.append(finding("warm-up-still-running", who=name_ranks(missing)))
            if not all(timed.waited_after):
                return found  # what a clock shows that stops too early follows from too few milliseconds
        if missing := [rank for rank, own in enumerate(timed.waited_within) if own]:
            found.append(finding("waits-between-steps", who=name_ranks(missing)))
        values = [each["value"] for each in results]
        tolerance = min(WIDEST, TOLERANCE + 2 * case["held_up"] / min(timed.seconds()))
        judged = on_all(values, timed.rate(), timed.mistakes(numbers_in(values)), finding_of, tolerance=tolerance)
        explained = {each.key for each in settle([judged])} & {"warm-up-timed", "clock-before-the-others"}
        if (apart := timed.apart(case["held_up"])) and not explained:
            found.append(finding("not-together", who=name_ranks([apart[0]]), seconds=1000 * apart[1]))
        numbers = [each["value"] for each in values]
        if not settle([found, judged]) and len({*numbers}) > 1:
            found.append(finding("rates-differ", values=", ".join(f"{each:.6g}" for each in numbers)))
        return [*found, *judged]


def numbers_in(values: Sequence[dict]) -> list[float]:
    """What the ranks returned; nothing, where one of them returned no number."""
    numbers = [each["value"] for each in values]
    return [] if None in numbers else numbers


def without(waits: Sequence[list]) -> list[int]:
    """The ranks that have none of these waits."""
    return [rank for rank, own in enumerate(waits) if not own]


def finding_of(key: str, **seen: Any) -> Finding:
    """The finding of a key, with what `on_all` has seen."""
    return finding(key, **seen)


CHECK = ImagesPerSecond()
