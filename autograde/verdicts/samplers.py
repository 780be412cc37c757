"""Verdicts on samplers beside their orders: types, lengths, random generators, and the same order in another process.

Passes are plain data, as `autograde.probes.sampler_passes` gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograde.contract.findings import Findings
from autograde.contract.schema import array, integer, one_of, optional, record, string
from autograde.contract.verdict import Finding
from autograde.probes.sampler_passes import generators_after
from autograde.verdicts.numbers import agree

finding = Findings("""
not-ints 1
Some samples are of type {kinds}; expected are `int`s. Other code may look them up in a dictionary, or write them to a
file.

length-of-the-whole-set 1
`len` of a rank's sampler is {length}, and the sampler yields {n} samples. That is the length of the whole data set. A
`DataLoader` works out its number of batches from it.

wrong-length 1
`len` of a rank's sampler is {length}, but the sampler yields {n} samples.

not-a-sampler 0.5
`{name}` is not derived from torch.utils.data.Sampler.

disturbs-generators 1.5
Using the sampler changes the state of the global random generator of {which}. Dropout and augmentation draw from it:
they would draw other numbers than without the sampler, and where it is seeded, the same on all ranks in each epoch.

another-process-differs 2
With the same seed and place, a process that starts later draws another order. A run that is resumed there would not get
the batches of its epoch. What in your code differs from process to process?

another-process-fails 2
The same cell fails when it runs in another process: {error}
""")


def listed_value() -> dict:
    """The schema of a list of ids as `listed` gives it."""
    return record(type=string(), ids=array(optional(integer())), kinds=array(string()))


def other_process(passes: int, size: int) -> dict:
    """The schema of the ids of each rank's passes in another process, or of what was wrong there."""
    ids = array(array(array(optional(integer())), passes), size)
    return one_of(record(result=optional(ids), error=optional(string())), "result", "error")


def not_ints(entries: Iterable[dict]) -> list[Finding]:
    """A finding if lists, as `listed` gives them, hold what is no int."""
    kinds = sorted({kind for entry in entries for kind in entry["kinds"]})
    return [finding("not-ints", kinds=" and ".join(kinds[:3]))] if kinds else []


def wrong_lengths(entries: Iterable[tuple[int, dict]]) -> list[Finding]:
    """A finding if `len` is not how many samples came. entries: samples of the data set, and the pass as plain data."""
    for samples, entry in entries:
        length, n = entry["length"], len(entry["ids"])
        if length != n:
            return [finding("length-of-the-whole-set" if length == samples else "wrong-length", length=length, n=n)]
    return []


def elsewhere(other: dict | None, here: list) -> list[Finding]:
    """What is wrong with what another process draws. here: what the ranks drew, by rank and pass."""
    if other is None or other["error"] is not None:
        return [finding("another-process-fails", error=other["error"] if other else "it gave no answer")]
    return [] if other["result"] == here else [finding("another-process-differs")]


def disturbed(lucks: Sequence[int], drawn: Sequence[Sequence[float]]) -> list[Finding]:
    """A finding if global generators have moved. lucks: seed of each rank. drawn: what came next, as `next_numbers`."""
    for luck, numbers in zip(lucks, drawn, strict=False):
        pairs = zip(generators_after(luck).items(), numbers, strict=True)
        if moved := [name for (name, value), actual in pairs if not agree(actual, value)]:
            return [finding("disturbs-generators", which=" and ".join(moved))]
    return []
