"""The check of `average_gradients`: steps of training on several ranks, beside one process."""

from autograde.rubric import CallCheck, Criterion, DeviceCriterion, first_of

from ..probes import average_gradients
from .averages import AVERAGE, AVERAGE_OR_SUM, known, weights_stay
from .traffic import APART, TOGETHER, one_for_each, something_sent
from .training_plan import even, fits, on_gpu, plan, uneven


def cases(rng):
    """Ranks that are alike, on both networks, with something in `.grad` beforehand; graphs that differ; a rank without
    any gradient."""
    yield 4, plan("late", 0, 0)
    yield 3, plan("quick", 0, 0, left=True), plan("late", 0, 0)
    yield 4, plan("late", 0, 0, crooked=True)
    yield 2, plan("quick", 0, 0, crooked=True, left=True), plan("late", 0, 0, crooked=True)
    yield 2, plan("quick", 0, idle=rng.randrange(2))


CHECK = CallCheck.of(
    "average_gradients",
    average_gradients.PROBE,
    cases,
    Criterion(
        "average",
        1,
        "afterwards `.grad` of each trained parameter is the average of all ranks' gradients, also of one that is not "
        "contiguous",
        first_of(TOGETHER, weights_stay, something_sent, AVERAGE),
        known(),
        on=even,
    ),
    Criterion(
        "missing",
        1,
        "where a rank has no gradient of a parameter, or of any parameter, zeros count for it, and it gets the "
        "average, too",
        first_of(TOGETHER, weights_stay, something_sent, AVERAGE_OR_SUM),
        known(),
        on=uneven,
        after=("average",),
    ),
    Criterion(
        "all-reduces",
        0.75,
        "there is one all-reduce for each trained parameter, and no other communication",
        first_of(something_sent, one_for_each),
        on=even,
    ),
    DeviceCriterion(0.25, "it works on a module that is on a GPU"),
    repeats=False,
    fits=fits,
    broke_off=APART,
    gpu_case=on_gpu(crooked=True),
    consolidation="A rank that has nothing to bring still has to come: a collective that one rank leaves out meets the "
    "next one of the others, or none at all.",
)
