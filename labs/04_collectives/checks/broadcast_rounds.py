"""The check of `broadcast_rounds`: plans are held against the rules, never against one plan."""

from collections import Counter

from autograde.rubric import CallCheck, Criterion, Mistakes, Words, first_of, of_call

from ..probes import broadcast_rounds

words = Words("""
not-a-plan: For {size:rank} your function returns {kind}. A list of rounds is expected, and each round is a list of
pairs (from, to).

busy-twice-in-a-round: In round {round} of {size:rank}, rank {rank} is in {n:pair}: {pairs}. In one round a rank either
sends one message or receives one.

rank-beyond-size: With {size:rank}, your plan has a message {pair}, and there is no such rank. Who has nobody to send to
in the last round, if the number of ranks is no power of two?

sends-what-it-has-not: With {size:rank} and root {root}, rank {rank} sends in round {round}, but it has not got the
array in an earlier one.

gets-it-twice: With {size:rank} and root {root}, rank {rank} has the array already when it gets it in round {round}.

never-gets-it: With {size:rank} and root {root}, your plan of {n:round} is over before {who:has|have} the array.

more-rounds-than-needed: Your plan for {size:rank} has {n:round}. Everybody who has the array can pass it on in each
round, and then {least} are enough.
""")


size_of, root_of = of_call("size"), of_call("root")


def plan_of(call):
    return call.seen[0].plan


def is_a_plan(call):
    kind = call.seen[0].kind
    return words("not-a-plan", size=size_of(call), kind=kind) if kind else None


def one_message_at_a_time(call):
    for number, pairs in enumerate(plan_of(call), 1):
        for rank, n in Counter(rank for pair in pairs for rank in pair).items():
            if n > 1:
                own = ", ".join(str(pair) for pair in pairs if rank in pair)
                return words("busy-twice-in-a-round", size=size_of(call), round=number, rank=rank, n=n, pairs=own)
    return None


def delivered(call):
    return first_broken(plan_of(call), size_of(call), root_of(call))


def first_broken(plan, size, root):
    """The first message of a plan that cannot be, or who is left without the array."""
    about, has = {"size": size, "root": root}, {root}
    for number, pairs in enumerate(plan, 1):
        if beyond := [pair for pair in pairs if not all(0 <= rank < size for rank in pair)]:
            return words("rank-beyond-size", size=size, pair=str(tuple(beyond[0])))
        before = {*has}
        for source, destination in pairs:
            if source not in before:
                return words("sends-what-it-has-not", rank=source, round=number, **about)
            if destination in has:
                return words("gets-it-twice", rank=destination, round=number, **about)
            has.add(destination)
    return words.on_ranks("never-gets-it", sorted({*range(size)} - has), n=len(plan), **about)


def fewest_rounds(call):
    n, least = len(plan_of(call)), (size_of(call) - 1).bit_length()
    return words("more-rounds-than-needed", size=size_of(call), n=n, least=least) if n > least else None


def served_by_root(call):
    """The root sends to all others in one round."""
    size, root, plan = size_of(call), root_of(call), plan_of(call)
    alone = len(plan) == 1 and sorted(plan[0]) == [(root, rank) for rank in range(size) if rank != root]
    return {"rank": root, "n": size - 1} if alone else False


def turned_round(call):
    turned = [[(two, one) for one, two in pairs] for pairs in plan_of(call)]
    return not first_broken(turned, size_of(call), root_of(call))


def of_another_root(call):
    size, root = size_of(call), root_of(call)
    others = [other for other in range(size) if other != root and not first_broken(plan_of(call), size, other)]
    return {"other": others[0]} if others else False


def one_by_one(call):
    """The root sends all messages, one a round."""
    plan, size, root = plan_of(call), size_of(call), root_of(call)
    alone = {source for pairs in plan for source, _ in pairs} == {root} and len(plan) == size - 1
    return {"rank": root, "messages": sum(map(len, plan))} if alone else False


def cases(rng):
    """All sizes up to 9 and some larger ones, with roots in every place; what fails for root 0 is to be told first."""
    sizes = [*range(1, 10), *sorted(rng.sample(range(10, 16), 3)), 16, 17]
    pairs = {(size, root) for size in sizes for root in (0, size - 1, rng.randrange(size))}
    ordered = sorted(pairs, key=lambda each: (each[1] > 0, each))
    return [{"calls": [{"size": size, "root": root} for size, root in ordered]}]


CHECK = CallCheck.of(
    "broadcast_rounds",
    broadcast_rounds.PROBE,
    cases,
    Criterion(
        "pairs",
        0.75,
        "a rank is in at most one pair of a round",
        first_of(is_a_plan, one_message_at_a_time),
        Mistakes(
            """root-sends-to-all-at-once: In one round, rank {rank} sends to {n} others. Its line carries one message at
            a time, so in fact it takes {n:round}.""",
            root_sends_to_all_at_once=served_by_root,
        ),
    ),
    Criterion(
        "delivery",
        1.25,
        "`from` is the root, or got the array in an earlier round; every rank but the root gets it exactly once",
        first_of(is_a_plan, delivered),
        Mistakes(
            """
            pairs-turned-round: In your pairs (a, b), b has the array and a is to get it. It should be the other way
            round: (from, to).

            plan-of-another-root: With root {root} of {size}, your plan begins at rank {other}, which does not have the
            array. It is a good plan for another root.
            """,
            pairs_turned_round=turned_round,
            plan_of_another_root=of_another_root,
        ),
    ),
    Criterion(
        "rounds",
        1,
        "there are ceil(log2(size)) rounds: none if size is 1",
        first_of(is_a_plan, fewest_rounds),
        Mistakes(
            """one-by-one: Your plan is right, and slow: rank {rank} sends all {messages} messages, so {n:round} are
            needed for {size:rank}. Meanwhile, those who have the array already stand idle.""",
            one_by_one=one_by_one,
        ),
        after=("pairs", "delivery"),
    ),
    inputs=("size", "root"),
    consolidation="In each round, everybody who has the array can serve one more: the number of those who have it "
    "doubles. That is why a tree needs only log2 N rounds, where one sender alone needs N - 1.",
)
