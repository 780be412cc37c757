"""The check of `train`: how it starts, what it trains on, its history, and its checkpoints."""

from autograde.fixtures.numbered_net import BUFFERS, state_of
from autograde.rubric import (
    WEIGHED,
    CallCheck,
    Criterion,
    DeviceCriterion,
    Errors,
    Mistakes,
    Ranks,
    Same,
    Words,
    changed,
    first_of,
    on_ranks,
)
from course.watch.notes import note_of

from ..probes import train
from ..probes.stand_ins import LEFT
from .draws import draws, trained_at_all
from .files import OTHER_WRITERS, WRITERS, content
from .history import REPORT, REPORTED_WRONGLY, come_about, has_history, seconds, tested
from .runs import net
from .states import whole
from .trained import NEAR, TRAINED, TRAINED_WRONGLY

words = Words("""
collective-on-some-ranks: A deadlock. The ranks wait for each other: {places}. Each of these functions needs every rank.
Which call do some of the ranks skip?
""")


def start(call, rank=0, buffers=None):
    """By rank, the state of a model before it is trained. rank: whose, None for each its own; buffers: the same."""
    came = [state_of(net(seed)) for seed in call.arguments["models"]]
    first = [came[own if rank is None else rank] for own in range(call.size)]
    return [one | {name: came[own][name] for name in BUFFERS} if buffers else one for own, one in enumerate(first)]


def broke_off(run):
    """The check's functions communicate by mpi4py: where ranks wait in other ones, or do not come."""
    places = {}
    for rank, (log, through) in enumerate(zip(run.of_call(run.reached, notes=True), run.came_through, strict=True)):
        waits = next((event for event in log[::-1] if event["library"] == "mpi4py" and event["end"] is None), None)
        called = next((note_of(event) for event in log[::-1] if note_of(event)), LEFT)
        name = "optimizer.step" if called == LEFT else called
        place = "at the end of `train`" if through else waits and f"in `{name}`, cell line {waits['line']}"
        places.setdefault(place, []).append(rank)
    if run.state != "hang" or run.full or len(places) < 2 or None in places:
        return None
    told = "; ".join(f"{Ranks(ranks)} {place}" for place, ranks in places.items())
    return words("collective-on-some-ranks", run.report, places=told)


def case(rng, size, local_size, pad=1, epochs=3):
    """Each rank draws five samples an epoch, three and two. pad: how many of them are there twice."""
    n = 5 * size - pad

    def order():
        ids = rng.sample(range(n), n)
        return [[*ids, *ids][rank : 5 * size : size] for rank in range(size)]

    call = {"local_size": local_size, "samples": n, "batch_size": 3, "tests": 2 * size + 1, "epochs": epochs}
    call |= {"lr": round(rng.uniform(0.02, 0.04), 4), "models": rng.sample(range(2**31), size)}
    call |= {"orders": [order() for _ in range(3)], "other": order(), "losses": [rng.uniform(0, 2) for _ in range(3)]}
    call |= {name: rng.randrange(2**31) for name in ("data", "test_data", "loader_seed")}
    return {"size": size, "calls": [call]}


def cases(rng):
    """Ranks on nodes of two, on nodes of their own, where a rank's part weighs more, and on one."""
    return [case(rng, 4, 2, pad=2), {**case(rng, 2, 1), WEIGHED: True}, case(rng, 3, 3)]


CHECK = CallCheck.of(
    "train",
    train.PROBE,
    cases,
    Criterion(
        "start",
        0.5,
        "all ranks start from the model that rank 0 has",
        first_of(trained_at_all, Same(lambda call: call.of("begin"), start, on_ranks("the model at the start"), NEAR)),
        Mistakes(
            """
            no-broadcast: Each rank starts with the model that it came with, so the ranks train different models. How do
            the other ranks get rank 0's model?

            buffers-not-broadcast: All ranks start with rank 0's parameters, and each with its own buffers, such as
            BatchNorm's running statistics. What else belongs to a model's state?
            """,
            changed(start, no_broadcast={"rank": None}, buffers_not_broadcast={"buffers": True}),
        ),
    ),
    Criterion(
        "trained",
        1.25,
        "the model is trained for `epochs` epochs, each over all ranks' shards of `train_set`, with `batch_size`, "
        "`seed` and the learning rate that `make_optimizer` makes of `lr`",
        first_of(draws, TRAINED),
        TRAINED_WRONGLY,
        after=("start",),
    ),
    Criterion(
        "history",
        1,
        "each rank returns the list of dicts, with numbers that are the same on all ranks, apart from `seconds`",
        first_of(has_history, seconds, tested, REPORT, come_about),
        REPORTED_WRONGLY,
        after=("start", "trained"),
    ),
    Criterion(
        "checkpoint",
        0.75,
        "after each epoch rank 0, and no other rank, writes a dict to `checkpoint` by `torch.save`; its entry `model` "
        "is the model's state dict",
        first_of(WRITERS, content),
        OTHER_WRITERS,
    ),
    DeviceCriterion(0.5, "the model is on the device that `setup` chooses"),
    repeats=False,
    gpu_case=lambda rng: case(rng, 2, 2, epochs=1),
    broke_off=broke_off,
    errors=Errors(
        """
        wrapper-not-used: An error on {who}: `hvd.DistributedOptimizer` is called, and steps are made by another
        optimizer, which does not wait for the averages ({error}). What does `hvd.DistributedOptimizer` give you?
        """,
        wrapper_not_used="Gradients were computed more than backward_passes_per_step times",
    ),
    fits=lambda case, arguments, seen: whole(seen.begin, seen.state),
    consolidation="The loop is that of an ordinary training: what is special about many ranks is in the functions that "
    "it calls. All ranks do everything, except for writing the file.",
)
