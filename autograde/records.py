"""Verdict on the record of a run in batch that is handed in with a notebook: `run.json`, see `course.record`.

The file is the student's to write, so nothing in it is believed by itself. What Slurm knows of the job is held against
it, and a short run of the submission's cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from autograde.accounting import Job
from autograde.check import Demand, Finding
from autograde.findings import Findings
from autograde.rebuild import Unreadable, quoted
from autograde.schema import array, integer, load_evidence, number, optional, problem, record, string
from autograde.submitted import read_plain
from course.record import FILE, FORMAT

LARGEST = 2**20  # bytes of a record; a usual one has some thousands
AGREE = 0.005  # share by which a loss may differ from that of another run: ranks add in another order, GPUs round
CLOCKS = 5.0  # seconds by which the clocks of two machines may differ
SLACK = 60.0  # seconds that a job may go on after its run

finding = Findings("""
no-record 0
There is no record of a run in batch with this submission. Save the notebook, `sbatch run.sh` in its folder, and hand in
run.json with the notebook.

damaged-record 0
run.json is not as `sbatch run.sh` leaves it: {why}. Run it again.

record-of-another-lab 0
run.json is the record of {told}, not of this lab.

not-in-batch 0
The run on record was no job of Slurm's. `sbatch run.sh` makes one.

other-code 0
The run on record is of other code than this submission: {cells} differ. Save the notebook, run it again in batch, and
hand in both.

run-failed 0
The run on record did not come to its end: {why}. The job's log, and the executed notebook beside it, show where.

nothing-on-record 0
The run on record never came to put a `{todo}` on record. What the executed notebook shows below that TODO says why.

too-few-ranks 0
The run on record had {told}. At least {due} are asked for: `sbatch --ntasks {due} run.sh`.

loss-not-falling 0
In the run on record the loss does not fall: it is {first} in the first epoch, {last} in the last one.

job-unknown 0
Slurm knows of no job {id}.

not-your-job 0
Slurm says that job {id} is not yours. The run must be one that you have submitted.

replayed-record 0
The record tells of a run from {told}. Slurm says that job {id} was from {known}.

