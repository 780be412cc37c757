"""Right answers to `best_every`, and mistakes that people make."""

ANSWERS = r"""
import math
def best_every(step_seconds, save_seconds, node_mtbf_seconds, nodes):
    m = node_mtbf_seconds / nodes
    k = math.sqrt(2 * save_seconds * m) / step_seconds
    def lost(k):
        return save_seconds / (k * step_seconds) + k * step_seconds / (2 * m)
== neighbours
    return min((n for n in (math.floor(k), math.ceil(k), 1) if n >= 1), key=lost)
== by_the_product
    n = max(1, math.floor(k))
    return n + 1 if n * (n + 1) < k * k else n
== downhill
    n = max(1, int(k) - 2)
    while lost(n + 1) < lost(n):
        n += 1
    return n
== nodes_forgotten: one-node-for-all, young < neighbours
node_mtbf_seconds / nodes >>> node_mtbf_seconds
== seconds: seconds-for-steps, young
    return max(1, round(k * step_seconds))
== seconds_beside: seconds-for-steps, young < neighbours
/ step_seconds\n    def lost >>> \n    def lost
== no_two: no-two, young < neighbours
    k = math.sqrt(2 * save >>>     k = math.sqrt(save
 / (2 * m) >>>  / m
== no_two_rounded: no-two, young
    return max(1, round(k / math.sqrt(2)))
== rounded: rounded, young
    return max(1, round(k))
== rounded_down: rounded, young
    return max(1, int(k))
== rounded_up: rounded, young
    return math.ceil(k)
== below_1: below-1, young
    return round(k)
== a_float: not-an-int, young < neighbours
return min >>> return 1.0 * min
== real: not-an-int, young
    return max(1.0, k)
== dalys: wrong-k, daly
    part = math.sqrt(save_seconds / (2 * m))
    return max(1, round((k * step_seconds * (1 + part / 3 + part**2 / 9) - save_seconds) / step_seconds))
== times_nodes: nodes-fail-less, young < neighbours
node_mtbf_seconds / nodes >>> node_mtbf_seconds * nodes
== no_root: wrong-k, young
    return max(1, round(k * k))
== no_two_in_k: no-two, young < neighbours
math.sqrt(2 * save_seconds * m) >>> math.sqrt(save_seconds * m)
"""
