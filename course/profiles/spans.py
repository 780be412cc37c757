"""What a profile consists of: spans of time, each with its kind and its name."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Kind = Literal["step", "part", "loading", "compute", "launch", "communication", "wait"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Span(NamedTuple):
    """Something that a rank did, and when.

    start, end: seconds on this rank's own clock. Where they count from is up to what made the spans; see
    `course.profiles.recording.record_steps`.
    name: what the profiler calls it, such as ``aten::addmm`` or ``gloo:all_reduce``, or the name of a mark.
    kind: one of KINDS.

    - "step": a step of training, from its begin to its end.
    - "part": a marked part of a step, such as ``forward``, ``backward`` or ``optimizer``.
    - "loading": a marked part of a step in which the rank gets its samples.
    - "wait": a marked part of a step in which the rank only waits.
    - "compute": an operation on tensors, or a node of the backward pass.
    - "launch": the call that hands a collective over to the library that runs it, and returns at once.
    - "communication": a collective or a message, from when a thread of its library takes it up until it is complete on
      this rank. The rank may compute meanwhile. A part of this time may be spent on waiting for ranks that come later;
      one rank alone cannot tell.

    Spans of all kinds but "communication" are what one thread does, so two of them are either apart, or one lies within
    the other. Spans of "communication" may overlap with all others and with each other.
    """

    kind: Kind
    start: float
    end: float
    name: str

    @property
    def seconds(self) -> float:
        """How long it takes, with all that lies within it: its total time."""
        return self.end - self.start
