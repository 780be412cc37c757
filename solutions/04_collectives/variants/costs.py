"""Right answers to `costs`, and mistakes that people make."""

ANSWERS = """
from math import ceil, log2
def costs(size, nbytes, alpha, beta):
    rounds = ceil(log2(size))
    whole = alpha + beta * nbytes
    part = alpha + beta * nbytes / size
    values = (size - 1) * whole, rounds * whole, 2 * rounds * whole, 2 * (size - 1) * part
    names = "broadcast, one by one", "broadcast, tree", "all-reduce, tree", "all-reduce, ring"
== zipped
    return dict(zip(names, values))
== summed
def costs(size, nbytes, alpha, beta):
    rounds, have = 0, 1
    while have < size:
        rounds, have = rounds + 1, 2 * have
    tree = sum(alpha + nbytes * beta for _ in range(rounds))
    return {
        "broadcast, one by one": sum(alpha + nbytes * beta for _ in range(size - 1)),
        "broadcast, tree": tree,
        "all-reduce, tree": tree + tree,
        "all-reduce, ring": sum(2 * alpha + 2 * nbytes / size * beta for _ in range(size - 1)),
    }
== log_not_rounded: rounds-not-rounded, cost < zipped
rounds = ceil(log2(size)) >>> rounds = log2(size)
== log_rounded_down: rounds-not-rounded, cost < zipped
rounds = ceil(log2(size)) >>> rounds = int(log2(size))
== whole_arrays: whole-array-in-the-ring, whole arrays < zipped
2 * (size - 1) * part >>> 2 * (size - 1) * whole
== one_latency: one-latency, cost < zipped
2 * (size - 1) * part >>> alpha + 2 * (size - 1) * beta * nbytes / size
== latency_each_way: one-latency, cost < zipped
2 * (size - 1) * part >>> 2 * (alpha + (size - 1) * beta * nbytes / size)
== one_latency_everywhere: one-latency, cost < zipped
whole = alpha + beta * nbytes >>> whole = beta * nbytes
(size - 1) * whole, rounds * whole, 2 * rounds * whole, 2 * (size - 1) * part >>> [seconds + alpha * (size > 1) for seconds in ((size - 1) * whole, rounds * whole, 2 * rounds * whole, 2 * (size - 1) * beta * nbytes / size)]
== n_steps: a-step-too-many-in-the-ring, ring < zipped
2 * (size - 1) * part >>> 2 * size * part
== half_a_ring: half-an-allreduce, ring < zipped
2 * (size - 1) * part >>> (size - 1) * part
== half_a_tree: half-an-allreduce, to the root < zipped
2 * rounds * whole >>> rounds * whole
== all_served: everybody-served, cost < zipped
(size - 1) * whole, rounds >>> size * whole, rounds
== never_free: not-free-alone, cost < zipped
rounds = ceil(log2(size)) >>> rounds = max(1, ceil(log2(size)))
== latency_forgotten: other-number, cost < zipped
whole = alpha + beta * nbytes >>> whole = beta * nbytes
== bandwidth_for_beta: bandwidth-for-beta, cost < zipped
whole = alpha + beta * nbytes >>> whole = alpha + nbytes / beta if nbytes else alpha
== a_tuple: not-all-numbers, cost < zipped
return dict(zip(names, values)) >>> return values
== other_names: not-all-numbers, cost < zipped
"broadcast, one by one", >>> "one by one",
== texts: entry-is-no-number, cost < zipped
return dict(zip(names, values)) >>> return {name: f"{value} s" for name, value in zip(names, values)}
== latency_by_ranks: latency-divided, cost < zipped
2 * (size - 1) * part >>> 2 * (size - 1) * whole / size
== chunk_rounded: chunk-rounded, cost < zipped
part = alpha + beta * nbytes / size >>> part = alpha + beta * (nbytes // size)
"""
