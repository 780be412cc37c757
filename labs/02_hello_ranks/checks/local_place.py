"""The check of `local_place`."""

from operator import eq

from autograde.rubric import (
    CallCheck,
    Collectives,
    Criterion,
    Mistakes,
    Same,
    Words,
    changed,
    finished,
    first_of,
    has_values,
    of_library,
    of_seen,
    of_the_group,
    on_ranks,
)

from ..probes import local_place

SHOWN = "With hosts {in_order}, by rank, your function returns {actual}"

words = Words(f"""
wrong-place: {SHOWN}; expected is {{expected}}. For each rank, count those with the same host: first the ones of smaller
rank, then all.
""")


def places(call, alike=eq, pair=lambda place, total, **_: (place, total)):
    """By rank, its place among those whose host is `alike`, and their number; or another pair, made of more."""
    hosts, found = call.arguments["hosts"], []
    about = {"hosts": hosts, "size": len(hosts), "few": len(hosts) // len({*hosts}) or 1}
    for rank, host in enumerate(hosts):
        group = [other for other, name in enumerate(hosts) if alike(host, name)]
        place = sum(other < rank for other in group)
        found.append(pair(place=place, total=len(group), rank=rank, host=host, **about))
    return found


def form(**other):
    """What a mistake gives: `places` with another argument."""
    return lambda call: places(call, **other)


def whole(number):
    return number.value if isinstance(number.value, int) else number.kind if number.value is None else str(number.value)


def shown(call):
    return [[whole(pair[at]) for at in (0, 1)] for pair in call.of("pair")]


def in_words(pairs):
    return ", ".join(f"({place}, {total})" for place, total in pairs)


def judge(part):
    """That of one of the two numbers; known mistakes are told by both."""

    def due(call):
        pairs = zip(shown(call), places(call), strict=True)
        return [[right[at] if at == part else actual[at] for at in (0, 1)] for actual, right in pairs]

    def otherwise(call, found):
        about = {"in_order": ", ".join(call.arguments["hosts"]), "rank": found.place[0]}
        return words("wrong-place", **about, actual=in_words(shown(call)), expected=in_words(places(call)))

    same = Same(shown, due, on_ranks("the pair", "number"), otherwise=otherwise)
    return first_of(has_values("the local rank and the local size", of_seen("pair")), same)


def cases(rng):
    """Nodes whose ranks do and do not follow each other, of unequal sizes, a name that begins another, and two names
    that differ only behind the dot."""
    number = rng.randint(1, 9)
    a, b, c = f"node{number}", f"node{number}{rng.randint(0, 9)}", f"gpu-{rng.randint(10, 99)}.cluster"
    names = {"a": a, "b": b, "c": c, "d": f"{c.partition('.')[0]}.cloud"}
    drawn = [
        ([0, 1, 2, 3], "abab", "aaba", "bcca", "cddc"),
        ([2, 0, 3], "aba", "caa", "ccc"),
        ([1, 3], "ab", "aa"),
        ([rng.randrange(4)], "a"),
        ([3, 1, 0, 2], "baab", "abbb", "aabb", "cbca"),
        ([1, 3, 2], "bab", "bca"),
    ]
    return [(ranks, *({"hosts": [names[letter] for letter in each]} for each in hosts)) for ranks, *hosts in drawn]


MISTAKES = Mistakes(
    f"""
    rank-modulo: {SHOWN}. That is right only where the ranks of a node follow each other. Which ranks of `comm` are on
    the same host as rank {{rank}}?

    name-begins-alike: {SHOWN}. It takes two nodes for one when one name begins with the other, as node1 and node10 do.
    When are two names the same?

    name-cut-at-the-dot: {SHOWN}. It takes two nodes for one when their names differ only behind the first dot. The
    whole name says which node it is.

    nodes-apart-by-hash: {SHOWN}, as if every rank were alone on its node. Python's `hash` of a string differs from
    process to process. What do two ranks on the same host really have in common?

    number-of-the-node: {SHOWN}. Its first number is that of the node, which all ranks on it share. The local rank tells
    the ranks on one node apart.

    rank-of-all-ranks: {SHOWN}: numbers among all ranks, as if they were on one node. This machine is one indeed, but
    here only the argument `host` says where a rank is.

    nodes-of-equal-size: {SHOWN}: it shares the ranks out evenly among the nodes. Nodes may hold different numbers of
    ranks. Count those that have the same host.
    """,
    changed(
        rank_modulo=form(pair=lambda rank, total, **_: (rank % total, total)),
        name_begins_alike=[
            form(alike=lambda own, other: other.startswith(own)),
            form(alike=lambda own, other: own.startswith(other)),
            form(alike=lambda one, two: one.startswith(two) or two.startswith(one)),
        ],
        name_cut_at_the_dot=form(alike=lambda one, two: one.partition(".")[0] == two.partition(".")[0]),
        nodes_apart_by_hash=form(pair=lambda **_: (0, 1)),
        number_of_the_node=[
            form(pair=lambda host, hosts, total, **_: (sorted({*hosts}).index(host), total)),
            form(pair=lambda host, hosts, total, **_: ([*dict.fromkeys(hosts)].index(host), total)),
        ],
        rank_of_all_ranks=[
            form(pair=lambda rank, size, **_: (rank, size)),
            form(pair=lambda rank, total, **_: (rank, total)),
        ],
        nodes_of_equal_size=[
            form(pair=lambda rank, few, **_: (rank % few, few)),
            form(pair=lambda place, few, **_: (place, few)),
        ],
    ),
)
RANK = "the local rank is how many ranks of `comm` on the same node have a smaller rank"
SIZE = "the local size is how many ranks of `comm` are on this node"
CALLS = (
    "at most two collective calls, and no point-to-point messages (section 2). A `Split` (section 5) is a collective "
    "call, too"
)
TWO = first_of(of_the_group, of_library("mpi4py"), finished, Collectives("mpi4py", least=0, most=2, splits=True))
CHECK = CallCheck.of(
    "local_place",
    local_place.PROBE,
    cases,
    Criterion("local-rank", 1, RANK, judge(0), MISTAKES),
    Criterion("local-size", 0.5, SIZE, judge(1), MISTAKES, after=("local-rank",)),
    Criterion("calls", 0.5, CALLS, TWO),
    inputs=("hosts",),
    repeats=False,
    consolidation="A rank learns about the others only by communicating: one collective call tells all of them all "
    "names. On a cluster, the local rank says which of a node's GPUs is this rank's.",
)
