"""Right answers to `broadcast_rounds`, and mistakes that people make."""

ANSWERS = """
def broadcast_rounds(size, root):
== by_doubling
    rounds, have = [], [root]
    rest = [rank for rank in range(size) if rank != root]
    while rest:
        pairs = [(source, rest.pop()) for source in have[: len(rest)]]
        have += [target for _, target in pairs]
        rounds.append(pairs)
    return rounds
== farthest_first
    step = 1 << max(0, (size - 1).bit_length() - 1)
    rounds = []
    while step and size > 1:
        pairs = [(place, place + step) for place in range(0, size, 2 * step) if place + step < size]
        rounds.append([((a + root) % size, (b + root) % size) for a, b in pairs])
        step //= 2
    return rounds
== swapped_with_root
    def name(rank):
        return root if rank == 0 else 0 if rank == root else rank
    rounds, step = [], 1
    while step < size:
        rounds.append([[name(rank), name(rank + step)] for rank in range(min(step, size - step))])
        step *= 2
    return rounds
== tuples_of_tuples
    plan, served = (), 1
    while served < size:
        pairs = tuple(((root + i) % size, (root + served + i) % size) for i in range(min(served, size - served)))
        plan, served = (*plan, pairs), 2 * served
    return plan
== one_by_one: one-by-one, broadcast
    return [[(root, rank)] for rank in range(size) if rank != root]
== all_at_once: root-sends-to-all-at-once, course
    return [[(root, rank) for rank in range(size) if rank != root]] if size > 1 else []
== log_rounded_down: never-gets-it, trees
    return [
        [((root + i) % size, (root + i + 2**k) % size) for i in range(2**k) if i + 2**k < size]
        for k in range(size.bit_length() - 1)
    ]
== partners_beyond: rank-beyond-size, trees
    return [[(i, i + 2**k) for i in range(2**k)] for k in range((size - 1).bit_length())]
== wrapped_beyond: busy-twice-in-a-round, trees
    return [
        [((root + i) % size, (root + i + 2**k) % size) for i in range(2**k)]
        for k in range((size - 1).bit_length())
    ]
== xor_of_root_0: plan-of-another-root, trees
    return [
        [(rank, rank ^ 2**k) for rank in range(2**k) if rank ^ 2**k < size]
        for k in range((size - 1).bit_length())
    ]
== binary_tree: busy-twice-in-a-round, trees
    plan, level = [], [0]
    while level:
        pairs = [(p, c) for p in level for c in (2 * p + 1, 2 * p + 2) if c < size]
        if pairs:
            plan.append([((p + root) % size, (c + root) % size) for p, c in pairs])
        level = [c for _, c in pairs]
    return plan
== served_again: gets-it-twice, broadcast
    plan, step = [], 1
    while step < size:
        plan.append([((root + i) % size, (root + i + step) % size) for i in range(min(step, size - step))])
        step *= 2
    return [*plan, plan[-1]] if plan else []
== chain: more-rounds-than-needed, broadcast
    return [[((root + i) % size, (root + i + 1) % size)] for i in range(size - 1)]
== one_more_round: more-rounds-than-needed, trees
    plan, served = [], 1
    while served <= size:
        new = max(0, min(served, size - served))
        plan.append([((root + i) % size, (root + served + i) % size) for i in range(new)])
        served *= 2
    return plan
== who_has_not_got_it: sends-what-it-has-not, trees
    plan, step = [], 1
    while step < size:
        pairs = [(p, p + step) for p in range(0, size, 2 * step) if p + step < size]
        plan.append([((p + root) % size, (q + root) % size) for p, q in pairs])
        step *= 2
    return plan
== turned_round: pairs-turned-round, broadcast
    plan, served = [], 1
    while served < size:
        new = min(served, size - served)
        plan.append([((root + served + i) % size, (root + i) % size) for i in range(new)])
        served += new
    return plan
== flat_list: not-a-plan, broadcast
    plan, served = [], 1
    while served < size:
        new = min(served, size - served)
        plan += [((root + i) % size, (root + served + i) % size) for i in range(new)]
        served += new
    return plan
== forgot_to_return: not-a-plan, broadcast
    plan = [[(root, rank)] for rank in range(size) if rank != root]
"""