edited-record 0
The record says {told}; {who} {known}.
""")


@dataclass(frozen=True)
class Given:
    """What of a record was handed in. record: of its form. why: it is not. None and None: there is none."""

    record: dict | None = None
    why: str | None = None


def form() -> dict:
    """JSON Schema of a record."""
    epoch = record(
        epoch=integer(0, 10**6), loss=optional(number()), accuracy=optional(number()), seconds=optional(number(0))
    )
    run = record(
        todo=string(),
        ranks=integer(1, 10**5),
        places=array(record(node=string(), device=string())),
        samples=integer(0),
        data=string(),
        epochs=array(epoch),
        throughput=optional(number(0)),
    )
    job = record(
        id={"type": "string", "pattern": r"^[0-9]{1,10}$"},
        user=string(),
        cluster=string(),
        nodes=array(string(), least=1),
        ranks=integer(1, 10**5),
        restarts=integer(0),
    )
    texts = {"type": "object", "additionalProperties": string()}
    return record(
        format={"enum": [FORMAT]},
        lab=string(),
        state={"enum": ["completed", "failed", "stopped"]},
        job=optional(job),
        launcher=string(),
        began=number(0),
        ended=number(0),
        seconds=number(0),
        versions=texts,
        code=texts,
        cells=record(run=integer(0), failed=array(string()), not_run=array(string())),
        errors=array(string()),
        runs=array(run),
    )


def read_record(folder: Path) -> Given:
    """The record in the folder of a submission. Follows no link out of it, and never raises for what is there."""
    try:
        found = load_evidence(read_plain(folder / FILE, LARGEST))
    except FileNotFoundError:
        return Given()
    except (Unreadable, ValueError, OSError) as error:
        return Given(why=" ".join(str(error).split())[:200])
    wrong = problem(form(), found)
    return Given(why=wrong.replace("evidence", "it", 1)) if wrong else Given(found)


def run_of(recorded: dict, todo: str) -> dict | None:
    """What was put on record for a TODO; the last counts."""
    return next((run for run in reversed(recorded["runs"]) if run["todo"] == todo), None)


def by_itself(demand: Demand, todo: str, lab: str | None, given: Given, code: dict[str, str]) -> Finding | None:
    """What is wrong with a record, as far as it tells itself. code: of the submission, as `course.record.code_of`."""
    recorded = given.record
    if recorded is None:
        return costing(demand, finding("damaged-record", why=given.why) if given.why else finding("no-record"))
    run = run_of(recorded, todo)
    changed = sorted(name for name in code if recorded["code"].get(name) != code[name])
    found = None
    if lab is not None and recorded["lab"] != lab:
        found = finding("record-of-another-lab", told=quoted(recorded["lab"]))
    elif recorded["job"] is None:
        found = finding("not-in-batch")
    elif changed:
        found = finding("other-code", cells=", ".join(f"`{name}`" for name in changed))
    elif recorded["state"] != "completed":
        found = finding("run-failed", why=unfinished(recorded))
    elif run is None or not run["epochs"]:
        found = finding("nothing-on-record", todo=todo)
    elif run["ranks"] < demand.ranks:
        found = finding("too-few-ranks", told=ranks(run["ranks"]), due=demand.ranks)
    elif odd := contradiction(recorded, run):
        found = finding("edited-record", told=odd[0], who="it also says", known=odd[1])
    elif not falls(run):
        first, last = (shown(run["epochs"][place]["loss"]) for place in (0, -1))
        found = finding("loss-not-falling", first=first, last=last)
    return found and costing(demand, found)


def by_accounting(demand: Demand, todo: str, recorded: dict, job: Job | None, account: str) -> Finding | None:
    """What is wrong with a record that is right by itself, by what Slurm says. account: whose job it must be."""
    told, run = recorded["job"], run_of(recorded, todo)
    found = None
    if job is None:
        found = finding("job-unknown", id=told["id"])
    elif job.user != account:
        found = finding("not-your-job", id=told["id"])
    elif not within(recorded, job):
        times = shown_times(recorded["began"], recorded["ended"]), shown_times(job.began, job.ended)
        found = finding("replayed-record", id=told["id"], told=times[0], known=times[1])
    elif odd := differences(recorded, run, job):
        found = finding("edited-record", told=odd[0], who="Slurm says", known=odd[1])
    return found and costing(demand, found)


def by_rerun(demand: Demand, run: dict, losses: Sequence[float | None]) -> Finding | None:
    """What is wrong with a recorded training, by the losses that the same cells have given again."""
    for epoch, loss in zip(run["epochs"], losses, strict=False):
        told = epoch["loss"]
        if told is None or loss is None or abs(told - loss) > AGREE * max(abs(told), abs(loss)):
            said = f"that the loss of epoch {epoch['epoch']} is {shown(told)}"
            known = f"the same cells, run again, give {shown(loss)}"
            return costing(demand, finding("edited-record", told=said, who="but", known=known))
    return None


def costing(demand: Demand, found: Finding) -> Finding:
    """The finding, at the price that the check has set."""
    return replace(found, points=demand.points)


def unfinished(recorded: dict) -> str:
    """Why a run did not come to its end."""
    if recorded["state"] == "stopped":
        return "it was stopped, by `scancel` or at its time limit"
    failed = [f"cell {quoted(name)} failed" for name in recorded["cells"]["failed"]]
    return ", ".join(failed[:3]) or "it failed"


def falls(run: dict) -> bool:
    """Whether the last loss is below the first."""
    losses = [epoch["loss"] for epoch in run["epochs"]]
    return len(losses) > 1 and None not in losses and losses[-1] < losses[0]


def contradiction(recorded: dict, run: dict) -> tuple[str, str] | None:
    """Two things in a record of which one must be wrong."""
    seconds = [epoch["seconds"] or 0.0 for epoch in run["epochs"]]
    nodes = {place["node"] for place in run["places"]}
    if abs(recorded["ended"] - recorded["began"] - recorded["seconds"]) > 1:
        return f"that the run took {recorded['seconds']:.0f} s", "that it took from its `began` to its `ended`"
    if sum(seconds) > recorded["seconds"] + 1:
        return f"that the run took {recorded['seconds']:.0f} s", f"that its epochs took {sum(seconds):.0f} s"
    if len(run["places"]) != run["ranks"]:
        return ranks(run["ranks"]), f"where {len(run['places'])} were"
    if run["ranks"] > recorded["job"]["ranks"]:
        return ranks(run["ranks"]), f"that the job had {recorded['job']['ranks']}"
    if len(nodes) > len(recorded["job"]["nodes"]):
        return f"that the ranks were on {len(nodes)} nodes", f"that the job had {len(recorded['job']['nodes'])}"
    if [epoch["epoch"] for epoch in run["epochs"]] != list(range(len(run["epochs"]))):
        return f"that it had {len(run['epochs'])} epochs", "other numbers of them"
    timed = sum(seconds) > 0 and run["throughput"] is not None
    if timed and abs(run["throughput"] * sum(seconds) / max(1, run["samples"] * len(seconds)) - 1) > 0.01:
        return f"that it was {run['throughput']:.0f} samples/s", "samples and seconds that give another number"
    return None


def within(recorded: dict, job: Job) -> bool:
    """Whether the run on record fits into the job: it begins after it, and ends shortly before it."""
    if job.ended is None:
        return recorded["began"] >= job.began - CLOCKS
    ends_in_it = job.ended - SLACK <= recorded["ended"] <= job.ended + CLOCKS
    return recorded["began"] >= job.began - CLOCKS and ends_in_it


def differences(recorded: dict, run: dict, job: Job) -> tuple[str, str] | None:
    """What a record says of its job, and Slurm does not."""
    told = recorded["job"]
    if job.ended is not None and job.state != "COMPLETED":
        return "that the run was completed", f"that the job's state is {job.state}"
    if sorted(told["nodes"]) != sorted(job.nodes):
        named = (", ".join(sorted(nodes)[:8]) or "none" for nodes in (map(quoted, told["nodes"]), job.nodes))
        return tuple(f"that the nodes were {names}" for names in named)
    if job.tasks is not None and (run["ranks"] > job.tasks or told["ranks"] != job.tasks):
        return f"{ranks(run['ranks'])} of {told['ranks']} that were asked for", f"that {job.tasks} were"
    if job.tasks is None and max(run["ranks"], told["ranks"]) > job.cpus:
        return ranks(told["ranks"]), f"that the job had {job.cpus} processors"
    if job.ended is not None and recorded["seconds"] > job.ended - job.began + CLOCKS:
        return f"that it took {recorded['seconds']:.0f} s", f"{job.ended - job.began:.0f} s"
    return None


def ranks(count: int) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{count} rank{'' if count == 1 else 's'}"


def shown(loss: float | None) -> str:
    """A loss, in words where it is none."""
    return "not finite" if loss is None else f"{loss:.4g}"


def shown_times(began: float, ended: float | None) -> str:
    """From when to when, in UTC."""

    def at(seconds: float) -> str:
        try:
            return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
        except (OverflowError, ValueError):
            return "no time that there is"

    return f"{at(began)} to {at(ended) if ended is not None else 'now'} UTC"
