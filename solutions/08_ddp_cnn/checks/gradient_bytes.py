"""The check of `gradient_bytes`: models with tied, frozen and half-precision parameters and with buffers."""

from autograde.rubric import CallCheck, Criterion, Mistakes, Same, Words, changed, first_of, in_words

from ..probes import gradient_bytes
from ..shared.tied import built

words = Words("""
no-byte-count: Your function returns {kind}. A whole number is expected.

not-an-int: Your function returns a value of type {kind}. What is counted is a whole number: an int is expected.

model-altered: After the call, the model is not what it was before: parameters are of another type, on another device,
frozen, or have a gradient.

wrong-bytes: The result is {actual}, where {expected} bytes are expected: the model has {weights} trained weights, of
{types}.
""")


def count(call, frozen=False, copies=False, buffers=False, inner=True, each_takes=None):
    """The bytes. frozen, buffers: whether these count, too; copies: tied parameters in each place; inner: those of
    inner modules. each_takes: bytes of an entry, if not its own."""
    model = built(call.arguments)
    named = model.named_parameters(recurse=inner, remove_duplicate=not copies)
    counted = [each for _, each in named if frozen or each.requires_grad] + [*model.buffers()] * buffers
    return sum(each.numel() * (each_takes or each.element_size()) for each in counted)


def first_takes(call):
    return next(built(call.arguments).parameters()).element_size()


def one_of_them(place):
    """Told apart by their address, the parameters on the meta device are one: the first, or the last."""

    def bytes_of(call):
        trained = [each for each in built(call.arguments).parameters() if each.requires_grad]
        return trained[place].numel() * trained[place].element_size() if call.arguments["meta"] else None

    return bytes_of


def other_number(call, off):
    trained = [each for each in built(call.arguments).parameters() if each.requires_grad]
    kinds = {str(each.dtype).removeprefix("torch.") for each in trained}
    about = {"types": " and ".join(sorted(kinds)), "weights": count(call, each_takes=1)}
    return words("wrong-bytes", actual=off.actual_text, expected=off.expected, **about)


def counted(call):
    value = call.seen[0].value
    return words("no-byte-count", kind=in_words(value)) if value.value is None else None


def whole_number(call):
    kind = call.seen[0].value.kind
    return words("not-an-int", kind=kind) if kind != "int" else None


def stays(call):
    return words("model-altered") if call.seen[0].altered else None


def draw_model(rng, kind, other, tied=False, meta=False):
    """A model's sizes. meta: on the meta device, and too large for any memory."""
    least, most = (20_000, 90_000) if meta else (3, 9)
    sizes = {name: rng.randrange(least, most) for name in ("width", "hidden", "scale", "frozen", "mask")}
    return {**sizes, "tied": tied, "meta": meta, "type": kind, "other": other}


def cases(rng):
    """Models of several types, tied or not, two of them on the meta device."""
    calls = [draw_model(rng, "float32", "float32", tied=True), draw_model(rng, "float32", "float16")]
    calls += [draw_model(rng, "bfloat16", "float32", tied=True, meta=True)]
    calls += [draw_model(rng, "float64", "float16", tied=True), draw_model(rng, "float16", "float64", meta=True)]
    return [{"size": 1, "calls": [*calls, draw_model(rng, "bfloat16", "float64")]}]


CHECK = CallCheck.of(
    "gradient_bytes",
    gradient_bytes.PROBE,
    cases,
    Criterion("model", 0.5, "the model stays as it is", first_of(counted, stays)),
    Criterion(
        "bytes",
        1,
        "each trained parameter counts once, in its own type",
        first_of(
            counted,
            Same(lambda call: call.seen[0].value, count, lambda call, place: "The result", otherwise=other_number),
        ),
        Mistakes(
            """
            numbers-not-bytes: The result is {actual}, the number of weights. How many bytes does each of them take?

            four-bytes-for-all: The result is {actual}: four bytes for each weight. This model has weights of {types}.

            first-ones-type: The result is {actual}: all weights are counted in the type of the first one. This model
            has weights of {types}.

            frozen-counted: The result is {actual}: frozen parameters are counted, too. They get no gradient, and none
            is reduced.

            buffers-counted: The result is {actual}: buffers are counted, too. They belong to the model, but nobody
            trains them.

            state-dict: The result is {actual}: that is the whole state dict, with buffers, frozen parameters, and tied
            ones twice.

            tied-twice: The result is {actual}: a parameter that is used in two places is counted in both. It has one
            gradient.

            no-gradient-yet: The result is 0. There has been no step, so no parameter has a `.grad`. What will its size
            be?

            told-by-address: The result is {actual}, for a model on the meta device: of its parameters you count one.
            Tensors have no address in memory there. How else does one know that a parameter has been counted?

            top-level-only: The result is {actual}, in which parameters of inner modules are missing.
            """,
            changed(
                count,
                numbers_not_bytes=[{"each_takes": 1}, {"each_takes": 1, "frozen": True}],
                four_bytes_for_all=[{"each_takes": 4}, {"each_takes": 4, "frozen": True}],
                first_ones_type={"each_takes": first_takes},
                frozen_counted={"frozen": True},
                buffers_counted=[{"buffers": True}, {"buffers": True, "frozen": True}],
                state_dict={"buffers": True, "frozen": True, "copies": True},
                tied_twice=[{"copies": True}, {"copies": True, "frozen": True}],
                no_gradient_yet=lambda call: 0,
                told_by_address=[one_of_them(0), one_of_them(-1)],
                top_level_only={"inner": False},
            ),
        ),
        after=("model",),
    ),
    Criterion("int", 0.5, "the result is an int", first_of(counted, whole_number)),
    repeats=False,
    consolidation="A step reduces the gradients of what is trained, whatever else the model holds. These bytes are the "
    "same for one image and for a thousand; the arithmetic is not.",
)
