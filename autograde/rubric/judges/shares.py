"""Judge of how a row of numbers is shared out among ranks."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.rubric.words import Words, Wrong

words = Words("""
numbers-left-out: With {n} numbers on {size:rank}, no rank has {lost} of them. What happens to the rest where N cannot
be divided by the number of ranks?

in-two-shares: With {n} numbers on {size:rank}, {twice} of them are in more than one rank's share. Where does a share
end, and where does the next one begin?

share-in-pieces: With {n} numbers on {size:rank}, the share of rank {rank} is not one piece at its place. A share has no
gaps, and the shares are in the order of the ranks.

shares-unequal: With {n} numbers on {size:rank}, one rank has {most} and another {least}. Shares should differ by one at
most.
""")


def pieces_in_order(places: Sequence[Sequence[int]], n: int) -> Wrong | None:
    """Of places by rank: all n are there, once; each rank's are one piece, in the order of the ranks, of fair sizes."""
    about, lengths = {"n": n, "size": len(places)}, [*map(len, places)]
    owners = [sum(place in own for own in places) for place in range(n)]
    if twice := sum(each > 1 for each in owners):
        return words("in-two-shares", twice=twice, **about)
    if lost := owners.count(0):
        return words("numbers-left-out", lost=lost, **about)
    for rank, own in enumerate(places):
        begin = sum(lengths[:rank])
        if [*own] != [*range(begin, begin + len(own))]:
            return words("share-in-pieces", rank=rank, **about)
    most, least = max(lengths), min(lengths)
    return words("shares-unequal", most=most, least=least, **about) if most - least > 1 else None


JUDGES = (pieces_in_order,)
