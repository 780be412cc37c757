"""The check of `broadcast_state`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, numbers, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import named
from autograde.verdicts.judged import Call, JudgedCalls, Run
from course.world.report import name_ranks

from .stateful_module import ALL, FROZEN, SAVED, UNSAVED, StatefulModule, numbers_by_name

finding = Findings("""
nothing-broadcast 2
After the call, each rank still has its own numbers, and nobody has communicated.

broadcast-not-waited-for 2
On {who}, nothing waits for the broadcast that line {line} starts. When do you know that rank 0's numbers are there?

broadcasts-in-other-order 2
The ranks' broadcasts do not belong together: as number {n}, rank {one} sends {first} bytes, and rank {other} {second}.
The n-th broadcast of a rank meets the n-th one of the others, whatever is in it. In which order are your tensors? (A
`set` of them has another order in each process.)

copies-broadcast 2
The ranks make {calls} broadcasts, and yet each still has its own numbers in the module. Were these the module's own
tensors, or copies?

buffers-left 1
After the call, the buffers of {who} still are its own: {names}. They belong to what a model computes with, too.

unsaved-buffers-left 1
After the call, {names} of {who} is its own: a buffer that is not saved in the state dict. The module has it, and
computes with it.

frozen-left 1
After the call, frozen parameters of {who} still are its own: {names}. Nobody trains them, so the ranks never get equal
there.

averaged 1.5
After the call, all ranks have the average of their numbers. Rank 0's are expected.

of-another-rank 1
After the call, all ranks have the numbers of rank {root}. Rank 0's are expected.

through-float32 1
After the call, {names} of all ranks is what rank 0 had, rounded to float32. In which type does each tensor travel?

own-numbers-left 1.5
After the call, {names} of {who} is not what rank 0 has.

root-changed 1.5
After the call, {names} of rank 0 is not what it was before. Rank 0's numbers are to stay.

other-tensors 1
After the call, {names} of {who} is another tensor than before, or is stored elsewhere. Whoever holds the old one, as an
optimizer does, goes on with old numbers.

requires-grad-changed 1
After the call, `requires_grad` of {names} is not what it was before, on {who}.

tensor-sent-twice 0.5
The ranks make {calls} broadcasts for {count} tensors. A parameter that is used in two places is one tensor.

not-one-for-each 1
The ranks call {ops}, {calls} times in all. Expected are broadcasts only, one for each of the {count} tensors.
""")

MOST = 3  # names that a finding tells


class BroadcastState(CallCheck, JudgedCalls):
    """A module whose tensors are of all kinds, on ranks that begin with other numbers."""

    todo, points, needs = "broadcast_state", 2, "torch"
    consolidation = (
        "Averaged gradients keep equal what is equal, so all of a model has to be equal first: what is trained, what "
        "is frozen, and what is only counted."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Two calls on four ranks; then other sizes."""

        def case(size: int, calls: int) -> dict:
            return {"size": size, "calls": [{"seed": rng.getrandbits(30)} for _ in range(calls)]}

        cases = [case(4, 2), case(2, 1)]
        ### BEGIN HIDDEN CASES
        cases += [case(3, 1)]
        ### END HIDDEN CASES
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """One call on two ranks."""
        return {"size": 2, "calls": [{"seed": rng.getrandbits(30)}]}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The numbers after the call, and what has become of the tensors themselves."""
        module = StatefulModule(call["seed"] + rank.rank, rank.torch_device)
        before = module.tensors()
        places = {name: tensor.data_ptr() for name, tensor in before.items()}
        flags = {name: tensor.requires_grad for name, tensor in before.items()}
        function(module)
        after = module.tensors()
        others = [name for name in after if after[name] is not before.get(name)]
        others += [name for name in after if name not in others and after[name].data_ptr() != places[name]]
        turned = [name for name in after if name in flags and after[name].requires_grad != flags[name]]
        known = numbers_by_name(module)
        return {"numbers": {name: known.get(name, []) for name in ALL}, "others": others, "turned": turned}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Numbers by name, and names."""
        names = array(string())
        return {"numbers": record(**{name: numbers() for name in ALL}), "others": names, "turned": names}

    def unfinished(self, case: dict, run: Run) -> list[Finding]:
        """Broadcasts that do not belong together."""
        return other_order(run.of_call(run.reached), run.report)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The numbers; then how they came there."""
        for rank, log in enumerate(call.events):
            if left := [event for event in log if event["end"] is None]:
                return [finding("broadcast-not-waited-for", who=name_ranks([rank]), line=left[0]["line"])]
        if found := other_order(call.events):
            return found
        states = [numbers_by_name(StatefulModule(call.plan["seed"] + rank)) for rank in range(call.size)]
        calls = [len(log) for log in call.events]
        found = wrong_numbers(states, call.of("numbers"), max(calls))
        for rank, each in enumerate(call.shown):
            for key, names in (("other-tensors", each["others"]), ("requires-grad-changed", each["turned"])):
                if names:
                    found.append(finding(key, names=in_words(names), who=name_ranks([rank])))
        events = [event for log in call.events for event in log]
        if not events or (found and found[0].key == "copies-broadcast"):
            return found
        about = {"ops": named(events), "calls": max(calls), "count": len(ALL)}
        if any(event["kind"] != "broadcast" or "object" in event["op"] for event in events):
            found.append(finding("not-one-for-each", **about))
        elif max(calls) == len(ALL) + 1:
            found.append(finding("tensor-sent-twice", **about))
        elif max(calls) > len(ALL) or (max(calls) < len(ALL) and not found):
            found.append(finding("not-one-for-each", **about))
        return found


def other_order(logs: Sequence[Sequence[dict]], report: str = "") -> list[Finding]:
    """A finding if two ranks' n-th calls are broadcasts of different sizes. logs: events by rank."""
    for other, log in enumerate(logs[1:], 1):
        for place, (one, two) in enumerate(zip(logs[0], log, strict=False)):
            both = one["kind"] == two["kind"] == "broadcast" and "object" not in one["op"] + two["op"]
            first, second = (each["bytes"] if each["room"] is None else each["room"] for each in (one, two))
            if both and first != second:
                about = {"n": place, "one": 0, "other": other, "first": first, "second": second}
                return [finding("broadcasts-in-other-order", report, **about)]
    return []


