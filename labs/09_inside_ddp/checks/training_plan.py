"""Plans of steps, as arguments of a call; see `shared.plan`."""

from ..shared.crooked_net import TRAINED


def plan(network, *steps, **more):
    """A plan of these steps, of each the number of backward passes before the one that is averaged over."""
    about = {"left": False, "crooked": False, "broken": None, "nested": False, "idle": None, "beside": False}
    return {"network": network, "steps": [*steps], **about, **more}


def on_gpu(**more):
    """For `CallCheck.of(gpu_case=...)`: a step on two ranks."""
    return lambda rng: {"size": 2, "calls": [plan("plain", 0, seed=rng.getrandbits(30), **more)]}


def uneven(arguments):
    """Calls in which ranks use their parameters in another order, or not all of them."""
    return arguments["crooked"] or arguments["idle"] is not None


def even(arguments):
    """All other calls."""
    return not uneven(arguments)


def fits(case, arguments, seen):
    """Whether evidence has all steps and gradients, or says what came instead."""
    whole = len(seen.steps) == len(arguments["steps"]) or (seen.kind and not seen.steps)
    return bool(whole) and all({*step.gradients} == {*TRAINED} for step in seen.steps)
