"""What a call of a checkpoint's functions begins with: random numbers by their luck, and the state of a training."""

from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_files import state_of

from ..shared.training import generator_after, next_number

FEW = 20  # draws


def after(luck):
    """The number that comes next. luck: [seed, how many numbers are drawn before]."""
    return next_number(generator_after(luck))


def some_draws_later(numbers, lucks):
    """Whether each number comes next after one to FEW more draws."""
    every = ([after([luck[0], luck[1] + more]) for more in range(1, FEW + 1)] for luck in lucks)
    return all(number in each for number, each in zip(numbers, every, strict=False))


def state_after(seed, optimizer, **how):
    """The state dicts of a model and an optimizer, as plain JSON. how: see `after_steps`."""
    return state_of(*after_steps(seed, optimizer, **how))
