"""Right answers to the TODOs of lab 01, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "pytorch s tutorial": "PyTorch's tutorial 'Learning PyTorch with Examples' takes the sum, with lr = 1e-6",
    "error target output": (
        "error = target - output, to be added, in the Adaline of Raschka, 'Python Machine Learning', chapter 2"
    ),
    "andrew ng s": "Andrew Ng's 'Machine Learning': cost J = 1/(2m) sum of squares, and theta_0 is the intercept",
    "the chain rule": "the chain rule without its inner factor",
    "stackoverflow 56052457": (
        "https://stackoverflow.com/questions/56052457 (Why isn't my gradient descent algorithm working?)"
    ),
    "reduction none of": "reduction='none' of torch.nn.MSELoss",
    "memory saved by": "memory saved by operations in place",
    "docs pytorch org": "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html",
    "shuffle false the": "shuffle=False, the default of torch's DataLoader",
    "bergson 352": "https://github.com/EleutherAI/bergson/pull/352 (every epoch saw an identical order)",
    "keras 1783": "https://github.com/keras-team/keras/issues/1783",
    "stackoverflow 53514495": "https://stackoverflow.com/questions/53514495 (tf.data: batch before shuffle)",
    "compphysics github io": "https://compphysics.github.io/MachineLearning/doc/pub/week37/html/._week37-bs026.html",
    "a notebook s": "a notebook's own fixed seed",
    "docs pytorch org 2": "https://docs.pytorch.org/docs/stable/notes/randomness.html",
    "web njit edu": "http://web.njit.edu/~usman/courses/cs677_spring21/sgd.txt (for j = 0 to rows/batch_size)",
    "stackoverflow 4601373": (
        "https://stackoverflow.com/questions/4601373/better-way-to-shuffle-two-numpy-arrays-in-unison"
    ),
    "numpy org doc": "https://numpy.org/doc/stable/reference/random/generated/numpy.random.shuffle.html (in place)",
    "the batch drawn": "the batch drawn, but not used",
    "an index off": "an index off by one",
    "docs pytorch org 3": (
        "https://docs.pytorch.org/docs/stable/generated/torch.tensor_split.html (parts of nearly equal size)"
    ),
    "a list that": "a list that only the loop fills",
    "the point noted": "the point noted before the step, not after",
    "the usual log": "the usual log, once an epoch",
    "weights that start": "weights that start at zero, as in most texts",
    "a variable that": "a variable that the loop does not update",
    "docs pytorch org 4": "https://docs.pytorch.org/docs/stable/generated/torch.set_default_dtype.html",
    "a fit returns": "a fit returns its parameters",
    "discuss pytorch org": "https://discuss.pytorch.org/t/why-do-we-multiply-loss-function-with-a-constant/112893",
    "stackoverflow 48001598": (
        "https://stackoverflow.com/questions/48001598/why-do-we-need-to-call-zero-grad-in-pytorch"
    ),
    "docs pytorch org 5": "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html",
    "docs pytorch org 6": "https://docs.pytorch.org/docs/stable/notes/faq.html (accumulated history)",
    "huggingface co blog": "https://huggingface.co/blog/gradient_accumulation",
    "nanoGPT 206": "https://github.com/karpathy/nanoGPT/issues/206",
    "docs pytorch org 7": (
        "https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html (a loop for whole batches)"
    ),
    "keras 20241": "https://github.com/keras-team/keras/issues/20241 (the last batch has another size)",
    "docs pytorch org 8": (
        "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation (that "
        "loop makes the step too)"
    ),
    "a loss that": "a loss that is computed for the log only",
    "pop on a": "pop() on a caller's list",
    "discuss pytorch org 2": (
        "https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740"
    ),
    "discuss pytorch org 3": "https://discuss.pytorch.org/t/accumulating-model-output-blows-up-cuda-memory/197063",
    "docs pytorch org 9": (
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_value_.html (in each micro-batch)"
    ),
    "docs pytorch org 10": "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html (None by default)",
    "docs pytorch org 11": (
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html (returns a handle, to remove it)"
    ),
    "blind": "readers who solved this lab from its notebook alone, or tried what a novice may try",
    "zero is false": "`if seed:`, which takes the seed 0 for none",
}
