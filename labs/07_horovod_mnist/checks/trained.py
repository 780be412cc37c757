"""The training that was made, by its weights in the end: the right one, or a known mistake."""

from autograde.rubric import Rounding, Rules, Same, on_ranks, once

from .runs import drawn, replayed

NEAR = Rounding(1e-6)


@once
def right(call):
    return replayed(call) if drawn(call) else None


def final(call, **how):
    return (replayed(call, **how) if how else right(call))[-1].states if drawn(call) else None


TRAINED = Same(lambda call: call.of("state"), final, on_ranks("the model in the end"), NEAR)
FORMS = {
    "lr_not_scaled": {"times": 1},
    "lr_scaled_by_local_size": {"times": lambda call: call.arguments["local_size"]},
    "lr_scaled_twice": {"times": lambda call: call.size**2},
    "own_gradient_only": {"rules": Rules(combine="own")},
    "gradients_summed": {"rules": Rules(combine="sum")},
    "gradient_carried_over": {"rules": Rules(zeroed=False)},
    "momentum": {"momentum": 0.0},
}


@once
def known(call):
    """The epochs of the training that was made: the right one, or a known mistake; None if it is none of these."""
    if not drawn(call) or TRAINED(call) is None:
        return right(call)
    made = ({name: each(call) if callable(each) else each for name, each in how.items()} for how in FORMS.values())
    replays = (replayed(call, **how) for how in made)
    return next((epochs for epochs in replays if TRAINED.gives(call, epochs[-1].states)), None)
