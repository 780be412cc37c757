"""A file for seven friends, sent in four ways on one clock: envelopes that fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from course.figures.drawing import box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

FRIENDS, SECONDS, PIECES = 7, 5.0, 50  # seconds: that the file takes on one line
ROUND = {1: 2, 2: 1, 3: 2, 4: 0, 5: 2, 6: 1, 7: 2}  # of the tree in which a friend gets the file
HAS, COMING = COLOURS[2], COLOURS[5]
MOMENTS = (0, 1, 2.5, 5, 5.6, 7.5, 10, 12.5, 15, 20, 25, 30, 35)

# By name: the part of the file that a friend, 1 to 7, has after so many seconds if nothing else takes time.
WAYS: Mapping[str, Callable[[int, float], float]] = {
    "one by one": lambda friend, now: now / SECONDS - (friend - 1),
    "all at once": lambda friend, now: now / (FRIENDS * SECONDS),
    "a tree": lambda friend, now: now / SECONDS - ROUND[friend],
    "a chain of pieces": lambda friend, now: (now - (friend - 1) * SECONDS / PIECES) / SECONDS,
}


def part(way: str, friend: int, now: float) -> float:
    """The part of the file that a friend has after `now` seconds, from 0 to 1."""
    return min(1.0, max(0.0, WAYS[way](friend, now)))


def served(way: str, now: float) -> int:
    """How many friends have the whole file after `now` seconds."""
    return sum(part(way, friend, now) > 1 - 1e-9 for friend in range(1, FRIENDS + 1))


def done(way: str) -> float:
    """The first of MOMENTS at which all friends have the whole file."""
    return next(now for now in MOMENTS if served(way, now) == FRIENDS)


def picture(now: float) -> str:
    """All four ways at one moment."""
    told = "; ".join(f"{way}: {served(way, now)} of {FRIENDS} friends have it" for way in WAYS)
    shapes = [text(360, 26, f"{now:g} s", 22, bold=True)]
    for number, way in enumerate(WAYS):
        left, top = 20 + number % 2 * 360, 62 + number // 2 * 138
        finished = now >= done(way)
        shapes.append(text(left, top, way, 16, "start", bold=True))
        shapes.append(text(left + 320, top, f"all after {done(way):g} s" if finished else "", 15, "end"))
        for friend in range(FRIENDS + 1):
            has = 1.0 if friend == 0 else part(way, friend, now)
            x, y, height = left + friend * 41, top + 14, 62
            if has > 0:
                fill = INK if friend == 0 else HAS if has == 1.0 else COMING
                shapes.append(box(x, y + height * (1 - has), 33, height * has, fill))
            shapes.append(box(x, y, 33, height, edge=FAINT, thickness=1.5))
            shapes.append(text(x + 16.5, y + height + 19, "you" if friend == 0 else str(friend), 14))
    return svg(720, 318, f"After {now:g} seconds: {told}.", *shapes)


def caption(now: float) -> str:
    """What is to be seen at one moment."""
    if now == 0:
        return "You have a file of 5 MB. Each line carries 1 MB a second, and the clock is the same for all four ways."
    ready = [way for way in WAYS if done(way) == now]
    if ready:
        return f"After {now:g} s everybody has the file by {' and by '.join(f'“{way}”' for way in ready)}."
    return {
        1: "“All at once” has begun to fill all envelopes, each seven times more slowly than “one by one” does.",
        2.5: "In the chain, everybody has nearly half of the file: who has a piece passes it on at once.",
        5: "One file has gone out of your house. In the tree, friend 4 can help from now on.",
        7.5: "In the tree, you and friend 4 are sending, at the same time. In “one by one”, only you are.",
        10: "In the tree, four have the file, and all four will send: every envelope that is left fills now.",
        12.5: "The last round of the tree. “One by one” is at its third friend.",
        20: "The tree and the chain are done. The two ways in which only you send go on.",
        25: "“One by one” has served five friends; by “all at once” nobody has the whole file yet.",
        30: "Still nobody has all of it by “all at once”: the last bytes of all seven come at the end.",
    }[now]


def broadcast_film() -> Film:
    """The film."""
    return Film(
        "a file goes to seven friends in four ways, on one clock",
        [Frame(picture(now), caption(now)) for now in MOMENTS],
    )
