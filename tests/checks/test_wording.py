"""What is found wrong with the words of a finding, and what is not."""

from __future__ import annotations

import pytest
from wording import faults


@pytest.mark.parametrize(
    "message",
    [
        "Ranks -1 and 0 of one node send.",
        "Rank 0 has it, but Ranks 1 and 2 do not.",
        "It is an gradient of a AwkwardTranslator.",
        "The 1 ranks of a node share it.",
        "Only rank 0 has it, and ranks 1 and 2 does not.",
        "It draws 16 sample of them.",
        "It draws 2 batch.",
        "torch says \x1b[31mno\x1b[0m.",
        "The the loss is wrong.",
        "The loss is wrong , and more.",
        "The loss is {actual}.",
        "The loss of rank None is wrong.",
        "The loss is wrong because",
        "the loss is wrong.",
    ],
)
def test_a_fault_is_found(message):
    assert len(faults(message)) >= 1


@pytest.mark.parametrize(
    "message",
    [
        "On rank 2 batch 3 is missing. Which rank has it?",
        "Of 12 samples 1 sample is drawn by 2 ranks, and 11 by none.",
        "The loss is 0.1 of what is expected: a one-element tensor, of an MPI type, in an hour.",
        "`None` is returned by `f(x)`: rank 1 sends 1 message of 8 bytes",
        "3 ranks wait in `comm.Barrier`, cell line 3.",
        "One call of your function makes 4 collective calls on a rank.",
    ],
)
def test_plain_words_pass(message):
    assert faults(message if message.endswith((".", "?")) else message + ".") == []
