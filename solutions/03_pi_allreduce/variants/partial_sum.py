"""Right answers to `partial_sum`, and mistakes that people make."""

ANSWERS = """
import numpy as np
def partial_sum(f, intervals, rank, size):
== blocks
    few, left = divmod(intervals, size)
    start = rank * few + min(rank, left)
    x = (np.arange(start, start + few + (rank < left)) + 0.5) / intervals
    return float(np.sum(f(x)) / intervals)
== blocks_by_bounds
    i = np.arange(rank * intervals // size, (rank + 1) * intervals // size)
    return f((i + 0.5) / intervals).sum() / intervals
== array_split
    h = 1 / intervals
    return h * f(np.array_split((np.arange(intervals) + 0.5) * h, size)[rank]).sum()
== small_calls
    total = 0.0
    for i in range(size - 1 - rank, intervals, size):
        total += float(f(np.array([(i + 0.5) / intervals]))[0])
    return total / intervals
== nothing_to_do
    if rank >= intervals:
        return 0.0
    x = np.linspace(0.5 / intervals, 1 - 0.5 / intervals, intervals)[rank::size]
    return sum(f(x).tolist()) / intervals
== one_array_for_all_calls
    x, total = np.empty(1), 0.0
    for i in range(rank, intervals, size):
        x[0] = (i + 0.5) / intervals
        total += f(x)[0]
    return float(total / intervals)
== a_column
    x = (np.arange(rank, intervals, size)[:, None] + 0.5) / intervals
    return f(x).sum() / intervals
== remainder_lost: remainder-lost, uneven
    few = intervals // size
    return float(np.sum(f((np.arange(rank * few, (rank + 1) * few) + 0.5) / intervals)) / intervals)
== last_takes_the_rest: unbalanced, last rank
    few = intervals // size
    i = np.arange(rank * few, intervals if rank == size - 1 else (rank + 1) * few)
    return float(np.sum(f((i + 0.5) / intervals)) / intervals)
== rounded_up: unbalanced, uneven
    few = -(-intervals // size)
    return float(np.sum(f((np.arange(rank * few, min((rank + 1) * few, intervals)) + 0.5) / intervals)) / intervals)
== shares_overlap: overlapping-shares, trapezoids
    i = np.arange(rank * intervals // size, min((rank + 1) * intervals // size + 1, intervals))
    return float(np.sum(f((i + 0.5) / intervals)) / intervals)
== everything: everything-on-every-rank, pi exercise
    return float(np.sum(f((np.arange(intervals) + 0.5) / intervals)) / intervals)
== everything_and_then_its_own: everything-on-every-rank, pi exercise
    return float(np.sum(f((np.arange(intervals) + 0.5) / intervals)[rank::size]) / intervals)
== float32_points: float32, numpy scalar
    return float(np.sum(f((np.arange(rank, intervals, size, dtype=np.float32) + 0.5) / intervals)) / intervals)
== float32_points_cast_back: float32, numpy scalar
    x = (np.arange(rank, intervals, size, dtype=np.float32) + np.float32(0.5)) * np.float32(1 / intervals)
    return float(np.sum(f(x.astype(np.float64))) / intervals)
== float32_sum: float32, float32
    return float(np.sum(f((np.arange(rank, intervals, size) + 0.5) / intervals), dtype=np.float32) / intervals)
== float32_result: float32, float32
    return np.float32(np.sum(f((np.arange(rank, intervals, size) + 0.5) / intervals)) / intervals)
== h_of_own_points: local-h, trapezoids
    h = 1 / max(1, len(range(rank, intervals, size)))
    return float(np.sum(f((np.arange(len(range(rank, intervals, size))) + 0.5) * h)) * h)
== mean_of_own: local-h, trapezoids
    x = (np.arange(rank, intervals, size) + 0.5) / intervals
    return float(f(x).mean()) if len(x) else 0.0
== h_forgotten: h-forgotten, blind
    return float(f((np.arange(rank, intervals, size) + 0.5) / intervals).sum())
== h_forgotten_in_a_loop: h-forgotten, blind
    return sum((f(np.array([(i + 0.5) / intervals]))[0] for i in range(rank, intervals, size)), start=0.0)
== h_twice: wrong-value, blind
    return float(f((np.arange(rank, intervals, size) + 0.5) / intervals).sum() / intervals**2)
== left_ends: not-midpoints, pi exercise
    return float(f(np.arange(rank, intervals, size) / intervals).sum() / intervals)
== from_one: not-midpoints, pi exercise
    return float(f((np.arange(rank + 1, intervals + 1, size) + 0.5) / intervals).sum() / intervals)
== plain_floats: not-an-array, pi exercise
    return sum(f((i + 0.5) / intervals) for i in range(rank, intervals, size)) / intervals
== this_f_only: f-not-called, pi exercise
    return float(np.sum(4 / (1 + ((np.arange(rank, intervals, size) + 0.5) / intervals) ** 2)) / intervals)
== empty_is_int: not-a-float, uneven
    return float(f((np.arange(rank, intervals, size) + 0.5) / intervals).sum() / intervals) if rank < intervals else 0
== empty_raises: empty-rank, uneven
    first, *rest = f((np.arange(rank, intervals, size) + 0.5) / intervals)
    return float((first + sum(rest)) / intervals)
== empty_is_nan: empty-rank, uneven
    x = (np.arange(rank, intervals, size) + 0.5) / intervals
    return float(np.divide(f(x).sum(), len(x)) * len(x) / intervals)
"""
