# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 14 Where does the time go?
#
# After this lab you can
#
# - count the operations of a training step, before anything is measured,
# - say of the time of each [rank](GLOSSARY.md#rank), a process with a number, how much goes into computing, how much
#   into communication that is [hidden](GLOSSARY.md#overlap) behind it, how much into communication that is not, and how
#   much into neither,
# - find the rank that all others wait for, although no two ranks' clocks agree,
# - name what makes a step slow, by how much shorter the step would be without it, and mend it.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From Python: lists, dicts, sorting, and generators.
#
# **Lecture.** [16 Where the time goes](../../course/lectures/16_where_time_goes.ipynb) reads such traces by hand.
#
# **Time:** about {{minutes}} minutes.
#
# Run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it with
# your code and run the cell. The next cell runs your code and tells you what it saw. Check as often as you like:
# nothing can break, even if your code hangs. Grading runs the same check on new numbers.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# **Only the cell with your code is handed in and run: import in it what it uses.**
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from IPython.display import display
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function
from torch.utils.flop_counter import FlopCounterMode

from autograde.notebook import Checker, needs
from course.models.decoder import Decoder
from course.profiles.recording import record_steps
from course.profiles.spans import Span
from course.world import World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# ## 1. What a step has to compute
#
# Before you measure a step, count what there is to do. This is what a [token](GLOSSARY.md#token) goes through in a
# small Transformer:

# %% folded=true
# Draws the matrix products of a Transformer.
from course.lab.figures.products_picture import products_picture

products_picture()

# %% [markdown]
# Nearly all of the work is in products of matrices. Each entry of a product is a sum of `k` terms, and each term is a
# multiplication and an addition. So a matrix [m, k] times a matrix [k, n] takes 2 · m · k · n floating point
# *operations*. The tokens of a [batch](GLOSSARY.md#batch) are the rows of the first matrix, the weights are the second
# one: that is **two operations for each weight and token**. A layer has six matrices of weights: four of `width` ×
# `width`, for queries, keys, values and the output of attention, one of `width` × `hidden`, and one of `hidden` ×
# `width`. Behind the last layer comes the head, of `width` × `vocabulary`. The embedding is multiplied with nothing:
# its rows are looked up.
#
# The two products of attention have no weights. In the first, the query of each token is multiplied with the key of
# each token of its own sequence, and both have `width` numbers. In the second, each token adds up the values of all
# tokens of its sequence, each times a score, and a value has `width` numbers, too. So both take `width` multiplications
# and additions for each pair of tokens, and with several heads there are no more and no fewer. (A token may attend only
# to those before it. But most programs compute all scores and mask some of them afterwards, so all count.)
#
# The backward pass makes two products for each product of the forward pass, with weights or without. One gives the
# gradient of the first matrix, the other that of the second, and each takes as many operations as the forward one.


# %% todo="step_flops"
def step_flops(layers, width, hidden, vocabulary, sequences, length) -> dict[str, int]:
    """The operations of a forward and a backward pass of the model in the picture.

    layers: how many it has. width, hidden, vocabulary: sizes of the matrices, as in the
    text above. sequences: how many are in the batch. length: tokens of each sequence.
    Returns a dict: "weights", the operations of products with weights, those of the
    head included, and "attention", those of the two products of attention.
    A multiplication and an addition are two operations, and scores that are masked
    count, too. What is no product of matrices counts nothing: looking tokens up,
    softmax, norms. There are no biases.

    Example: 2 layers of width 8, hidden 32, vocabulary 50, with 3 sequences of 5 tokens
    have 174240 operations with weights, and 14400 of attention.
    """
    ### BEGIN SOLUTION
    in_layer = 4 * width**2 + 2 * width * hidden
    tokens = sequences * length
    return {
        "weights": 6 * (layers * in_layer + width * vocabulary) * tokens,
        "attention": 12 * layers * width * length * tokens,
    }
    ### END SOLUTION


# %% check="step_flops"
check("step_flops")

# %% [markdown]
# PyTorch can count, too. `FlopCounterMode` watches a model, and adds up the products that it makes. This is a model of
# the shape above, with random weights:

