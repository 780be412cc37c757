"""The check of `ShuffledSampler`: one order for all ranks, which follows from seed and epoch and from nothing else."""

from autograde.rubric import (
    ROTATION,
    CallCheck,
    Criterion,
    begun_anew,
    dealt_out,
    drawn_anew,
    fits_plan,
    generators,
    repeated,
    shared_out,
)

from ..probes import ShuffledSampler


def cases(rng):
    """Two and three padded samples, evenly many, fewer than ranks; on 4 ranks, 3 and 2.

    Each with four seeds and eight epochs: a sampler that puts few orders to use is noticed in each grading.
    """

    def call(n, salt):
        seed = rng.randrange(1, 10**6)
        epochs = one, two, *_ = [*rng.sample(range(1, 8), 4), *rng.sample(range(8, 100), 3)]
        samplers, passes = [], []
        plan = [(False, seed, (None, None, 0, one, two, None, one, *epochs[2:])), (False, seed, (two,))]
        plan += [(False, each, (None, *epochs)) for each in (seed + 1, seed + 1000, None)]
        plan += [(False, 0, (None,))]
        plan += [(True, each, (None, *epochs)) for each in (seed, seed + 1, seed + 1000, 0)]
        for alone, each, settings in plan:
            passes += [[len(samplers), epoch] for epoch in settings]
            samplers.append([n, alone, each])
        passes.append([len(samplers), one, 1, two])  # set to another epoch once it has yielded a sample
        samplers.append([n, False, seed])
        return {"samplers": samplers, "passes": passes, "luck": rng.randrange(10**6), "salt": salt}

    def case(size, sizes, salt=0):
        shares = [[n, ranks, dealt_out(range(n), ranks)] for n in sizes for ranks in {1, size}]
        calls = [call(n, 0 if number else salt) for number, n in enumerate(sizes)]
        return {"size": size, "calls": calls, "shares": shares}

    many = [4 * rng.randint(3, 6) + rest for rest in (2, 1, 0)]
    cases = [case(4, [*many, 4 * rng.randint(20, 30) + 3, 3, 2, 1])]
    cases += [case(3, [3 * rng.randint(4, 7) + 1, 3 * rng.randint(4, 8), 2], rng.randrange(1, 2**31))]
    return [*cases, case(2, [13, 1])]


FOLLOWS = (
    "without communication, the order follows from `seed` and the epoch, and from nothing else: another pass, another "
    "sampler, another number of ranks, and another process on another day have the same one"
)
SHARED = (
    "in each epoch, all ranks share one order of all samples, which is dealt out to them in the way of `shard`; when "
    "it runs out, dealing starts again from its first entry"
)
LEFT_ALONE = (
    "the global random generators of Python, numpy and torch stay in the state in which they are: other code draws "
    "from them"
)
INTS = "it yields ints, and `len` says how many; it is derived from torch's `Sampler`"
CHECK = CallCheck.of(
    "ShuffledSampler",
    ShuffledSampler.PROBE,
    cases,
    Criterion("follows", 1, FOLLOWS, repeated),
    Criterion("anew", 1, "for each epoch and each seed the order is drawn anew", drawn_anew, ROTATION),
    Criterion("shared", 1, SHARED, shared_out, after=("follows",)),
    Criterion("generators", 0.5, LEFT_ALONE, generators),
    Criterion("ints", 0.5, INTS, begun_anew),
    repeats=False,  # each call has several samplers and passes
    fits=fits_plan,
    consolidation="What ranks have to agree on without talking must follow from what they all know: here, the seed and "
    "the epoch. A generator of its own leaves everybody else's random numbers alone.",
)
