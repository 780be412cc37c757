"""The check of `step_flops`: numbers are held against what PyTorch counts in a model of that shape."""

from autograde.rubric import CallCheck, Criterion, HasNumbers, Mistakes, changed, once

from ..probes.step_flops import PROBE
from .counting import counted_flops

SHAPE = ("layers", "width", "hidden", "vocabulary", "sequences", "length")


@once
def counted(call):
    return counted_flops(**call.arguments)


def of_weights(call, per_weight=6, attention=4, mlp=2, head=1, tokens=("sequences", "length"), **other):
    """The operations of products with weights. other: of the shape, what is taken in place of it."""
    shape = call.arguments | other
    square, rectangle = shape["width"] ** 2, shape["width"] * shape["hidden"]
    weights = shape["layers"] * (attention * square + mlp * rectangle) + head * shape["width"] * shape["vocabulary"]
    for each in tokens:
        weights *= shape[each]
    return {"weights": per_weight * weights}


def masked_left_out(call, each=12):
    """The operations of products without weights, where a token attends to itself and those before it."""
    length = call.arguments["length"]
    return {name: number * (length + 1) / 2 / length for name, number in of_attention(call, each).items()}


def multiply_adds(call):
    """Half of the attention, where the products with weights are halved, too: the reason is the same."""
    seen = call.seen[0].numbers.get("weights")
    halved = seen is not None and seen.value == of_weights(call, per_weight=3)["weights"]
    return of_attention(call, 6) if halved else None


def of_attention(call, each=12, factors=("layers", "width", "sequences", "length", "length")):
    """The operations of products without weights."""
    for factor in factors:
        each *= call.arguments[factor]
    return {"attention": each}


OF_WEIGHTS = Mistakes(
    """
    multiply-adds-counted-once: You count 3 operations for each weight and token. A multiplication and an addition are
    two operations: what does a token cost in a forward pass, for each weight?

    forward-pass-alone: You count 2 operations for each weight and token. That is the forward pass. Which two products
    does the backward pass make for each one of the forward pass?

    backward-like-forward: You count 4 operations for each weight and token, as if the backward pass took as long as the
    forward pass. It has two gradients to compute: of what, and of what else?

    embedding-counted: You count the embedding, too. A token is looked up there: which of its rows are multiplied?

    head-left-out: You count the layers alone. What gives a score to each token of the vocabulary?

    no-output-matrix: You count three matrices for attention. What happens to the attended values of a token?

    one-matrix-in-the-mlp: You count one matrix of width x hidden in a layer. There is one up and one down.

    hidden-taken-for-four-widths: You count with four times the width in place of `hidden`, which is given.

    head-in-each-layer: You count the head once for each layer. How often does a token come to it?

    one-layer: You count the matrices of one layer. How many layers are there?

    one-token: You count one token. How many are in the batch?

    one-sequence: You count one sequence. How many are in the batch?

    parts-swapped: What you return as "weights" are the operations of attention. Which of the two products has weights?
    """,
    changed(
        of_weights,
        parts_swapped=lambda call: {"weights": counted(call)["attention"]},
        head_in_each_layer={"head": lambda call: call.arguments["layers"]},
        multiply_adds_counted_once={"per_weight": 3},
        forward_pass_alone={"per_weight": 2},
        backward_like_forward={"per_weight": 4},
        embedding_counted={"head": 2},
        head_left_out={"head": 0},
        no_output_matrix={"attention": 3},
        one_matrix_in_the_mlp={"mlp": 1},
        hidden_taken_for_four_widths={"hidden": lambda call: 4 * call.arguments["width"]},
        one_layer={"layers": 1},
        one_token={"tokens": ()},
        one_sequence={"tokens": ("length",)},
    ),
)
OF_ATTENTION = Mistakes(
    """
    attention-left-out: You count no operations of attention. Which two products of matrices does it make, without any
    weights?

    multiply-adds-counted-once: You count half of the attention, as you do of the products with weights. A
    multiplication and an addition are two operations.

    masked-scores-left-out: You count the tokens that each token may see. But all scores are computed, and some of them
    masked afterwards.

    sequences-taken-for-tokens: You multiply by the number of sequences twice. To how many tokens does each one attend?

    half-of-the-attention: You count half of the attention. For each pair of tokens there are two products, of a query
    with a key and of a score with a value; in each, a multiplication and an addition are two operations;
    and what is masked afterwards has been computed, too.

    forward-pass-alone: You count the attention of the forward pass. Which two products does the backward pass make for
    each one of the forward pass?

    backward-like-forward: You count as much attention in the backward pass as in the forward pass. A product of two
    matrices has two gradients.

    each-token-once: Your attention grows as the number of tokens does. To how many tokens does each one attend?

    attends-to-other-sequences: In your count, each token attends to those of all sequences. It sees its own alone.

    one-layer: You count the attention of one layer.

    one-sequence: You count the attention in one sequence. How many are in the batch?

    one-token: You count the attention of one token. How many are in the batch?

    parts-swapped: What you return as "attention" are the operations of products with weights.
    """,
    changed(
        of_attention,
        parts_swapped=lambda call: {"attention": counted(call)["weights"]},
        attention_left_out={"each": 0},
        multiply_adds_counted_once=multiply_adds,
        masked_scores_left_out=[
            masked_left_out,
            lambda call: masked_left_out(call, 6),
            lambda call: masked_left_out(call, 4),
        ],
        sequences_taken_for_tokens={"factors": ("layers", "width", "sequences", "sequences", "length")},
        half_of_the_attention={"each": 6},
        forward_pass_alone={"each": 4},
        backward_like_forward={"each": 8},
        each_token_once={"factors": ("layers", "width", "sequences", "length")},
        attends_to_other_sequences={"factors": ("layers", "width", "sequences", "length", "sequences", "length")},
        one_layer={"factors": ("width", "sequences", "length", "length")},
        one_sequence={"factors": ("layers", "width", "length", "length")},
        one_token={"factors": ("layers", "width", "length")},
    ),
)


def cases(rng):
    """Shapes in which no two sizes are equal, and one sequence of one token."""

    def shape(**given):
        layers, width, length, sequences = rng.sample(range(2, 9), 4)
        sizes = {"layers": layers, "width": 8 + 2 * width, "sequences": sequences, "length": 9 + length}
        return sizes | {"hidden": rng.randint(30, 39), "vocabulary": rng.randint(50, 99)} | given

    return [{"calls": [*(shape() for _ in range(4)), shape(layers=1), shape(sequences=1, length=1)]}]


def judge(name):
    return HasNumbers(counted, SHAPE, of=(name,))


WEIGHTS = "the operations of products with weights, as PyTorch's `FlopCounterMode` counts them"
CHECK = CallCheck.of(
    "step_flops",
    PROBE,
    cases,
    Criterion("weights", 1, WEIGHTS, judge("weights"), OF_WEIGHTS),
    Criterion("attention", 1, "those of attention, likewise", judge("attention"), OF_ATTENTION),
    inputs=SHAPE,
    repeats=False,
    consolidation="Six operations for each weight and token: one number that tells how long a step takes at best. "
    "Attention comes on top, and grows with the length of a sequence.",
)