# %%
with needs("step_flops"):
    model = Decoder(layers=2, width=8, hidden=32, vocabulary=50)
    tokens = torch.randint(50, (3, 5))
    with FlopCounterMode(display=False) as counter:
        model(tokens).sum().backward()
    print("counted by PyTorch:", counter.get_total_flops())
    print("by your function:  ", sum(step_flops(2, 8, 32, 50, 3, 5).values()))

# %% [markdown]
# Now a model of 6.6 billion weights, with longer and longer sequences:

# %%
with needs("step_flops"):
    for length in (1024, 8192, 65_536):
        flops = step_flops(32, 4096, 16_384, 32_000, 1, length)
        total = sum(flops.values())
        part = flops["attention"] / total
        print(f"{length:6} tokens: {total / length:.1e} each, {part:.0%} for attention")

# %% [markdown]
# With short sequences attention hardly counts, and a rule of thumb will do: **six operations for each weight and
# token**. Divide them by the operations that a GPU can make in a second, and you have the seconds that a step takes at
# least. Mostly it takes two or three times as long. Where does the rest of the time go?
#
# ## 2. What is hidden, and what is not
#
# A [profiler](GLOSSARY.md#profiler) notes what a rank does as *spans*: each has a kind, a start and an end. This is a
# short step of one rank:

# %% folded=true
# Draws the spans of a step, and what the rank does in each moment.
from course.lab.figures.parts_picture import parts_picture

parts_picture()

# %% [markdown]
# The first three rows are what is noted: the step as a whole, operations on tensors, of which one calls another, and
# two all-reduces that run while the rank may compute something else. The last row is what you want to know. While the
# rank computes, communication costs no time: it is *hidden*. Else it is *exposed*: the rank does nothing but wait for
# it. And where the rank neither computes nor communicates, it is *idle*: it waits for samples, for another process on
# its core, or for Python.
#
# Durations cannot be added up. The small operation lies within the large one, so its two seconds are among the four of
# the other. Spans may also overlap without lying within each other, as the two all-reduces could. So ask of each
# *moment* what goes on in it.


# %% todo="exposed"
from course.profiles.spans import Span


def exposed(spans: list[Span]) -> dict[str, float]:
    """Where the time of one rank goes.

    spans: in any order. Each has a `kind`, a `start` and an `end`, in seconds. In spans
    of kind "compute" the rank computes, in those of kind "communication" it
    communicates. All other kinds, such as "step", "launch" or "wait", are neither.
    Spans of any kind may overlap, or lie within each other.
    Returns a dict of four numbers of seconds: how long the rank computes, "computing";
    how long it computes and communicates at the same time, "hidden", which is a part of
    "computing"; how long it communicates and does not compute, "exposed"; how long it
    does neither, "idle". The time looked at goes from the first start to the last end,
    of spans of any kind. In each number a moment counts once. Without spans, all are 0.

    Example: the step in the picture computes for 7 seconds, and communicates for 7, of
    which 3 are hidden and 4 exposed. It lasts 12 seconds, so 1 is idle.
    """
    ### BEGIN SOLUTION
    first = min((span.start for span in spans), default=0.0)
    last = max((span.end for span in spans), default=0.0)

    def covered(*kinds: str) -> float:
        seconds, reached = 0.0, first
        for span in sorted(spans, key=lambda span: span.start):
            if span.kind in kinds and span.end > reached:
                seconds += span.end - max(span.start, reached)
                reached = span.end
        return seconds

    computing, sending = covered("compute"), covered("communication")
    either = covered("compute", "communication")
    parts = {"computing": computing, "hidden": computing + sending - either}
    return parts | {"exposed": either - computing, "idle": last - first - either}
    ### END SOLUTION


# %% check="exposed"
check("exposed")

# %% [markdown]
# Now real steps. Four ranks train the Transformer of section 1, wrapped in
# [DistributedDataParallel](GLOSSARY.md#distributeddataparallel), each on 8 sequences of 32 tokens, and PyTorch's
# profiler notes what each rank does in three steps. `record_steps` makes spans of what it has noted:


