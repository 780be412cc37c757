"""What comes next from a generator, by its luck: [seed, how many numbers are drawn before]."""

from ..shared.training import generator_after, next_number

FEW = 20  # draws


def after(luck):
    """The number that comes next."""
    return next_number(generator_after(luck))


def later(luck):
    """What comes next after one to FEW more draws."""
    return {after([luck[0], luck[1] + more]) for more in range(1, FEW + 1)}
