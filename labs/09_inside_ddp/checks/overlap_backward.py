"""The check of `overlap_backward`: steps of training beside one process; and when each gradient left."""

from autograde.rubric import CallCheck, Criterion, DeviceCriterion, Words, first_of

from ..probes import overlap_backward
from .averages import AVERAGE, known, weights_stay
from .traffic import APART, BYTES, TOGETHER, begins_early, in_time, one_for_each, something_sent, unwaited
from .training_plan import fits, on_gpu, plan

NAMES = {count: name for name, count in BYTES.items()}
words = Words("""
no-function: `overlap_backward` returns {kind}. Expected is a function, which is called after each backward pass.
""")


def function_returned(call):
    kinds = [seen.kind for seen in call.seen if seen.kind]
    return words("no-function", kind=kinds[0]) if kinds else None


def of_one_gradient(call, n, event):
    return {NAMES[event["bytes"]]} if event["bytes"] in NAMES else ()


def cases(rng):
    """Three steps each, on both networks; something in `.grad` beforehand."""
    yield 4, plan("late", 0, 0, 0)
    yield 2, plan("quick", 0, 0, 0, left=True), plan("late", 0, 0, 0)
    yield 3, plan("late", 0, 0, 0, left=True), plan("quick", 0, 0, 0)


CHECK = CallCheck.of(
    "overlap_backward",
    overlap_backward.PROBE,
    cases,
    Criterion(
        "average",
        1.25,
        "after each step, `.grad` of each trained parameter is the average over the ranks",
        first_of(function_returned, TOGETHER, weights_stay, something_sent, AVERAGE),
        known(),
    ),
    Criterion(
        "all-reduces",
        0.25,
        "in each step there is one all-reduce for each trained parameter, and no other communication",
        first_of(function_returned, something_sent, one_for_each),
    ),
    Criterion(
        "overlap",
        1.25,
        "each all-reduce is started as soon as its gradient has been accumulated, and nothing is waited for before the "
        "backward pass is over",
        first_of(function_returned, something_sent, begins_early, unwaited, in_time(of_one_gradient)),
    ),
    DeviceCriterion(0.25, "it works on a module that is on a GPU"),
    repeats=False,
    fits=fits,
    broke_off=APART,
    gpu_case=on_gpu(),
    consolidation="What is sent while there is still something to compute costs no time. A handle is the promise that "
    "the sum will come: until you have waited for it, the tensor belongs to the network.",
)
