"""Judges of calls that write checkpoints into a watched folder: who writes, when, and what is in the folder.

A call has `places`, of each save what it is told, the epoch first; `seed` and `optimizer` of what is saved; and each
rank's number on its node, `local`. It shows `calls`, a `Saved` each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autograde.probes.checkpoint_calls import Saved
from autograde.rubric.breaks import Errors
from autograde.rubric.checkpoints.contents import state_after, wrong_file
from autograde.rubric.checkpoints.contents import words as of_contents
from autograde.rubric.judge import Call, first_of
from autograde.rubric.mistakes import Gives, Mistakes, changed
from autograde.rubric.run import Run
from autograde.rubric.values.same import Difference, Same
from autograde.rubric.words import Ranks, Words, Wrong

words = Words("""
wrong-rank-writes: {who:writes|write} the file. In this group, only rank 0 should.

not-atomic: For a while there is something else at the place of the checkpoint, such as half a file. A rank that is
killed just then leaves it like that, and {lost}. What is there must be the old file or the new one, whole, at any
moment.

file-gone-for-a-while: For a while there is no file at the place of the checkpoint, though an old one was there. A rank
that is killed just then has lost it.

left-behind: After a call there is more in the folder than the checkpoint: {names}.

leftovers-pile-up: When a rank is killed while it writes, {names} stays behind, and it is still there after the next
call. Every kill adds another one.

returns-too-early: {who} returned before the new file was there. What does a rank find there
that reads the file at once?

save-on-rank-0: A deadlock: rank 0 waits in `save_checkpoint`, and {who:goes|go} on. All ranks have to call it: it
decides by itself who writes, and no rank leaves it before the file is there.

others-removed: After a call, the folder lacks {names}, which your function did not write: which files may your code
remove?
""")


def saves(call: Call) -> Iterator[list[Saved]]:
    """What each rank showed, of one save after another."""
    return zip(*call.of("calls"), strict=True)


def written(call: Call) -> Wrong | None:
    """There is a new file after each save."""
    files = [own[0] for own in saves(call)]
    there = [each.content and each.content.there and each.before != each.after for each in files]
    return None if all(there) else of_contents("nothing-written")


def right_content(call: Call) -> Wrong | None:
    """What is in the files is what was saved."""
    if wrong := written(call):
        return wrong
    about, files = call.arguments, [own[0].content for own in saves(call)]
    for number, (file, place) in enumerate(zip(files, about["places"], strict=True)):
        state = state_after(about["seed"] + number, about["optimizer"])
        if wrong := wrong_file(file, {**state, "epoch": place[0]}):
            return wrong
    return None


def leaders(local: Sequence[int]) -> list[int]:
    """The ranks with local rank 0. local: by rank, the local one."""
    return [rank for rank, number in enumerate(local) if number == 0]


def writers(call: Call) -> list[list[int]]:
    """By save, the ranks that change files; rank 0 where none is seen to."""
    return [[rank for rank, each in enumerate(own) if each.touched] or [0] for own in saves(call)]


def writers_due(call: Call, ranks: Sequence[int] = (0,)) -> list[list[int]]:
    """By save, the ranks that have to write."""
    return [[*ranks]] * len(call.arguments["places"])


def wrong_writers(call: Call, off: Difference) -> Wrong:
    """The words for writers that are not as they should be."""
    return words("wrong-rank-writes", who=Ranks(writers(call)[off.place[0]]))


# Judge: rank 0 writes, and no other rank.
right_writer = first_of(written, Same(writers, writers_due, lambda *_: "the ranks that write", otherwise=wrong_writers))
EVERY = """
every-rank-writes: All {size} ranks write, at the same time. Where that is one file, it is chance which of them wins,
and what they write together may be no file at all.
"""
LEADERS = """
local-rank-0-writes: {who:writes|write} the file: the local rank 0 of each node. Nodes share the folder, so they write
over each other.
"""
# Mistakes of those who let other ranks write, too.
WRITERS = Mistakes(
    EVERY + LEADERS,
    changed(
        writers_due,
        every_rank_writes={"ranks": lambda call: range(call.size)},
        local_rank_0_writes=lambda call: Gives(
            writers_due(call, leaders(call.arguments["local"])), who=Ranks(leaders(call.arguments["local"]))
        ),
    ),
)


def rank_0_alone(call: Call) -> bool:
    """Whether it writes alone: what others leave, or spoil, they do because they write at all."""
    return writers(call) == writers_due(call)


def always_whole(call: Call) -> Wrong | None:
    """At any moment there is the old file or the new one, whole."""
    if (wrong := written(call)) or not rank_0_alone(call):
        return wrong
    for own in saves(call):
        seen, old = [moment.file for moment in own[0].moments], own[0].before
        if old is not None and None in seen:
            return words("file-gone-for-a-while")
        if not {*seen} <= {old, own[0].after}:
            return words("not-atomic", lost="the old file is lost, too" if old else "no training can go on from it")
    return None


def returns_after(call: Call) -> Wrong | None:
    """All ranks return after the new file is there."""
    early = [[rank for rank, each in enumerate(own) if each.returned != own[0].after] for own in saves(call)]
    return written(call) or words.on_ranks("returns-too-early", next(filter(None, early), []))


def folder_clean(call: Call) -> Wrong | None:
    """No file is left, and nobody else's is gone."""
    if gone := sorted({name for own in saves(call) for each in own for name in each.gone}):
        return words("others-removed", names=gone)
    if (wrong := written(call)) or not rank_0_alone(call):
        return wrong
    left = [own[0].left for own in saves(call)]
    names = next(filter(None, left), [])
    if not names:
        return None
    return words("left-behind" if left[0] else "leftovers-pile-up", names=", ".join(names))


MOVES = Errors(
    EVERY
    + """
    other-disk: The file is written somewhere else and then moved here. Folders for checkpoints are often on a disk of
    their own, and a file cannot be moved from one disk to another in a single step: {error}
    """,
    other_disk="cross-device",
    every_rank_writes="^FileNotFoundError: .* -> ",  # of several that move one file, one comes first
)


def saves_alone(*kinds: str) -> Callable[[Run], Wrong | None]:
    """For `CallCheck.of(broke_off=...)`: rank 0 alone calls the probe's `save_checkpoint`. kinds: of the calls in which
    that meets the other ranks, by mpi4py and from a line of the student's, as nothing else does."""

    def judge(run: Run) -> Wrong | None:
        last = [log[-1] if log else None for log in run.events]
        by_student = [each is not None and each["library"] == "mpi4py" and each["line"] is not None for each in last]
        saving = [known and each["kind"] in kinds for known, each in zip(by_student, last, strict=True)]
        if run.state not in ("hang", "too-slow") or run.full or not saving[0] or last[0]["end"] is not None:
            return None
        return words.on_ranks("save-on-rank-0", [rank for rank, saves in enumerate(saving) if not saves], run.report)

    return judge


def saving_broke_off(run: Run) -> Wrong | None:
    """The file was to be moved too far, or several ranks move one and the same file."""
    wrong, first = MOVES(run), leaders(run.broken["local"])
    if wrong and wrong.key == "every-rank-writes" and len(first) > 1 and {*run.errors} <= {*first}:
        return WRITERS.words.on_ranks("local-rank-0-writes", first, run.report)
    return wrong
