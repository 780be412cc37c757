"""Verdicts on the calls of `train` in lab 11, beside the undisturbed training."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding, hiding, settle
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.one_process import finding as of_one_process
from autograde.verdicts.resumed import finding as of_training
from autograde.verdicts.resumed import wrong_losses

from .history import Due, History, same_row, same_rows

finding = Findings("""
epoch-begun-anew 2.5
A checkpoint with the place {start} is there, and the training begins its epoch anew: what was done is done twice.

skipped-not-dealt 2
From the place {start} on, the sampler deals out the whole epoch, and batches are skipped then. With another number of
ranks, these are not the samples that are done.

next-epoch-cut 2.5
The epoch after the resumed one begins at {actual}, so part of it is left out.

one-epoch-only 2.5
Only the first epoch of a call has samples: the passes begin at {actual}, where {expected} are expected. Where does the
next epoch begin, and what does `consumed` say then?

other-places 5
The passes of {call} begin at {actual} (epoch, consumed); expected are {expected}.

asked-before-the-step 1.5
`agreed()` is asked before each step, so that the step of the signal is not the last one: {actual} steps are done when
it is asked.

asked-only-when-saving 2
`agreed()` is asked after {actual} steps alone, when a checkpoint is due anyway. A signal leaves little time.

not-asked 2
`agreed()` is never asked, so a signal changes nothing.

asked-otherwise 1.5
`agreed()` is asked when {actual} steps are done; expected is once after each.

goes-on-when-agreed 2.5
All ranks agree to leave after step {stop}, and the training goes on.

leaves-too-early 2
The training makes {actual} steps in a call; expected are {expected}.

forward-without-step 2
The model is run {forwards} times for {steps} steps. Each pass draws random numbers for dropout, and nothing is learnt
from it.

other-samples 3
In step {step} of a call a rank trains on samples {actual}; expected are {expected}.

own-samples-counted 2.5
A checkpoint has the place {actual} after {steps} steps: `consumed` counts the samples of one rank, not of all together.

nothing-at-the-end 1.5
At the end of the training there is no checkpoint with the place {expected}. A further call would make steps again.

not-when-leaving 2
All ranks leave after step {stop}, and no checkpoint of that step is there. What has been done since the last one is
lost, though there was time.

saved-before-the-step 2
A checkpoint has the place after a step, and the weights from before it: {steps} steps are made, and its place is
{actual}. That step would never be made.

counted-in-the-epoch 1
Checkpoints come after {actual} steps of a call. `every` counts on over the end of an epoch, from the last checkpoint.

only-after-epochs 2
Checkpoints come after {actual} steps of a call, at the ends of epochs alone. `every` asks for more.

place-before-the-step 2
A checkpoint has the place {actual}, which is that before a step, and the weights from after it: {steps} steps are made.
That step would be made twice.

grad-at-the-call 2
What was in `.grad` when `train` was called is part of the first step's gradient. When does your code start from zero?

other-saves 2.5
In a call, checkpoints have the places {actual} (epoch, consumed, steps made); expected are {expected}.

off-the-path 3
Rank {rank}'s weights before step {step} of {call} are not those of the undisturbed training. It is about {what}.

