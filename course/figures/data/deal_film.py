"""A deck of samples, shuffled alike on all ranks and dealt out: what a sampler drew, turn by turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from course.figures.contrast import ink_on
from course.figures.data.draws import Draws
from course.figures.drawing import Drawing, box, drawing, line, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

SIDE, STEP, EDGE = 40, 46, 10  # of a card, from card to card, around the picture
DECK, HANDS, CARDS = 30, 96, 128  # tops of the deck, of the hands, and of the cards in them
HEIGHT = 204


def card(x: float, y: float, words: str, rank: int | None = None, copy: bool = False, now: bool = False) -> str:
    """A sample's card. rank: who has it, None for nobody. copy: it is dealt again. now: it moves in this frame."""
    fill = "none" if rank is None else COLOURS[rank % len(COLOURS)]
    ink = INK if rank is None else ink_on(fill)
    shapes = [box(x, y, SIDE, SIDE, fill, INK if now else FAINT, 3 if now else 1, 4)]
    if copy:
        for offset in range(8, 2 * SIDE, 8):
            low, high = max(0, offset - SIDE), min(SIDE, offset)
            shapes.append(line((x + low, y + high), (x + high, y + low), ink, 0.8))
        shapes.append(box(x + 8, y + 9, SIDE - 16, SIDE - 18, fill, corner=4))
    shapes.append(text(x + SIDE / 2, y + 26, words, 17, ink=ink))
    return "".join(shapes)


def hand_width(turns: int) -> float:
    """The width of a rank's hand of so many cards."""
    return turns * STEP + 14


def width(cards: int, ranks: int, turns: int) -> float:
    """The width of a picture."""
    return 2 * EDGE + max(cards * STEP, ranks * (hand_width(turns) + 8) - 8)


def hand(rank: int, turns: int, *shapes: str) -> str:
    """A rank's hand, with what is in it."""
    left = EDGE + rank * (hand_width(turns) + 8)
    frame = box(left, HANDS, hand_width(turns), HEIGHT - HANDS - 4, edge=FAINT, thickness=1.5, corner=8)
    return frame + text(left + 10, HANDS + 22, f"rank {rank}", 15, "start", bold=True) + "".join(shapes)


def deck_and_hands(samples: int, ranks: int) -> Drawing:
    """The question: a deck of `samples` cards, and `ranks` hands with nothing in them yet."""
    turns = -(-samples // ranks)
    deck = [card(EDGE + place * STEP, DECK, str(place)) for place in range(samples)]
    asks = (text(EDGE + (rank + 0.5) * (hand_width(turns) + 8) - 4, CARDS + 36, "?", 34) for rank in range(ranks))
    hands = [hand(rank, turns, ask) for rank, ask in enumerate(asks)]
    title = text(EDGE, 20, f"{samples} samples", 15, "start", bold=True)
    alt = f"{samples} samples in a row, and below them {ranks} ranks with empty hands: who takes which?"
    return drawing(width(samples, ranks, turns), HEIGHT, alt + " Nobody has said it yet.", title, *deck, *hands)


def picture(
    title: str, order: Sequence[int], samples: int, ranks: int, dealt: Collection[int], now: Collection[int], batch: int
) -> str:
    """The deck and the hands. order: the samples as they are dealt, copies at the end.

    dealt, now: places in the order that are dealt, and those of them that are dealt in this frame. batch: samples in a
    batch, to be marked; 0 for none.
    """
    turns = len(order) // ranks
    again = {place % samples for place in now if place >= samples}
    shapes = [text(EDGE, 20, title, 15, "start", bold=True)]
    for place, sample in enumerate(order[:samples]):
        rank = place % ranks if place in dealt else None
        shapes.append(card(EDGE + place * STEP, DECK, str(sample), rank, now=place in now or place in again))
    for rank in range(ranks):
        left, inside = EDGE + rank * (hand_width(turns) + 8) + 10, []
        for turn in range(turns):
            place = rank + turn * ranks
            if place in dealt:
                here = left + turn * STEP
                inside.append(card(here, CARDS, str(order[place]), rank, copy=place >= samples, now=place in now))
        for start in range(0, turns if batch else 0, batch or 1):
            cards = min(batch, turns - start)
            a, b = left + start * STEP, left + (start + cards) * STEP - STEP + SIDE
            inside.append(line((a, CARDS + 48), (b, CARDS + 48), INK, 2))
            inside.append(text((a + b) / 2, CARDS + 63, f"batch {start // batch}", 13))
        shapes.append(hand(rank, turns, *inside))
    words = [f"rank {rank}: {', '.join(held(order, ranks, rank, dealt)) or 'none'}" for rank in range(ranks)]
    return svg(width(samples, ranks, turns), HEIGHT, f"{title}. In hand, {'; '.join(words)}.", *shapes)


def held(order: Sequence[int], ranks: int, rank: int, dealt: Collection[int]) -> list[str]:
    """The samples in a rank's hand."""
    return [str(order[place]) for place in range(rank, len(order), ranks) if place in dealt]


def named(kind: str, numbers: Sequence[int]) -> str:
    """Some numbers as a sentence has them: "ranks 1, 2 and 3"."""
    *most, last = map(str, numbers)
    return f"{kind}s {', '.join(most)} and {last}" if most else f"{kind} {last}"


def deal_film(draws: Draws, samples: int, batch: int) -> Film:
    """The film of what a sampler drew. draws: by epoch and rank, the samples in the order of drawing, padded.

    batch: samples in a batch of one rank.
    """
    ranks, frames = len(draws[0]), []

    def frame(title: str, order: Sequence[int], dealt: range, now: range, words: str, cut: int = 0) -> None:
        frames.append(Frame(picture(title, order, samples, ranks, dealt, now, cut), words))

    nothing = range(0)
    disk = [place % samples for place in range(sum(map(len, draws[0])))]
    words = f"{samples} samples, in the order in which they are on the disk. No rank has one yet."
    frame("As on the disk", disk, nothing, nothing, words)
    for epoch, shards in enumerate(draws):
        order = [sample for turn in zip(*shards, strict=True) for sample in turn]
        title, whole = f"Epoch {epoch}: the order that every rank works out", range(len(order))
        words = f"Epoch {epoch}. Seed and epoch give the order, so all ranks shuffle alike, and send nothing."
        frame(title, order, nothing, nothing, words)
        for start in range(0, samples, ranks):
            new = range(start, min(start + ranks, samples))
            words = f"{named('sample', order[start : new.stop])} to {named('rank', range(len(new)))}"
            if len(new) < ranks:
                words += f"; for {named('rank', range(len(new), ranks))} there is none left"
            frame(title, order, range(new.stop), new, f"Epoch {epoch}, turn {start // ranks}: {words}.")
        copies = range(samples, len(order))
        if copies:
            again = named("sample", order[samples:])
            words = f"Epoch {epoch}. Padding: the order begins again, and {again} are dealt a second time (hatched)."
            frame(title, order, whole, copies, words)
        words = f"Epoch {epoch}. Each hand is cut into batches of at most {batch}. All ranks have equally many."
        frame(title, order, whole, nothing, words, batch)
    return Film(f"{samples} samples are shuffled and dealt to {ranks} ranks", frames)
