"""The check of `memory_per_rank`: bytes by part in stage 0, and what becomes of them in the other stages."""

from functools import partial

from autograde.rubric import CallCheck, Criterion, Mistakes, Same, changed

from ..probes import memory_per_rank

SHARED_FROM = {"weights": 3, "gradients": 2, "optimizer": 1, "master weights": 1}
BYTES = {"weights": 2, "gradients": 2, "optimizer": 8, "master weights": 4}
LESS_THAN_A_PARAMETER = 8.5  # bytes; as near to its share, a number was rounded, as bytes or as parameters


def whole(call, **sizes):
    """Bytes by part, where nothing is shared. sizes: what is not as it should be."""
    return {name: float(call.arguments["parameters"] * each) for name, each in (BYTES | sizes).items()}


def shared(call, stage, shared_from=SHARED_FROM):
    """Bytes by part in a stage: of those that the function itself gives in stage 0, if it has whole bytes there."""
    numbers = {name: each.value for name, each in call.seen[0].stages[0].numbers.items() if each.value is not None}
    own = whole(call) | {name: each for name, each in numbers.items() if each % call.arguments["parameters"] == 0}
    return {name: own[name] / (call.arguments["ranks"] if stage >= shared_from[name] else 1.0) for name in BYTES}


def near(actual, expected):
    """Whether a number is the expected one, or what rounding makes of it."""
    return isinstance(actual, (int, float)) and abs(actual - expected) <= max(
        LESS_THAN_A_PARAMETER, 1e-12 * abs(expected)
    )


def judge(stage, due, **more):
    """Judge of what is returned in one stage."""
    return Same(
        lambda call: call.seen[0].stages[stage],
        due,
        lambda call, place: f"In stage {stage}, {repr(place[0]) if place else 'what you return'}",
        given=("parameters", "ranks"),
        **more,
    )


def exactly(call):
    """Shares are not rounded."""
    judges = (judge(stage, partial(shared, stage=stage)) for stage in (1, 2, 3))
    return next((wrong for each in judges if (wrong := each(call))), None)


def sharing(stage, says):
    """The criterion on what a stage shares out."""

    def other(as_in=stage, **first):
        return lambda call: shared(call, as_in, SHARED_FROM | first)

    older = {name: 9 for name, first in SHARED_FROM.items() if first != stage}  # are whole again
    mistakes = changed(
        master_weights_kept_whole=other(**{"master weights": 9}),
        weights_before_gradients=other(weights=2, gradients=3),
        a_stage_early=other(stage + 1),
        a_stage_late=other(stage - 1),
        only_what_is_new=other(**older),
    )
    due = partial(shared, stage=stage)
    return Criterion(f"stage-{stage}", 0.4, says, judge(stage, due, near=near), Mistakes(SHARING, mistakes))


SHARING = """
master-weights-kept-whole: You share out the optimizer's numbers, but each rank keeps all master weights. Who updates
them?

weights-before-gradients: In stage 2 you share out the weights, and keep all gradients.

a-stage-early: Here you share out what only the next stage is to share.

a-stage-late: Here you share out what the stage before this one does, and no more.

only-what-is-new: Here you share out only what is new in this stage. Each shares what the one before it did, too.
"""
BYTES_OF = Mistakes(
    """
    weights-in-single-precision: You count 4 bytes for a weight or a gradient. In mixed precision both have 16 bits.

    one-number-for-adam: You count 4 bytes for the optimizer's numbers. How many numbers does Adam keep of a parameter?

    master-weights-in-the-optimizer: You count 12 bytes for the optimizer, and none for the master weights, which have a
    number of their own here.

    no-master-weights: You count no master weights. An update of a bfloat16 is mostly smaller than its last digit: in
    what are updates added up?

    master-weights-counted-twice: You count 12 bytes for the optimizer, and the master weights once more.

    a-stage-early: Here you share out what only the next stage is to share.
    """,
    changed(
        whole,
        a_stage_early=lambda call: shared(call, 1),
        weights_in_single_precision=[{"weights": 4}, {"gradients": 4}, {"weights": 4, "gradients": 4}],
        one_number_for_adam={"optimizer": 4},
        master_weights_in_the_optimizer={"optimizer": 12, "master weights": 0},
        no_master_weights={"master weights": 0},
        master_weights_counted_twice={"optimizer": 12},
    ),
)
ROUNDED = Mistakes(
    "share-rounded: You round the shares. Here they are 1 / ranks of the whole, whatever that is.",
    share_rounded=lambda call: True,
)


def cases(rng):
    """Small numbers and large ones, that do and do not divide evenly."""
    sizes = (1000, 5), (7_500_000_000, 64), (rng.randrange(10**6) * 21 + 5, 7), (rng.randrange(1, 10**6), 1)
    return [{"calls": [{"parameters": parameters, "ranks": ranks} for parameters, ranks in sizes]}]


CHECK = CallCheck.of(
    "memory_per_rank",
    memory_per_rank.PROBE,
    cases,
    Criterion("stage-0", 0.5, "in stage 0, each rank keeps everything", judge(0, whole), BYTES_OF),
    sharing(1, "in stage 1, each rank keeps a share of the optimizer's numbers and of the master weights"),
    sharing(2, "in stage 2, also of the gradients"),
    sharing(3, "in stage 3, also of the weights"),
    Criterion("exact", 0.3, "no share is rounded", exactly, ROUNDED, after=("stage-1", "stage-2", "stage-3")),
    consolidation="Of 16 bytes a parameter, 12 are the optimizer's: so stage 1 saves most of what there is to save, "
    "and only stage 3 goes on shrinking with every rank.",
    inputs=("parameters", "ranks"),
    repeats=False,
    fits=lambda case, arguments, seen: len(seen.stages) == 4,
)
