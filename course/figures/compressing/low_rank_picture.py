"""A gradient of low rank: a wide matrix, as the product of two thin ones."""

from __future__ import annotations

from course.figures.drawing import Drawing, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import INK

WIDTH, EDGE, SIDE, TOP = 408, 8, 150, 34  # of the picture, its margin, and the longest side of a matrix


def low_rank_picture(rows: int, columns: int, rank: int = 1) -> Drawing:
    """The matrix [rows, columns], and P [rows, rank] times Q transposed, with how many numbers each has.

    Raises ValueError unless `rank` is at least 1 and less than both sides.
    """
    if not 1 <= rank < min(rows, columns):
        raise ValueError(f"the rank is between 1 and {min(rows, columns) - 1}, not {rank}")
    unit = SIDE / max(rows, columns)
    high, wide, thin = rows * unit, columns * unit, max(rank * unit, 9)
    left = EDGE + wide + 40  # of P
    right = left + thin + 34  # of Q
    shapes = [text(EDGE + wide / 2, TOP - 12, "gradient M", 15), box(EDGE, TOP, wide, high, COLOURS[5], INK)]
    shapes.append(text(EDGE + wide + 20, TOP + high / 2 + 6, "≈", 20))
    shapes += text(left + thin / 2, TOP - 12, "P", 15), box(left, TOP, thin, high, COLOURS[1])
    shapes.append(text(left + thin + 17, TOP + high / 2 + 6, "×", 20))
    middle = TOP + high / 2 - thin / 2
    shapes += text(right + wide / 2, middle - 12, "Q, transposed", 15), box(right, middle, wide, thin, COLOURS[1])
    whole, both = rows * columns, (rows + columns) * rank
    below = TOP + high + 26
    shapes.append(text(EDGE, below, f"{rows} · {columns} = {whole:,} numbers", 15, "start"))
    shapes.append(text(EDGE, below + 22, f"({rows} + {columns}) · {rank} = {both:,} numbers are sent", 15, "start"))
    alt = f"A matrix of {rows} x {columns} numbers, about the product of a matrix of {rows} x {rank} and one of "
    alt += f"{rank} x {columns}. {both:,} numbers are sent instead of {whole:,}."
    return drawing(max(right + wide + EDGE, 330), below + 32, alt, *shapes)
