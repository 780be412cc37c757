"""The check of `save_checkpoint`: who writes, what is in the folder meanwhile, and what is in the file."""

from autograde.rubric import (
    WRITERS,
    CallCheck,
    Criterion,
    always_whole,
    folder_clean,
    returns_after,
    right_content,
    right_writer,
    saving_broke_off,
)

from ..probes import save_checkpoint


def cases(rng):
    """Two nodes, with an old file; one node, without; both optimizers."""

    def case(ranks, local, old, optimizer):
        first, about = rng.randint(2, 20), {"local": local, "optimizer": optimizer, "old": old}
        return ranks, {**about, "seed": rng.randrange(2**31), "places": [[first], [first + 1]]}

    cases = [case([1, 3, 0, 2], [0, 1, 0, 1], True, "momentum"), case([2, 0, 3], [0, 1, 2], False, "adam")]
    return [*cases, case([3, 2], [0, 1], True, "adam")]


CHECK = CallCheck.of(
    "save_checkpoint",
    save_checkpoint.PROBE,
    cases,
    Criterion(
        "content",
        1,
        "the file holds a dictionary with these entries, which torch.load with weights_only=True can read",
        right_content,
    ),
    Criterion("writer", 0.5, "rank 0 of the default process group writes, and no other rank", right_writer, WRITERS),
    Criterion(
        "clean",
        0.25,
        "after each call no temporary file is left, and files of other names are still there",
        folder_clean,
        after=("writer",),
    ),
    Criterion(
        "whole",
        0.75,
        "at any moment there is at `path` the old file or the new one, whole",
        always_whole,
        after=("writer", "clean"),
    ),
    Criterion("returns", 0.5, "all ranks return after the new file is in place", returns_after, after=("writer",)),
    repeats=False,
    fits=lambda case, arguments, seen: len(seen.calls) == len(arguments["places"]),
    broke_off=saving_broke_off,
    consolidation="A file that is written beside the old one, and then takes its place in one step, is whole at every "
    "moment. One rank writes, and the others wait for it.",
)
