"""The training that was made, by its weights in the end: the right one, or a known mistake."""

from autograde.rubric import BY_RULES, Rounding, Same, on_ranks, once, trained_wrongly

from .runs import drawn, replayed

NEAR = Rounding(1e-6)
RULES = ("own-gradient-only", "gradients-summed", "gradient-carried-over")
FORMS = {
    "lr_not_scaled": {"times": 1},
    "lr_scaled_by_local_size": {"times": lambda call: call.arguments["local_size"]},
    "lr_scaled_twice": {"times": lambda call: call.size**2},
    "momentum": {"momentum": 0.0},
}


@once
def right(call):
    return replayed(call) if drawn(call) else None


def final(call, **how):
    return (replayed(call, **how) if how else right(call))[-1].states if drawn(call) else None


@once
def known(call):
    """The epochs of the training that was made: the right one, or a known mistake; None if it is none of these."""
    if not drawn(call) or TRAINED(call) is None:
        return right(call)
    forms = *FORMS.values(), *({"rules": BY_RULES[key]} for key in RULES)
    made = ({name: each(call) if callable(each) else each for name, each in how.items()} for how in forms)
    replays = (replayed(call, **how) for how in made)
    return next((epochs for epochs in replays if TRAINED.gives(call, epochs[-1].states)), None)


TRAINED = Same(lambda call: call.of("state"), final, on_ranks("the model in the end"), NEAR)
TRAINED_WRONGLY = trained_wrongly(
    final,
    *RULES,
    text="""
    lr-not-scaled: On {size:rank} the learning rate is {lr}, as for one. An average does not grow with the number of
    gradients: with it, a step for the batches of {size:rank} is as long as a step for one batch.

    lr-scaled-by-local-size: The learning rate is {local_size} times that of one rank. There are {size:rank},
    {local_size} of them on each node. How many batches go into a step?

    lr-scaled-twice: The learning rate is scaled more than once on {size:rank}. What does `make_optimizer` do with it?

    momentum: The model in the end is that of SGD without momentum; expected is momentum 0.9. Is one optimizer used for
    all epochs?
    """,
    **FORMS,
)
