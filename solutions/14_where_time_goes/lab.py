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
# - find the rank that all others wait for, although no two ranks' clocks agree.
#
# The idea in one sentence: **a step takes as long as its slowest chain of work, so look for where a rank waits, and
# whom it waits for, before you change anything.**
#
# **Before you start.** You need the [all-reduce](GLOSSARY.md#all-reduce) of lab 03 and the
# [overlap](GLOSSARY.md#overlap) of lab 09. From Python: lists, dicts, sorting.
#
# **Lecture.** [16 Where the time goes](../../course/lectures/16_where_time_goes.ipynb) reads such traces by hand.
#
# **Time:** 90 to 120 minutes.
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
check = Checker("checks", world)

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
# one: that is **two operations for each weight and token**. The embedding is not multiplied with
# anything: its rows are looked up.
#
# The two products of attention have no weights. In the first, the query of each token meets the key of each token of
# its own sequence: `width` terms for each of these pairs. In the second, each token adds up the values of all tokens of
# its sequence, each times a score: again `width` terms for each pair. (A token may attend only to those before it. But
# most programs compute all scores and mask some of them afterwards, so all count.)
#
# The backward pass makes two products for each one of the forward pass, and both are as large: one for the gradient of
# the first matrix, and one for that of the second.


# %% todo="step_flops"
def step_flops(layers, width, hidden, vocabulary, sequences, length) -> dict[str, int]:
    """The operations of a forward and a backward pass of the model in the picture.

    layers: how many it has. width, hidden, vocabulary: sizes of the matrices, as in the
    picture. sequences: how many are in the batch. length: tokens of each sequence.
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
    Returns a dict of seconds. "computing": in which the rank computes; "hidden": in
    which it computes and communicates; "exposed": in which it communicates and does not
    compute; "idle": in which it does neither. The time looked at goes from the first
    start to the last end, of spans of any kind. No moment counts twice in one of them.
    Without spans, all are 0.

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
    Each collective is over on all ranks at the same moment. In more than half of them,
    all ranks note that at once; in each other one, some ranks note it too late, by any
    time. No two ranks are last to call a collective.
    Returns for each collective the rank that calls it last, and the seconds that each
    rank waits, by rank: from its own call to that of the last rank, which waits 0.

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
# ## 4.

# %% [markdown]
# ## 5.

# %% [markdown]
# ## 6.

# %% [markdown]
# ## What comes next
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. (The key is in `questions.toml`, next to this notebook. Find your own number first.) The second answer is a
# text: double-click the cell, write a few sentences, and run it. Your instructor reads it. Both are handed in.
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
