"""Tells a submission that took too much memory from a machine that had too little: that is no student's fault.

What a submission may take, its supervisor measures. If Linux kills a process all the same, the machine, or the
container or job that the grader is in, has less than `Limits.memory` for each submission that is examined at once.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping

from autograde.sandbox.resources.limits import Limits
from course.processes.surroundings import machine


def was_killed(evidence: object) -> bool:
    """Whether a rank was killed in a run that this evidence tells of."""
    if isinstance(evidence, dict) and "state" in evidence:  # an outcome; do not look into the student's data in it
        ranks = evidence.get("ranks")
        ranks = ranks if isinstance(ranks, list) else []
        return any(isinstance(rank, dict) and rank.get("code") == -signal.SIGKILL for rank in ranks)
    values = evidence.values() if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else ()
    return any(was_killed(value) for value in values)


def why_ungraded(before: Mapping[str, int], limits: Limits) -> str:
    """What to say of a submission of which a process was killed, if memory ran out meanwhile; empty if it did not.

    before: what `machine.out_of_memory` counted. The sandbox's processes are in the groups of this one.
    """
    if not (told := machine.ran_out(before)):
        return ""
    return (
        f"a process of it was killed, as {told}; one submission may take {machine.in_words(limits.memory)}. Grade it "
        "again with `--force --jobs 1` where that much is left, or set `c.Judge.limits` in nbgrader_config.py"
    )
