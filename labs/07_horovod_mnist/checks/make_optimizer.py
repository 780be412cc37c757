"""The check of `make_optimizer`: its learning rate, its options, and its steps beside those of a replay."""

from autograde.fixtures.numbered_net import SIZES, TRAINED, NumberedNet, state_of
from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    Rounding,
    Rules,
    Same,
    Words,
    changed,
    first_of,
    of_seen,
    on_ranks,
    trained_wrongly,
)

from ..probes import make_optimizer
from ..probes.make_optimizer import PARAMETERS
from .states import replicas

MOMENTUM = 0.9
NEAR = Rounding(1e-6)
DEFAULTS = {"momentum": MOMENTUM, "dampening": 0.0, "weight_decay": 0.0, "nesterov": 0.0, "maximize": 0.0}
words = Words("""
no-optimizer: The function returns a value of type {kind}; expected is an optimizer.

momentum: The optimizer has momentum {actual:g}; expected is {expected:g}. It counts from the second step on.

sgd-options: The optimizer has {name} = {actual:g}, which is not SGD's default.

wrong-step: Step {step} is not exactly what SGD makes of the averaged gradients: the weights differ by more than
rounding. Is anything else done to the gradients on their way from rank to rank?

no-parameter-names: Horovod calls one of the parameters {name!r}, which is not its name in the model. It matches the
ranks' gradients by name.

wrapper-not-used: `hvd.DistributedOptimizer` is called, and the optimizer that you return is another one: it steps
without the averages, and Horovod stops the next backward pass with an error. What does `hvd.DistributedOptimizer` give
you?

not-by-horovod: The optimizer is not Horovod's, which averages the first gradients while `backward` still computes the
others.
""")


def there(call):
    other = next((seen for seen in call.seen if not seen.options), None)
    return words("no-optimizer", kind=other.kind) if other else None


def rate(call, times=None):
    return [call.arguments["lr"] * (times or call.size)] * call.size


def options(call):
    return [{name: each for name, each in seen.options.items() if name != "lr"} for seen in call.seen]


def other_option(call, off):
    name, actual = off.place[1], options(call)[off.place[0]][off.place[1]] or 0.0
    about = {"actual": actual, "expected": MOMENTUM, "name": name}
    return words("momentum" if name == "momentum" else "sgd-options", **about)


def steps(call, rules=None):
    """By rank and step, the parameters, as SGD with the options that the optimizer has changes them."""
    given = {name: each or 0.0 for name, each in call.seen[0].options.items()}
    given |= {name: bool(given.get(name)) for name in ("nesterov", "maximize")}
    about, states = call.arguments, []
    trained = replicas(about, [NumberedNet(about["model"]) for _ in call.seen], rules, **given)
    for order in about["orders"]:
        trained.step([[ids] for ids in order])
        states.append([{name: state_of(model)[name] for name in PARAMETERS} for model in trained.models])
    return [[*own] for own in zip(*states, strict=True)]


def wrapper_used(call):
    return words("wrapper-not-used") if any(call.of("unused")) else None


def summed_for_scaled(call):
    """Sign: the learning rate is as for one rank, and the gradients are summed. One rank cannot tell."""
    if call.size == 1:
        return None
    return not there(call) and RATE.gives(call, rate(call, 1)) and STEPS.gives(call, steps(call, Rules(combine="sum")))


def by_horovod(call):
    for seen in call.seen if call.size > 1 else ():
        if seen.names is None:
            return words("not-by-horovod")
        if wrong := [own for own, name in zip(seen.names, TRAINED, strict=False) if own != name]:
            return words("no-parameter-names", name=wrong[0])
    return None


RATE = Same(lambda call: [seen.options["lr"] for seen in call.seen], rate, on_ranks("the learning rate"), NEAR)
OTHER_RATES = Mistakes(
    """
    summed-for-scaled: On {size:rank} the learning rate is {actual}, as for one, and your optimizer adds the ranks'
    gradients up. With SGD, steps are as long as they should be, but by the sum, where the learning rate should do it:
    with another optimizer, such as Adam, they would not be.

    lr-not-scaled: On {size:rank} the learning rate is {actual}, as for one. An average does not grow with the number of
    gradients: with it, a step for the batches of {size:rank} is as long as a step for one batch.

    lr-scaled-by-local-size: On {size:rank} the learning rate is {actual}: it is multiplied by {local_size}, the number
    of ranks on a node. How many batches go into a step?

    lr-scaled-twice: On {size:rank} the learning rate is {actual}, where {expected} is expected: it is scaled more than
    once.
    """,
    changed(
        rate,
        lr_not_scaled={"times": 1},
        lr_scaled_by_local_size={"times": lambda call: call.arguments["local_size"]},
        lr_scaled_twice={"times": lambda call: call.size**2},
    ),
    summed_for_scaled=summed_for_scaled,
)
STEPS = Same(
    of_seen("states"),
    steps,
    on_ranks("the model", "step"),
    NEAR,
    otherwise=lambda call, off: words("wrong-step", step=off.place[1] + 1),
)
OTHER_STEPS = trained_wrongly(steps, "own-gradient-only", "gradients-summed")


def whole(case, arguments, seen):
    """Whether there are all options, names and numbers of an optimizer that steps."""
    sizes, stepped = {name: SIZES[name] for name in PARAMETERS}, seen.options and not seen.unused
    return (
        {*seen.options} in ({"lr", *DEFAULTS}, set())
        and len(seen.names or TRAINED) == len(TRAINED)
        and (len(seen.states) == len(arguments["orders"]) or not stepped)
        and all({name: len(own) for name, own in state.items()} == sizes for state in seen.states)
    )


def case(rng, size, local_size):
    """Batches of two for three steps."""
    ids = [rng.sample(range(2 * size), 2 * size) for _ in range(3)]
    call = {"orders": [[order[2 * rank : 2 * rank + 2] for rank in range(size)] for order in ids], "samples": 2 * size}
    call |= {"local_size": local_size, "lr": round(rng.uniform(0.01, 0.03), 4)}
    return size, {**call, "model": rng.randrange(2**31), "data": rng.randrange(2**31)}


def cases(rng):
    """Ranks on nodes of two, and on one."""
    return [case(rng, *each) for each in ((4, 2), (3, 3), (1, 1), (2, 1))]


CHECK = CallCheck.of(
    "make_optimizer",
    make_optimizer.PROBE,
    cases,
    Criterion("rate", 1, "with N ranks, its learning rate is N times `lr`", first_of(there, RATE), OTHER_RATES),
    Criterion(
        "options",
        0.5,
        "it is SGD with momentum 0.9; all its other options keep their defaults",
        first_of(
            there,
            Same(options, lambda call: [DEFAULTS] * call.size, on_ranks("the options"), NEAR, otherwise=other_option),
        ),
    ),
    Criterion(
        "averages",
        1,
        "each step is made with the average of the ranks' gradients",
        first_of(there, wrapper_used, STEPS),
        OTHER_STEPS,
        after=("options",),
    ),
    Criterion(
        "horovod",
        0.5,
        "Horovod averages them, and calls them by the model's `named_parameters()`",
        first_of(there, by_horovod),
        after=("averages",),
    ),
    fits=whole,
    consolidation="Horovod averages, so a step does not grow by itself when there are more ranks. The linear scaling "
    "rule makes it longer on purpose, in one place and for any number of ranks.",
)
