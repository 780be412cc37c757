"""What is found wrong with the words of a finding, and what is not."""

from __future__ import annotations

import pytest
from wording import faults

from autograde.contract.findings import Findings


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


def test_a_number_that_is_filled_in_has_its_noun():
    finding = Findings("few 1\nAfter {steps} steps, {batches} batches and {times} times, rank 1 samples")
    assert finding("few", steps=1, batches=1, times=1).message == "After 1 step, 1 batch and 1 time, rank 1 samples"
    assert finding("few", steps=21, batches=2, times=0).message.startswith("After 21 steps, 2 batches and 0 times")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("rank 1", "Here rank 1 does not, and rank 1 still has it; that of rank 1 is new."),
        (
            "ranks 1 and 2",
            "Here ranks 1 and 2 do not, and ranks 1 and 2 still have it; that of ranks 1 and 2 is new.",
        ),
        ("ranks 0, 2-4", "Here ranks 0, 2-4 do not, and ranks 0, 2-4 still have it; that of ranks 0, 2-4 is new."),
    ],
)
def test_one_verb_does_for_one_rank_and_for_many(names, expected):
    finding = Findings("few 1\nHere {who} does not, and {who} still has it; that of {who} is new.")
    assert finding("few", who=names).message == expected


def test_signals_have_a_verb_for_many():
    finding = Findings("few 1\nAfter the block, {names} has the default again.")
    assert finding("few", names="SIGTERM").message == "After the block, SIGTERM has the default again."
    assert finding("few", names="SIGTERM and SIGUSR1").message.startswith("After the block, SIGTERM and SIGUSR1 have")