def wrong_numbers(states: Sequence[dict], actual: Sequence[dict], calls: int) -> list[Finding]:
    """A finding if the ranks do not have rank 0's numbers. states: of each rank beforehand; actual: afterwards."""
    right, found = states[0], []
    if changed := [name for name in ALL if actual[0][name] != right[name]]:
        size = len(states)
        means = {name: [sum(each) / size for each in zip(*(own[name] for own in states), strict=True)] for name in ALL}
        roots = [root for root in range(1, size) if all(own["weight"] == states[root]["weight"] for own in actual)]
        if roots:
            right, found = states[roots[0]], [finding("of-another-rank", root=roots[0])]
        elif all(near(own["weight"], means["weight"]) for own in actual):
            return [finding("averaged")]
        rounded = {name: torch.tensor(right[name], dtype=torch.float32).tolist() for name in ALL}
        if not roots:
            key = "through-float32" if all(own == rounded for own in actual) else "root-changed"
            return [finding(key, names=in_words(changed))]
    for rank, own in enumerate(actual):
        wrong = {name for name in ALL if own[name] != right[name]}
        about = {"who": name_ranks([rank]), "names": in_words([name for name in ALL if name in wrong]), "calls": calls}
        if wrong == {*ALL}:
            return [*found, finding("copies-broadcast" if calls else "nothing-broadcast", **about)]
        keys = {"unsaved-buffers-left": {*UNSAVED}, "buffers-left": {*SAVED, *UNSAVED}, "frozen-left": {*FROZEN}}
        if wrong:
            left = [finding(key, **about) for key, names in keys.items() if wrong == names]
            both = wrong == {*FROZEN, *SAVED, *UNSAVED}
            left += [finding(key, **about) for key in ("frozen-left", "buffers-left") if both]
            return [*found, *(left or [finding("own-numbers-left", **about)])]
    return found


def near(actual: Sequence[float | None], expected: Sequence[float]) -> bool:
    """Whether numbers agree, as float32 has them."""
    return len(actual) == len(expected) and all(
        one is not None and abs(one - other) <= 1e-5 * (1 + abs(other))
        for one, other in zip(actual, expected, strict=True)
    )


def in_words(names: Sequence[str]) -> str:
    """Some names."""
    return ", ".join(f"`{name[:40]}`" for name in names[:MOST]) + (", ..." if len(names) > MOST else "")


CHECK = BroadcastState()
