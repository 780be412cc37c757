"""Judges of messages along a tree: to one rank, one from each other rank, in as few rounds as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograde.rubric.communication.messages import depth, senders_to, too_large
from autograde.rubric.communication.traffic import traffic
from autograde.rubric.judge import Call
from autograde.rubric.words import Words, Wrong

words = Words("""
sends-more-than-one: Rank {rank} of {size} sends {n:message}, with root {root}. Each rank but the root sends one, and
the root none.

all-to-the-root: All {n:message} go to rank {root}, which takes them in one after the other: {n:round}, where {least}
are enough. Who else could receive meanwhile?

in-a-chain: Each rank waits for the one behind it: {n:round} one after the other, where {least} are enough. Which
messages could be on their way at the same time?

tree-too-deep: Your messages take {n:round} on {size:rank}, where {least} are enough.
""")


@dataclass(frozen=True)
class ToOneRank:
    """Each rank but the root sends one message, none of them too large, in at most ceil(log2(size)) rounds.

    root: of a call, the rank at which all ends. bytes: of a call, those that a message need have; 0: rounds do not
    count.
    """

    root: Callable[[Call], int]
    bytes: Callable[[Call], int]
    of_record = True  # see `autograde.rubric.criterion.of_record`

    def __call__(self, call: Call) -> Wrong | None:
        """The first thing that is wrong with one call."""
        seen, size, root, most = traffic(call.events), call.size, self.root(call), self.bytes(call)
        for rank, n in enumerate(seen.steps()):
            if n > (rank != root):
                return words("sends-more-than-one", rank=rank, size=size, n=n, root=root)
        if wrong := too_large(seen, most, call.arguments["dtype"], "It is one array. What else is in your message?"):
            return wrong
        n, least = depth(seen, root), (size - 1).bit_length()
        if not most or n <= least:
            return None
        chain = all(len(senders_to(seen, rank)) < 2 for rank in range(size))
        to_root = {target for _, target in seen.sends} == {root}
        key = "all-to-the-root" if to_root else "in-a-chain" if chain else "tree-too-deep"
        return words(key, n=n, least=least, root=root, size=size)