all-ranks-losses 1
The losses are means over all ranks. This rank's own are asked for.
""")


AFTER_KILL = "the call that goes on after the kill"


def training_mistakes(case: dict, results: Sequence[Sequence[dict]]) -> list[Finding | Diagnosis]:
    """What is wrong with the calls of a case; the first that is not right tells enough."""
    most = max(epochs for epochs, _ in case["calls"])
    history = History(case, 2 * most)
    start = 0
    if case["kill"]:
        start = (case["kill"][1] - 1) // case["every"] * case["every"]
    for number, calls in enumerate(zip(*results, strict=True)):
        epochs, stop = case["calls"][number]
        end = history.upto(epochs)
        end = end if stop is None else min(end, start + stop)
        one = OneCall(case, history, start, max(start, end), epochs, stop, calls, number)
        found = [*one.mistakes()]
        if any(not isinstance(each, Diagnosis) or each.otherwise for each in found) or number + 1 == len(results[0]):
            return found
        start = max(start, end)
    return []


@dataclass(frozen=True)
class OneCall(Due):
    """One call of `train`. calls: what it did, by rank. number: of the call in its case, from 0."""

    calls: Sequence[dict]
    number: int

    def mistakes(self) -> Iterator[Finding | Diagnosis]:
        """What is wrong with it: whether it asks, where it trains, what it saves, the path, and the losses."""
        asked = [*self.asking()]
        yield from asked
        if self.stop is not None and any(each.explained for each in asked):  # it leaves elsewhere
            told = [at for at in self.calls[0]["asked"] if at >= self.stop]
            if told and self.calls[0]["steps"] > told[0]:
                yield finding("goes-on-when-agreed", stop=told[0])
            return
        steps = [*self.steps()]
        yield from steps
        if not settle([steps]):
            yield from self.saves()
        path = [] if any(each.key == "forward-without-step" for each in settle([steps])) else [*self.path()]
        yield from path
        yield from self.losses(known=not settle([steps, path]))

    def asking(self) -> Iterator[Diagnosis]:
        """Whether it asks after each step."""
        first = self.calls[0]
        steps, asked = first["steps"], first["asked"]
        made = [*range(1, steps + 1)]
        saved = sorted({save[2] for save in first["saves"]} - {0})
        candidates = {"not-asked": [], "asked-before-the-step": [*range(steps)]}
        candidates["asked-before-the-step/stopped"] = [*range(steps + 1)]
        candidates["asked-only-when-saving"] = [at for at in saved if at % self.case["every"] == 0 or at == steps]
        candidates["asked-only-when-saving/without the last"] = [at for at in saved if at % self.case["every"] == 0]
        told = ", ".join(map(str, asked[:12])) or "no"
        if steps or asked:
            about = partial(finding, actual=told)
            yield diagnose("asked", asked, made, candidates, about, "asked-otherwise", operator.eq)

    def steps(self) -> Iterator[Finding | Diagnosis]:
        """Whether the steps are those that are left."""
        first, history, start = self.calls[0], self.history, self.start
        steps, count = first["steps"], len(first["forwards"])
        if count > steps:  # so the path is another one
            yield hiding(finding("forward-without-step", forwards=count, steps=steps), *finding.some("off-the-path"))
            return
        passes = [tuple(place) for place in first["passes"] if place[1] < self.case["samples"]]
        (epoch, consumed), stop = self.place, self.stop
        expected = self.walk(epoch, consumed, self.epochs, stop)
        forwards = [[each["ids"] for each in call["forwards"]] for call in self.calls]
        due = [[step.ids[rank] for step in history.steps[start : self.end]] for rank in range(history.size)]
        anew = "epoch-begun-anew" if forwards != due else "skipped-not-dealt"
        candidates = {
            "sampler-not-told": [(-1, -1)] * len(passes) if passes else expected,
            "goes-on-when-agreed": self.walk(epoch, consumed, self.epochs, None),
            "not-resumed": self.walk(0, 0, self.epochs, stop),
            anew: self.walk(epoch, 0, self.epochs, stop),
            f"{anew}/skipped": [(epoch, 0), *expected[1:]] if expected else [],
            "next-epoch-cut": self.walk(epoch, consumed, self.epochs, stop, consumed),
            "one-epoch-only": expected[:1],
            "epochs-counted-anew": self.walk(epoch, consumed, epoch + self.epochs, stop),
        }
        about = {"start": self.place, "stop": self.stop, "actual": passes[:8], "expected": expected}
        about["call"] = AFTER_KILL if self.case["kill"] else "a call"

        def made_of(key: str) -> Finding:
            if key in of_training.known:
                seen = f"{len(passes)} passes instead of {len(expected)}"
                what = "where a pass begins, nor in which epoch"
                return of_training(key, place=str(self.place), until=self.epochs, seen=seen, what=what)
            extra = {"actual": passes[1]} if key == "next-epoch-cut" and len(passes) > 1 else {}
            found = finding(key, **{**about, **extra})
            return hiding(found, *finding.some("off-the-path")) if key == "epoch-begun-anew" else found

        places = diagnose("places", passes, expected, candidates, made_of, "other-places", operator.eq)
        if self.case["kill"] and places.otherwise:
            saved = [pair for pair in self.saved_wrongly() if passes == self.walk(*pair[1], self.epochs, stop)]
            explained = tuple(finding(key, actual=place, steps=self.start) for key, place in saved)
            places = replace(places, explained=(*explained, *places.explained)) if explained else places
            yield self.after_kill(places) if explained or not places.explained else places
        else:
            yield places
        if passes != expected:
            return
        if steps > self.end - start and self.stop is not None:
            yield finding("goes-on-when-agreed", stop=self.stop)
        elif steps != self.end - start:
            yield finding("leaves-too-early", actual=steps, expected=self.end - start)
        else:
            pairs = [(own[at : at + 1], due[rank][at]) for rank, own in enumerate(forwards) for at in range(steps)]
            if wrong := [number for number, (own, right) in enumerate(pairs) if own != [right]]:
                own, right = pairs[wrong[0]]
                yield finding("other-samples", step=wrong[0] % steps + 1, actual=own, expected=right)

    def saved_wrongly(self) -> list[tuple[str, tuple[int, int]]]:
        """By known mistakes, the place that the killed ranks have left."""
        before = Due(self.case, self.history, 0, self.end, self.epochs, None)
        done, size = self.case["kill"][1] - 1, self.history.size
        at, ends = self.start, [at for at in range(1, done + 1) if before.place_after(at)[1] == 0]
        in_epochs = [at for at in before.counted_in_epochs(done) if at <= done]
        epoch, consumed = before.place_after(at)
        return [
            ("counted-in-the-epoch", before.place_after(in_epochs[-1]) if in_epochs else (0, 0)),
            ("only-after-epochs", before.place_after(ends[-1]) if ends else (0, 0)),
            ("place-before-the-step", before.place_after(at - 1)),
            ("own-samples-counted", (epoch, consumed // size)),
        ]

    def after_kill(self, found: Diagnosis) -> Diagnosis:
        """What is found in a call that goes on from what another one has saved: that may explain it."""
        return replace(found, subject="saves", ruled_out=frozenset()) if self.case["kill"] else found

    def saves(self) -> Iterator[Finding | Diagnosis]:
        """Whether checkpoints come when they should, and say where."""
        history, start, count, every = self.history, self.start, self.end - self.start, self.case["every"]
        if not count:
            return
        actual = self.plain_saves(self.calls[0]["saves"])

        def after(*steps: int) -> list[tuple]:
            return [(*self.place_after(at), at) for at in sorted({*steps})]

        regular, done = [*range(every, count + 1, every)], self.stop is None
        expected = after(*regular, count)
        ends = [at for at in range(1, count + 1) if self.place_after(at)[1] == 0]
        each = [sum(map(len, step.ids)) for step in history.steps[start : self.end]]
        own, consumed = [], self.place[1]
        for at in range(1, count + 1):
            consumed = consumed + each[at - 1] // history.size
            if at in regular or at == count:
                epoch = history.steps[start + at - 1].place[0]
                here, ended = (*history.plain((epoch, consumed)), at), at == count and done
                own += [here] * (at in regular or not ended) + [expected[-1]] * (ended and here != expected[-1])
            if at in ends:
                consumed = 0
        candidates = {
            "nothing-at-the-end": after(*regular) if done else expected,
            "not-when-leaving": expected if done else after(*regular),
            "own-samples-counted": own,
            "place-before-the-step": [(*self.place_after(at - 1), at) for *_, at in expected],
            "place-before-the-step/but the last": [
                (*self.place_after(at - 1), at) if at < count or not done else (e, c, at) for e, c, at in expected
            ],
            "place-before-the-step/and at the end": [(*self.place_after(at - 1), at) for at in regular] + expected[-1:],
            "saved-before-the-step": [(e, c, at - 1) for e, c, at in expected],
            "saved-before-the-step/but the last": [(e, c, at - (at < count or not done)) for e, c, at in expected],
            "saved-before-the-step/regular": [(e, c, at - (at in regular)) for e, c, at in expected],
            "saved-before-the-step/and at the end": [(e, c, at - 1) for e, c, at in after(*regular)] + expected[-1:],
            "counted-in-the-epoch": after(*self.counted_in_epochs(count), count),
            "only-after-epochs": after(*ends, count),
        }
        wrong = [save for save in actual if save not in expected] or actual[:1] or [(0, 0, 0)]
        whens = ", ".join(str(save[2]) for save in actual[:12])
        about = {"stop": self.stop, "steps": wrong[0][2], "actual": actual[:8], "expected": expected}

        def made(key: str) -> Finding:
            by_key = {"own-samples-counted": wrong[0][:2], "saved-before-the-step": wrong[0][:2]}
            by_key["place-before-the-step"] = wrong[0][:2]
            by_key |= {"counted-in-the-epoch": whens, "only-after-epochs": whens}
            last = {"expected": expected[-1][:2]} if key == "nothing-at-the-end" else {}
            return finding(key, **{**about, **last, "actual": by_key.get(key, actual[:8])})

        yield diagnose("saves", actual, expected, candidates, made, "other-saves", operator.eq)

    def path(self) -> Iterator[Diagnosis]:
        """Whether the weights are those of the undisturbed training, whatever the samples are."""
        drawn = [[each["ids"] for each in call["forwards"]] for call in self.calls]
        expected = self.path_of(drawn)
        actual = [[each["weights"] for each in call["forwards"][: len(expected[0])]] for call in self.calls]
        candidates = {}
        if self.number == 0:
            for key, how in {"gradient-carried-over": "zeroed", "own-gradient-only": "mean"}.items():
                candidates[key] = self.path_of(drawn, **{how: False})
        candidates["grad-at-the-call"] = self.path_of(drawn, lies=True)
        places = [(at, rank) for rank, own in enumerate(actual) for at in range(len(own))]
        wrong = [(at, rank) for at, rank in sorted(places) if not same_row(actual[rank][at], expected[rank][at])]
        at, rank = wrong[0] if wrong else (0, 0)
        what = "the first step after a resume" if (self.start or self.case["begin"]) and not at else "what came before"

        def told(key: str) -> Finding:
            if key in of_one_process.known:
                return of_one_process(key, size=self.history.size)
            call = AFTER_KILL if self.case["kill"] else "a call"
            return finding(key, rank=rank, step=at + 1, what=what, call=call)

        yield self.after_kill(diagnose("path", actual, expected, candidates, told, "off-the-path", same_rows))

    def losses(self, known: bool) -> Iterator[Finding | Diagnosis]:
        """Whether each rank returns its own losses. known: whether it is known which these are."""
        kinds = [call["kind"] for call in self.calls]
        if any(call["losses"] is None for call in self.calls):
            yield of_training("no-losses", kind=next(kind for kind in kinds if kind not in ("list", "tuple")))
            return
        if types := sorted({each["type"] for call in self.calls for each in call["losses"] if not each["float"]}):
            yield of_training("not-floats", kind=types[0])
        if not known:
            return
        actual = [[each["value"] for each in call["losses"]] for call in self.calls]
        steps, size = self.history.steps[self.start : self.end], self.history.size
        expected = [[step.loss[rank] for step in steps] for rank in range(size)]
        last = [step for step in steps if step.place[0] == steps[-1].place[0]]
        candidates = {
            "last-epoch-only": [[step.loss[rank] for step in last] for rank in range(size)],
            "all-ranks-losses": [[sum(step.loss) / size for step in steps]] * size,
        }

        def told(key: str) -> Finding:
            return of_training(key) if key in of_training.known else finding(key)

        pairs = zip(actual, expected, strict=True)
        otherwise = wrong_losses(*next((pair for pair in pairs if not same_rows(*pair)), (actual[0], expected[0])))
        yield diagnose("losses", actual, expected, candidates, told, otherwise, same_rows)
