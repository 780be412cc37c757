"""Calls of a student's `save_checkpoint` in a watched folder, and the files that `load_checkpoint` is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.cells.subject import describe
from autograde.contract.call_rank import CallRank
from autograde.contract.evidence import Evidence, judged_in_places, unjudged
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_files import as_plain, fingerprint, read_checkpoint, state_of, write_as_a_gpu
from autograde.probes.file_watch import half_a_file, leave_half, watched_folder

FILE = "0.pt"  # name of the file that a call loads


@unjudged(others="the next call finds half of each, and that is judged")
class Moment(Evidence):
    """How the folder looked: what tells the file from others, and names of other files."""

    file: str | None
    others: list[str]


class File(Evidence):
    """A file, as of `read_checkpoint`."""

    there: bool
    error: str | None
    content: Any


@judged_in_places(touched="whether there is any is judged", moments="some are not seen, however often one looks")
class Saved(Evidence):
    """A call of `saving_calls`. touched: files that this rank changed. before, returned, after: what tells the file
    from others then. left: other files. gone: those of `beside` that are not there any more. content: on
    rank 0."""

    touched: list[str]
    moments: list[Moment]
    before: str | None
    returned: str | None
    after: str | None
    left: list[str]
    gone: list[str]
    content: File | None


@judged_in_places(error="it may have any words")
class Loaded(Evidence):
    """A `loading_call`. value, error: what was returned or raised. model, optimizer: their states then."""

    value: Any
    error: str | None
    model: dict[str, Any]
    optimizer: dict[str, Any]


SLOW = 0.04  # seconds that each change of a file takes on rank 0, so that ranks which do not wait are seen
NAME = "checkpoint.pt"


def saving_calls(
    rank: CallRank,
    save: Callable,
    case: dict,
    places: Sequence[Sequence[int]],
    old: dict | None,
    *,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], dict] = dict,
    read: Callable[[str], dict] = read_checkpoint,
    beside: Sequence[str] = (),
) -> list[dict]:
    """Runs on each rank: a call of `save(path, model, optimizer, *place)` for each place, in a folder of their own.

    In the second call there is what was seen beside the file in the first one, with half of each file, as if a rank of
    another process had been killed while it wrote. case: `seed` and `optimizer` of what is saved, and each rank's
    number on its node, `local`. old: what a file holds that is there before. before, after: called close to each call;
    `after` gives what is noted with it. read: what is noted of the file, on rank 0. beside: names of files of somebody
    else's in the folder; of these is noted which are `gone`.
    """
    folder, calls, known = os.path.join(rank.folder, "run"), [], set()
    path = os.path.join(folder, NAME)
    os.environ["LOCAL_RANK"] = str(case["local"][rank.rank])
    if rank.rank == 0:
        os.mkdir(folder)
        if old is not None:
            torch.save(old, path)
        for name in beside:
            Path(folder, name).write_text("not yours")
    for number, place in enumerate(places):
        model, optimizer = after_steps(case["seed"] + number, case["optimizer"])
        model = DistributedDataParallel(model)
        if rank.rank == 0:
            for name in known:
                leave_half(Path(folder), name.replace(str(os.getpid()), str(os.getpid() + 1)))
        print_before = fingerprint(path)
        rank.meet()
        before()
        with watched_folder(path, fingerprint, SLOW if rank.rank == 0 else 0.0) as seen:
            save(path, model, optimizer, *place)
            returned = fingerprint(path)
        noted = after()
        rank.meet()
        files = {"before": print_before, "returned": returned, "after": fingerprint(path)}
        left = sorted(set(os.listdir(folder)) - {NAME, *beside})
        kept = {name for name in beside if os.path.exists(os.path.join(folder, name))}
        noted |= {"gone": sorted({*beside} - kept)}
        content = read(path) if rank.rank == 0 else None
        calls.append({**seen, **files, "left": left, "content": content, **noted})
        known = set() if left else {name for moment in seen["moments"] for name in moment["others"]} - {*beside}
        rank.meet()
    return calls


def loading_call(
    rank: CallRank,
    load: Callable,
    call: dict,
    entries: dict,
    *,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], dict] = dict,
) -> dict:
    """Runs on each rank: `load(path, model, optimizer)` of a file that is alone in its folder, into a new model.

    call: `kind` of the file, see `write_checkpoint`; `seed` and `optimizer` of what it holds; `from_gpu`, whether a GPU
    wrote it, as where this is left out; `fresh`, seed of the model that is given. entries: what a good file holds
    beside model and optimizer. before, after: called close to the call; `after` gives what is noted with it.
    """
    folder = os.path.join(rank.folder, str(rank.number))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, FILE)
    if rank.rank == 0:
        model, optimizer = after_steps(call["seed"], call["optimizer"])
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), **entries}
        write_checkpoint(path, call["kind"], state, write_as_a_gpu if call.get("from_gpu", True) else torch.save)
    model, optimizer = after_steps(call["fresh"], call["optimizer"], steps=0)
    model = DistributedDataParallel(model)
    rank.meet()
    before()
    value = error = None
    try:
        value = load(path, model, optimizer)
    except NotImplementedError:
        raise
    except (Exception, SystemExit) as raised:
        error = describe(raised, rank.subject.filename).replace(f"{folder}{os.sep}", "")
    noted = after()
    found = {"value": as_plain(value), "error": error, **state_of(model.module, optimizer), **noted}
    rank.meet()
    return found


def write_checkpoint(path: str, kind: str, state: dict[str, Any], save: Callable[[Any, str], None]) -> None:
    """Write a file with `save`. state: what a good one holds; its "model" is changed for some kinds.

    kind: "good"; "none", which writes nothing; "half" of a file; "missing", "unexpected" or "renamed" weights; or
    "without-" and the name of an entry.
    """
    model = dict(state["model"])
    if kind == "missing":
        del model["submodule.weight"]
    elif kind == "unexpected":
        model["another.weight"] = torch.ones(2)
    elif kind == "renamed":
        model = {f"encoder.{name}": value for name, value in model.items()}
    lacking = kind.removeprefix("without-")
    if kind == "half":
        half_a_file(Path(path))
    elif kind != "none":
        save({name: value for name, value in {**state, "model": model}.items() if name != lacking}, path)
