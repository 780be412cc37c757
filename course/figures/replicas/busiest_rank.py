"""What the busiest rank sends and receives in one step: with a parameter server, and with an all-reduce on a ring."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

MOST = 8  # ranks on the axis


@on_both_grounds
def busiest_rank_picture(
    measured: Mapping[int, int],
    size: int,
    in_ring: Mapping[int, int] | None = None,
    guess: float | None = None,
    *,
    ground: Ground,
) -> Picture:
    """Bytes against ranks: lines by their formulas, and dots for what a server's rank was seen to send and receive.

    measured: bytes of the server's rank, by number of ranks. size: of the parameters, in bytes. in_ring: bytes of the
    busiest rank in a ring, if these were measured as well. guess: the reader's, of the server's with MOST ranks, in
    sizes.
    """
    told = ", ".join(f"{value / size:.1f} with {ranks} ranks" for ranks, value in measured.items())
    alt = f"Bytes of the busiest rank, in sizes of the parameters. A server, measured: {told}; all-reduce: below 4."
    if in_ring:
        told = ", ".join(f"{value / size:.1f} with {ranks} ranks" for ranks, value in in_ring.items())
        alt += f" A ring, measured: {told}."
    if guess is not None:
        alt += f" You guessed {guess:g} for a server with {MOST} ranks."
    figure, axes = new_figure(6.4, 3.9, alt=alt, ground=ground)
    ranks = range(2, MOST + 1)
    server, ring = ground.text(COLOURS[1]), ground.text(COLOURS[0])
    axes.plot(ranks, [2 * (n - 1) for n in ranks], color=server, linewidth=1.6)
    axes.plot(ranks, [4 * (n - 1) / n for n in ranks], color=ring, linewidth=2)
    axes.plot(measured.keys(), [value / size for value in measured.values()], "o", color=server, markersize=8)
    if in_ring:
        axes.plot(in_ring.keys(), [value / size for value in in_ring.values()], "o", color=ring, markersize=8)
    if guess is not None:
        look = {"marker": "D", "markersize": 9, "linestyle": "none", "markeredgecolor": ground.ink, "zorder": 4}
        axes.plot(MOST, guess, color=COLOURS[4], label="your guess", **look)
        axes.legend(loc="upper left")
    axes.text(6.1, 8.2, "a server, 2 (N - 1);\ndots: measured", ha="left", va="top", color=server)
    axes.text(MOST, 4.1, "all-reduce on a ring, 4 (N - 1) / N", ha="right", va="bottom", color=ring)
    axes.set(xlabel="ranks N", ylabel="sent and received, in sizes\nof the parameters", ylim=(0, None))
    axes.set_title("The busiest rank, in one step")
    quiet_grid(axes)
    return figure
