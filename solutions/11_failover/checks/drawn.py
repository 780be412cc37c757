"""The random numbers that come next on a rank, by its luck."""

from ..shared.training import generator_after, next_number

FEW = 20  # draws


def after(luck):
    """The number that comes next. luck: [seed, how many numbers are drawn before]."""
    return next_number(generator_after(luck))


def some_draws_later(numbers, lucks):
    """Whether each number comes next after one to FEW more draws."""
    every = ([after([luck[0], luck[1] + more]) for more in range(1, FEW + 1)] for luck in lucks)
    return all(number in each for number, each in zip(numbers, every, strict=False))
