"""Gradients that are right because nobody asks: autograd knows none for a call."""

from autograde.rubric import Words

words = Words("""
gradient-by-luck: Autograd warns that it knows no gradient for a call of torch.distributed in your graph. The numbers
may be right today, and torch says that this is going to be an error. Where does autograd not look into a call?
""")


def by_luck(call):
    return words("gradient-by-luck") if any(call.of("warned")) else None