# %%
def recorded(lengths: list[int]) -> list[Span]:
    """The spans of this rank in three steps. lengths: by rank, of its sequences."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Decoder(4, 128, 512, 1000), bucket_cap_mb=1)
    tokens = torch.randint(1000, (8, lengths[dist.get_rank()]))

    def step(number: int) -> None:
        model.zero_grad()
        with record_function("forward"):
            scores = model(tokens).flatten(0, 1)
            loss = functional.cross_entropy(scores, tokens.flatten())
        with record_function("backward"):
            loss.backward()

    return record_steps(step, 3)


traces = world.run(recorded, [32, 32, 32, 32], init="torch")
print("spans of each rank:", *map(len, traces))
for span in traces[0][:5]:
    start, end = 1e3 * span.start, 1e3 * span.end
    print(f"{span.kind:8}{start:7.2f} to {end:7.2f} ms", span.name)

# %% [markdown]
# The first span of each trace is the first step as a whole. This is where the time of that step goes, by your function:

# %% folded=true
# Draws what your function says of the first step of each rank.
from course.lab.figures.parts_bars import parts_bars


def of_first_step(traces: list[list[Span]]) -> list[list[Span]]:
    """By rank, the spans that begin within the first step."""
    return [[span for span in own if span.start < own[0].end] for own in traces]


with needs("exposed"):
    parts = [exposed(spans) for spans in of_first_step(traces)]
    display(parts_bars(parts, "A step of four ranks, with equal work"))

# %% [markdown]
# Run these cells again, and the numbers are others. Four ranks that share a few cores also wait for these, and that is
# in all of the bars: a profiler notes when things begin and end, and cannot know why they last. On GPUs the
# [collectives](GLOSSARY.md#collective) are kernels of [NCCL](GLOSSARY.md#nccl), here they are calls of
# [gloo](GLOSSARY.md#gloo); the question, and your function, are the same.
#
# ## 3. Who is late?
#
# A collective cannot be over before the last rank has called it. All others are in it already, and wait: their traces
# say "communication", and nothing is sent. So before you blame the network, find out who came late. That takes the
# traces of all ranks, and each was noted by a clock of its own:

# %% folded=true
# Draws three collectives by the clocks of two ranks, and by one clock.
from course.lab.figures.clocks_picture import clocks_picture

clocks_picture()

# %% [markdown]
# On the left, each rank has noted by its own clock when it called a collective, and when that was over. Rank 1's clock
# is far ahead, and nobody has said how far. But an all-reduce is over on all ranks at nearly the same moment, as nobody
# has the sum before all have brought their part. So the ends tell how far a clock is ahead. On the right, rank 1's
# clock is set back by that, and the starts can be compared: what is hatched is waiting.
#
# *Nearly* the same moment: a rank whose core is busy with something else notes the end of a collective later, as rank 1
# does with the third one here. So one collective is not enough. Take the difference of the ends of each, and of these
# differences a number in the middle, which a few wrong ones do not move. Is that the mean?


# %% todo="late_rank"
from course.profiles.spans import Span


def late_rank(traces: list[list[Span]]) -> list[tuple[int, list[float]]]:
    """Who calls each collective last, and how long the ranks wait for it.

    traces: by rank, from one rank on, the spans of the same collectives in the same
    order, at least one. A span's `start` is when the rank calls the collective, its
    `end` when the rank notes that it is over, in seconds by the rank's own clock.
    You can rely on this: a clock differs from rank 0's by the same time throughout.
    In more than half of the collectives, all ranks note the end within 2 ms of each
    other. In each other one, some ranks, perhaps rank 0, note it too late, by any time.
    Each collective has one rank that calls it last.
    Returns for each collective the rank that calls it last, and the seconds that each
    rank waits, by rank: from its own call to that of the last rank, which waits 0. They
    are right if they are off by less than 10 ms.

    Example: rank 0 has the spans 0 to 8, 10 to 14 and 20 to 25; rank 1 has 105 to 108,
    111 to 114 and 119 to 129. Then rank 1's clock is 100 ahead, and the result is
    [(1, [5, 0]), (1, [1, 0]), (0, [0, 1])].
    """
    ### BEGIN SOLUTION
    from statistics import median

    starts = []
    for own in traces:
        ahead = median(b.end - a.end for a, b in zip(traces[0], own, strict=True))
        starts.append([span.start - ahead for span in own])
    result = []
    for moments in zip(*starts, strict=True):
        last = max(moments)
        result.append((moments.index(last), [last - each for each in moments]))
    return result
    ### END SOLUTION


# %% check="late_rank"
check("late_rank")

# %% [markdown]
# Now the same training once more, but rank 2 gets sequences of 128 tokens, and has more than four times as much to
# compute. Ranks on one machine have the same clock. So the cell sets three clocks wrong, by an hour, by a day and by a
# quarter of a second, before your function sees the traces:

# %%
with needs("late_rank"):
    uneven = world.run(recorded, [32, 32, 128, 32], init="torch")
    wrong = []
    for spans, ahead in zip(uneven, [0, 3600, -86_400, 0.25], strict=True):
        own = [span for span in spans if span.kind == "communication"]
        moved = [(span.start + ahead, span.end + ahead) for span in own]
        wrong.append([Span("communication", *each, "all-reduce") for each in moved])
    for number, (last, waits) in enumerate(late_rank(wrong)):
        told = "".join(f"{1e3 * each:6.0f}" for each in waits)
        print(f"all-reduce {number:2}: rank {last} is last; the ranks wait{told} ms")

# %% [markdown]
# And this is where the time of the first of these steps goes, on each rank:

# %% folded=true
# Draws what your `exposed` says of the first step of each rank.
with needs("exposed", "late_rank"):
    parts = [exposed(spans) for spans in of_first_step(uneven)]
    display(parts_bars(parts, "A step of four ranks, where rank 2 has more to do"))

# %% [markdown]
# Which rank would you look at, by this picture alone? The one that is late has the *least* exposed communication: when
# it calls an all-reduce, all others are there already. What costs the others so much time is no network. It is rank 2.

# %% [markdown]
# ## 4. Which of six?
#
# Now you know what to look at. What is it that makes steps slow? Six causes are common, and here is a step with each of
# them. In all six the same model is trained on three ranks; without the cause, the step would take 47 ms.

# %% folded=true
# Makes six steps on a clock of their own, and draws them.
from course.lab.figures.steps_picture import steps_picture
from course.lab.models.clocked import StepPlan, clocked_step

FIVE = [(0.003, 0.006)] * 5  # seconds of each layer's forward and backward pass
HIDDEN = [(layer, 0.005) for layer in (4, 3, 2, 1)]  # all-reduces, by layer

GOOD = [*HIDDEN, (0, 0.001)]


def planned(buckets=GOOD, work=(1, 1, 1), loading=0.0, wait=0.0, again=()) -> list:
    """A step of three ranks, by what is not as it should be."""
    waits = [[wait] * len(FIVE)] * 3
    return clocked_step(StepPlan(FIVE, buckets, work, [loading] * 3, waits, again))


small = [(layer, 0.0022) for layer in (4, 3, 2, 1, 0) for _ in range(4)]
six = {
    "loader": planned(loading=0.02),
    "synchronisation": planned(wait=0.004),
    "recomputation": planned(again=range(5)),
    "imbalance": planned(work=(1, 1, 1.5)),
    "late bucket": planned([*HIDDEN, (0, 0.02)]),
    "small all-reduces": planned(small),
}
steps_picture(six)

# %% [markdown]
# Three of their words are those of earlier labs: the [recomputation](GLOSSARY.md#recomputation) of lab 13, the
# [buckets](GLOSSARY.md#bucket) of lab 09, and the [latency](GLOSSARY.md#latency) of lab 04.
#
# | | what happens | where it comes from |
# |---|---|---|
# | loader | a rank has no batch yet | samples are read and prepared more slowly than they are used |
# | synchronisation | the device has nothing to do | `.item()`, `print(loss)`, `if loss > 3:` in the loop |
# | recomputation | a forward pass is made twice | to save memory, or for the log |
# | imbalance | one rank computes longer | longer sentences, larger pictures, a slower GPU |
# | late bucket | an all-reduce begins when nothing is left to hide it | one bucket for all, or a large first layer |
# | small all-reduces | each pays the latency anew | a loop over the parameters, with an all-reduce for each |
#
# The second one needs a word. A GPU works on its own: the process only tells it what to do next, and runs ahead. Where
# Python needs a number, the process has to wait until the GPU has done all that it was told. Then the GPU has nothing
# to do, until the process has told it more. It is this pause that costs time, and the trace shows it as "wait".
#
# A cause that you can see need not be the one that matters. Nearly every step waits for its batch for a moment, and
# most have an all-reduce that is not quite hidden. **So do not ask what is there, but by how much shorter the step
# would be without it.** For three of the six you can add up spans, and `seconds`, in the cell below, does that for you.
# In the other three, ranks wait for each other, or for the network, and all of them are in an all-reduce meanwhile.
# What tells these apart?
#
# The traces here are made by a model: `clocked_step` works out from a plan when everything begins and ends, so they are
# the same on any machine, and two spans of one rank overlap only if one of them is communication. This is what rank 0
# does in the step with the late bucket. A "step" and a "part" are made of other spans:

# %%
for span in six["late bucket"][0]:
    times = f"{1e3 * span.start:5.1f} to {1e3 * span.end:5.1f} ms"
    print(f"{span.kind:14}{times}  {span.name}")


# %% todo="diagnose"
def seconds(spans: list, kind: str) -> float:
    """How long all spans of one kind take, added up: given, for you to use."""
    return sum(span.seconds for span in spans if span.kind == kind)


def diagnose(trace: list) -> str:
    """The one of six causes that makes a step slow.

    trace: by rank, from one rank on, the spans of one step, as the six above have them:
    `Span(kind, start, end, name)`, in seconds by one clock for all ranks. Spans of kind
    "step" and "part" are made of others. Spans of kind "compute" are "forward N" and
    "backward N" for layer N, which has its gradient then, and mostly, at the end, one
    "optimizer", which begins when all all-reduces are complete.
    Returns one of these texts:

    "loader": a rank, or each, waits for its batch, in a span of kind "loading".
    "synchronisation": on a rank, or on each, the device has nothing to do because the
        process has waited for a number of it, in spans of kind "wait".
    "recomputation": each rank computes the forward pass of some layers twice: two
        spans of kind "compute" have the same name, such as "forward 3".
    "imbalance": one rank computes longer than the others, who wait for it in their
        all-reduces, spans of kind "communication".
    "late bucket": there are no more all-reduces than layers, and the last one goes on
        for long after all ranks have computed their last gradient, in "backward 0".
    "small all-reduces": there is one for each parameter, so several for each layer,
        and some of them go on for long after that.

    Several may be seen in one trace. One of them costs at least a tenth of the step,
    which would be so much shorter without it; each other one costs less than a
    twentieth. `seconds` may be used; `exposed` and `late_rank` are not there when the
    check runs.

    A single rank communicates nothing. Its trace has no such span.

    Example: spans "loading" from 0 to 3, "forward 0" from 3 to 4 and "backward 0" from
    4 to 6, on one rank, are "loader".
    """
    ### BEGIN SOLUTION
    computed = [seconds(spans, "compute") for spans in trace]
    once = {span.name: span.seconds for span in trace[0] if span.kind == "compute"}
    layers = sum(name.startswith("backward") for name in once)
    sent = [span.end for span in trace[0] if span.kind == "communication"]
    last = max(own.end for spans in trace for own in spans if own.name == "backward 0")
    network = "small all-reduces" if len(sent) > layers else "late bucket"
    costs = {
        "loader": max(seconds(spans, "loading") for spans in trace),
        "synchronisation": max(seconds(spans, "wait") for spans in trace),
        "recomputation": computed[0] - sum(once.values()),
        "imbalance": max(computed) - min(computed),
        network: max(sent, default=0.0) - last,
    }
    return max(costs, key=costs.get)
    ### END SOLUTION


# %% [markdown]
# Try it on the six steps first:

# %%
with needs("diagnose"):
    for name, trace in six.items():
        print(f"{name:18}-> {diagnose(trace)}")

# %% check="diagnose"
check("diagnose")

# %% [markdown]
# And real steps? Here the ranks train the Transformer once more, and one of them gets its batches late: its loader
# sleeps for a fifth of a second. All gradients go in one row. The profiler's names are others than the model's, so the
# cell makes one layer of each pass. Then it asks your function.


# %%
def recorded_late(loading: list[float]) -> list[Span]:
    """The spans of this rank in a step. loading: by rank, how long its loader takes."""
    model, tokens = Decoder(4, 128, 512, 1000), torch.randint(1000, (8, 32))

    def step(number: int) -> None:
        with record_function("loading"):
            time.sleep(loading[dist.get_rank()])
        with record_function("forward"):
            loss = model(tokens).square().mean()
        with record_function("backward"):
            loss.backward()
        dist.all_reduce(torch.cat([each.grad.flatten() for each in model.parameters()]))

    return record_steps(step, 1)


def in_passes(spans: list[Span]) -> list[Span]:
    """Each pass as one span of kind "compute", in place of its operations."""
    kept = [span for span in spans if span.kind in ("loading", "communication")]
    passes = [span for span in spans if span.name in ("forward", "backward")]
    return [*kept, *(Span("compute", *each[1:3], f"{each.name} 0") for each in passes)]


late = world.run(recorded_late, [0.0, 0.0, 0.2, 0.0], init="torch")
late = [*map(in_passes, late)]
display(steps_picture({"a real step": late}))
with needs("diagnose"):
    print("your function says:", diagnose(late))

# %% [markdown]
# All ranks but one are in an all-reduce for most of the step. The network has nothing to do with it.
#
# ## 5. Fetch ahead
#
# A loader that is too slow is the cause that is found most often, and the easiest to repair:

# %% folded=true
# Draws when batches are fetched and used, in turn and at the same time.
from course.lab.figures.fetching_picture import fetching_picture

FETCH, USE = 0.008, 0.010  # seconds


def moments(first: float, after: float, seconds: float) -> list[tuple[float, float]]:
    """When six batches are fetched, or used: each so long after the one before it."""
    starts = [first + number * after for number in range(6)]
    return [(start, start + seconds) for start in starts]


in_turn = moments(0, FETCH + USE, FETCH), moments(FETCH, FETCH + USE, USE)
ahead = moments(0, FETCH, FETCH), moments(FETCH, USE, USE)
fetching_picture({"in turn": in_turn, "ahead, while another batch is in use": ahead})

# %% [markdown]
# As long as a batch takes less time to fetch than to use, nobody has to wait for one but the first. It takes a second
# [thread](https://docs.python.org/3/library/threading.html), which fetches while the first one computes. Reading from a
# disk or a network is mostly waiting, and the operations of PyTorch and NumPy do not hold Python's lock while they
# compute, so two threads do get on at the same time. (What Python itself computes, only one thread does at a time. For
# that there are processes: `DataLoader(num_workers=4, prefetch_factor=2)`.)
#
# Python has what you need. A pool with one thread does what it is given, one after the other:


# %%
def slowly(number: int) -> int:
    time.sleep(0.1)
    return number**2


with ThreadPoolExecutor(1) as pool:  # when the block ends, so does the thread
    results = [pool.submit(slowly, number) for number in (3, 4)]  # returns at once
    print("submitted:", [result.done() for result in results])
    print("waited for:", results[0].result(), results[1].result())

# %% [markdown]
# `result()` waits until the function has returned, and if that raised an error, `result()` raises the same one.
# `next(batches, end)` gives `end` when there are no more batches. A thread with a
# [queue](https://docs.python.org/3/library/queue.html) will do as well.
#
# What makes it difficult is the end. A thread that waits for a place in a full queue waits forever if nobody takes
# anything out any more, and a training that stops early, at an error or because the loss is good enough, does that.
# Inside a generator, a `break` in the loop that uses it appears as an error at the `yield`: `with` blocks and `finally`
# run.

# %% todo="prefetched"
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor


def prefetched(loader: Iterable, depth: int) -> Iterator:
    """Yield the batches of `loader` in order; fetch the next ones while one is in use.

    loader: an iterable of objects of any kind, perhaps without an end. `next` of its
    iterator takes a while, and must not be called by two threads at the same time.
    Asked again after its end, or after an error, it says that it has ended. depth: 1 or
    more.

    The first fetch begins when the first batch is asked for, or before. A batch is in
    use from when it is yielded until the next one is asked for. In this time a thread
    fetches on, until the next `depth` batches are there; it may fetch one more, but no
    further. An error that the loader raises is raised here, where the batch would have
    come that could not be fetched.

    No thread stays behind, neither at the end, nor after an error, nor if the consumer
    stops early: then the generator is closed (Python calls its `close`).

    Example: with a loader of "abcde" and depth 2, while "a" is in use, "b" and "c" are
    fetched, and perhaps "d".
    """
    ### BEGIN SOLUTION
    batches, end = iter(loader), object()
    with ThreadPoolExecutor(1) as pool:  # waits for its thread when the block is left
        ahead = deque(pool.submit(next, batches, end) for _ in range(depth))
        while (batch := ahead.popleft().result()) is not end:
            ahead.append(pool.submit(next, batches, end))
            yield batch
    ### END SOLUTION


# %% check="prefetched"
check("prefetched")

# %% [markdown]
# This is your function at work, with a loader that takes 8 ms for a batch, and a consumer who takes 10 ms:


# %%
def timed(through) -> tuple[list, list]:
    """When six batches were fetched and used. through: makes batches of a loader."""
    fetched, used, began = [], [], time.perf_counter()

    def sleep(moments: list, seconds: float) -> None:
        start = time.perf_counter() - began
        time.sleep(seconds)
        moments.append((start, time.perf_counter() - began))

    def loader():
        for number in range(6):
            sleep(fetched, FETCH)
            yield number

    for _ in through(loader()):
        sleep(used, USE)
    return fetched, used


with needs("prefetched"):
    ahead = timed(lambda loader: prefetched(loader, 2))
    display(fetching_picture({"in turn": timed(iter), "by your function": ahead}))

# %% [markdown]
# ## 6. Repair a step
#
# Here is the step of a training that somebody has written, and it is right: its gradients are the mean over all
# [micro-batches](GLOSSARY.md#micro-batch) of all ranks. It is also slow, for three of the six causes. On the left is
# what a profiler would show of it, with one micro-batch; on the right, what it could be:

# %% folded=true
# Draws a step with one micro-batch, as it is and as it could be.
FORWARD = [("compute", f"forward {layer}", 0.003) for layer in range(5)]
BACKWARD = [("compute", f"backward {layer}", 0.006) for layer in (4, 3, 2, 1, 0)]
ITEM = ("wait", ".item()", 0.008)


def one_after_the_other(*parts: tuple) -> list[list[Span]]:
    """Three ranks that do the same."""
    spans = [Span("step", 0.0, 0.0, "step")]
    for kind, name, seconds in parts:
        spans.append(Span(kind, spans[-1].end, spans[-1].end + seconds, name))
    return [spans] * 3


many, one = [("communication", "all_reduce", each) for each in (0.0015, 0.006)]
slow = one_after_the_other(*FORWARD, *BACKWARD, *FORWARD, ITEM, *[many] * 20, ITEM)
good = one_after_the_other(*FORWARD, *BACKWARD, one, ITEM)
steps_picture({"as it is": slow, "as it could be": good})


# %%
def slow_step(model, micro_batches, loss_fn) -> float:
    """One step's gradients. Returns the mean loss of all micro-batches of all ranks.

    Afterwards `.grad` of each parameter is the mean of its gradients in them. Frozen
    parameters, which need no gradient, have none.
    """
    model.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        with torch.no_grad():  # for the log
            total += loss_fn(model(x), y).item() / len(micro_batches)
    for parameter in model.parameters():
        if parameter.requires_grad:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    mean = torch.tensor(total)
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


# %% [markdown]
# Find the three places. Then write the step anew.
#
# Tensors become one row by `torch.cat([each.flatten() for each in tensors])`, and a row becomes parts again by
# `row.split([3, 4, 5])`, which copies nothing; `part.view_as(tensor)` has the tensor's shape. On a GPU,
# `torch.cuda.set_sync_debug_mode("warn")` warns of each wait. Here your code runs on CPUs, where none takes time, so
# the check counts them: what would wait on a GPU is each call that gives Python a number or the CPU an array, such as
# `item()`, `float(loss)`, `tolist()`, `.cpu()`, `print(loss)` or `if loss > 3`.

# %% todo="repaired_step"
import torch
import torch.distributed as dist


def repaired_step(model, micro_batches: list, loss_fn) -> float:
    """What `slow_step` does, without what makes it slow.

    micro_batches: at least one pair (x, y), as many on all ranks. loss_fn: of outputs
    and y, a tensor of one number. Each parameter gets a gradient in each micro-batch,
    except frozen ones, whose `.grad` is None from the beginning. In `.grad` of the
    others there may be something from before. All tensors have one dtype. The
    optimizer's step comes later, and is not yours.

    Example: with 24 parameters and 4 micro-batches, `slow_step` waits for the device 5
    times, makes 25 all-reduces and 8 forward passes; yours waits once, and makes one or
    two all-reduces and 4 forward passes.
    """
    ### BEGIN SOLUTION
    model.zero_grad()
    total = torch.zeros(())
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        total = total + loss.detach()
    trained = [each for each in model.parameters() if each.requires_grad]
    row = torch.cat([each.grad.flatten() for each in trained] + [total.view(1)])
    dist.all_reduce(row)
    row /= dist.get_world_size()
    parts = row.split([each.numel() for each in trained] + [1])
    for parameter, part in zip(trained, parts, strict=False):
        parameter.grad = part.view_as(parameter)
    return parts[-1].item()
    ### END SOLUTION


# %% check="repaired_step"
check("repaired_step")

# %% [markdown]
# Both steps on four ranks, with a model of 24 layers and 4 micro-batches. The times are of this machine, and of this
# minute; the numbers of all-reduces hold anywhere.


# %%
def ten_steps(step) -> tuple[float, float]:
    """Milliseconds of a step, and the mean loss that it returns."""
    torch.manual_seed(dist.get_rank())
    model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(24)])
    batches = [(torch.randn(16, 32), torch.randn(16, 32)) for _ in range(4)]
    began = time.perf_counter()
    for _ in range(10):
        loss = step(model, batches, functional.mse_loss)
    return 100 * (time.perf_counter() - began), float(loss)


with needs("repaired_step"):
    for step in (slow_step, repaired_step):
        milliseconds, loss = world.run(ten_steps, step, init="torch")[0]
        calls = sum(event["kind"] == "allreduce" for event in world.events[0]) / 10
        told = f"{milliseconds:6.1f} ms, all-reduces: {calls:2.0f}, loss {loss:.6f}"
        print(f"{step.__name__:14}{told}")

# %% [markdown]
# ## What comes next
#
# What you wrote here, tools do for profiles of a hundred thousand spans: [Holistic Trace
# Analysis](https://hta.readthedocs.io/en/latest/) splits the time of each rank and finds what is hidden, and
# [Perfetto](https://ui.perfetto.dev) shows a trace, as lecture 16 writes one. Take both to the next training that seems
# slow, and ask in the order of this lab: what is there to do at least? What of the rest is exposed, and what is idle?
# Who is late? And how long would the step be without it? Read:
#
# - Kaplan and others, [*Scaling Laws for Neural Language Models*](https://arxiv.org/abs/2001.08361) (2020), section
#   2.1, on the operations of a token
# - Chowdhery and others, [*PaLM*](https://arxiv.org/abs/2204.02311) (2022), appendix B, on what part of a machine's
#   operations a training uses
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. How much of it?** The model of 6.6 billion weights in section 1 is trained on a GPU that can make 4 · 10¹⁴
# operations a second. A step on 8 sequences of 8192 tokens takes 15 seconds. How many percent of the operations that
# the GPU could make in this time does the step need?

# %% answer="percent_of_peak"
check.answer("percent_of_peak", None)

# %% [markdown]
# **2. A faster network?** "All-reduces take 40 percent of our step, so a faster network will save us a third," says a
# colleague, and shows you the profile of rank 0. What do you ask to see before anything is bought, and what could it
# show?

# %% [markdown] answer="faster_network"
# How much of the 40 percent is exposed: what is hidden behind the backward pass costs nothing now, and a faster network
# saves nothing of it. Then the traces of the other ranks, by one clock. A rank that waits for a late one is in its
# all-reduce, too, and looks as if the network were slow. If one rank is late again and again, its work, its samples or
# its machine have to be looked at; the network is idle meanwhile. Only what is exposed after the last rank has called
# is the network's part. And even this may rather want larger buckets, or an all-reduce that begins earlier.
