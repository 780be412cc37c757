"""Ranks and calls in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from course.watch.events import PREFIX, Event


def enumerate_words(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def name_ranks(ranks: list[int]) -> str:
    """``rank 1``, ``ranks 0 and 2``."""
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {enumerate_words([str(rank) for rank in ranks])}"


def label_ranks(ranks: list[int]) -> str:
    """``rank 1``, ``ranks 0, 2``, ``ranks 0-3, 7``: short, for the beginning of a line. ranks: in rising order."""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(shorten_ranks(ranks, '-'))}"


def shorten_ranks(ranks: Iterable[int], dash: str) -> list[str]:
    """Ranks as words, three or more in a row as one: ``0-3``, ``5``, ``6``. ranks: in rising order."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = []
    for run in runs:
        parts += [f"{run[0]}{dash}{run[-1]}"] if len(run) > 2 else map(str, run)
    return parts


def capital(text: str) -> str:
    """With a capital."""
    return text[0].upper() + text[1:]


def call_name(event: Event) -> str:
    """``comm.Bcast``; ``hvd.allreduce of "loss"``, where a call has a name."""
    name = f' of "{event["name"]}"' if event["name"] else ""
    return f"{PREFIX[event['library']]}.{event['op']}{name}"


def in_line(event: Event) -> str:
    """`` (cell line 4)``; nothing for a call of which no line is known. Of a persistent request, the line that prepared
    it has the arguments: `` (cell line 4, started in line 6)``."""
    line, prepared = event["line"], event["prepared"]
    if prepared in (None, line):
        return "" if line is None else f" (cell line {line})"
    return f" (cell line {prepared}{'' if line is None else f', started in line {line}'})"


def by_rank(calls: Mapping[int, Event], said: Callable[[Event], str]) -> str:
    """``rank 0: SUM, ranks 1 and 2: MAX``: what is said of the calls of some ranks, with their lines where these
    differ."""
    apart = len({in_line(event) for event in calls.values()}) > 1
    groups: dict[str, list[int]] = {}
    for rank in sorted(calls):
        words = said(calls[rank]) + (in_line(calls[rank]) if apart else "")
        groups.setdefault(words, []).append(rank)
    return ", ".join(f"{name_ranks(ranks)}: {words}" for words, ranks in groups.items())
