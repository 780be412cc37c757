"""The verdict on the record of a batch run that is handed in with a notebook: `run.json`, see `course.batch.record`.

Students can edit the file, so nothing in it is trusted by itself. It is compared with what Slurm knows of the job, and
with a short run of the submission's cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograde.contract.check import Demand
from autograde.contract.result import Finding
from autograde.contract.schema import array, integer, number, optional, record, string
from autograde.contract.show import quoted
from autograde.rubric.words import Words
from autograde.sandbox.untrusted import load_evidence, problem
from autograde.slurm.accounting import Job
from course.batch.record import FILE, FORMAT, Record, Report
from course.files import Unreadable, read_plain

MAX_RECORD = 2**20  # bytes; a usual record has some thousands
TOLERANCE = 0.005  # relative, of losses of two runs: ranks may add in another order, and GPUs round
CLOCKS = 5.0  # seconds by which the clocks of two machines may differ
SLACK = 60.0  # seconds that a job may last after its run

words = Words("""
no-record: There is no record of a run in batch with this submission. Save the notebook, `sbatch run.sh` in its folder,
and hand in run.json with the notebook.

damaged-record: `run.json` is not as `sbatch run.sh` leaves it: {why}. Run it again.

record-of-another-lab: `run.json` is the record of {recorded}, not of this lab.

not-in-batch: The run on record was no job of Slurm's. `sbatch run.sh` makes one.

other-code: The run on record is of other code than this submission: {cells} differ. Save the notebook, run it again in
batch, and hand in both.

run-failed: The run on record did not come to its end: {why}. The job's log, and the executed notebook beside it, show
where.

nothing-on-record: The run on record never came to put a `{todo}` on record. What the executed notebook shows below that
TODO says why.

too-few-ranks: The run on record had {actual}. At least {expected} are asked for: `sbatch --ntasks {expected} run.sh`.

loss-not-falling: In the run on record the loss does not fall: it is {first} in the first epoch, {last} in the last one.

job-unknown: Slurm knows of no job {id}.

not-your-job: Slurm says that job {id} is not yours. The run must be one that you have submitted.

replayed-record: The record tells of a run from {recorded}. Slurm says that job {id} was from {actual}.

edited-record: The record says {recorded}; {who} {actual}.
""")


@dataclass(frozen=True)
class RecordFile:
    """The record in a submission. why: why it cannot be read. Both are None if there is no record."""

    record: Record | None = None
    why: str | None = None


def record_schema() -> dict:
    """JSON Schema of a `course.batch.record.Record`."""
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


def read_record(folder: Path) -> RecordFile:
    """Read the record in the folder of a submission. Follows no link out of it, and never raises."""
    try:
        recorded = load_evidence(read_plain(folder / FILE, MAX_RECORD))
    except FileNotFoundError:
        return RecordFile()
    except (Unreadable, ValueError, OSError) as error:
        return RecordFile(why=" ".join(str(error).split())[:200])
    wrong = problem(record_schema(), recorded)
    return RecordFile(why=wrong.replace("evidence", "it", 1)) if wrong else RecordFile(recorded)


def run_of(recorded: Record, todo: str) -> Report | None:
    """The last training on record for a TODO."""
    return next((run for run in reversed(recorded["runs"]) if run["todo"] == todo), None)


def by_itself(demand: Demand, todo: str, lab: str | None, file: RecordFile, code: dict[str, str]) -> Finding | None:
    """What the record itself shows to be wrong. code: of the submission, from `course.batch.record.code_of`."""
    recorded = file.record
    if recorded is None:
        return finding("damaged-record", why=file.why) if file.why else finding("no-record")
    run = run_of(recorded, todo)
    changed = sorted(name for name in code if recorded["code"].get(name) != code[name])
    found = None
    if lab is not None and recorded["lab"] != lab:
        found = finding("record-of-another-lab", recorded=quoted(recorded["lab"]))
    elif recorded["job"] is None:
        found = finding("not-in-batch")
    elif changed:
        found = finding("other-code", cells=", ".join(f"`{name}`" for name in changed))
    elif recorded["state"] != "completed":
        found = finding("run-failed", why=unfinished(recorded))
    elif run is None or not run["epochs"]:
        found = finding("nothing-on-record", todo=todo)
    elif run["ranks"] < demand.ranks:
        found = finding("too-few-ranks", actual=ranks(run["ranks"]), expected=demand.ranks)
    elif odd := contradiction(recorded, run):
        found = finding("edited-record", recorded=odd[0], who="it also says", actual=odd[1])
    elif not falls(run):
        first, last = (loss_text(run["epochs"][index]["loss"]) for index in (0, -1))
        found = finding("loss-not-falling", first=first, last=last)
    return found


def by_accounting(todo: str, recorded: Record, job: Job | None, account: str) -> Finding | None:
    """What Slurm shows to be wrong with a record that is right by itself. account: that the job must belong to."""
    job_id, run = recorded["job"]["id"], run_of(recorded, todo)
    found = None
    if job is None:
        found = finding("job-unknown", id=job_id)
    elif job.user != account:
        found = finding("not-your-job", id=job_id)
    elif not within(recorded, job):
        times = times_text(recorded["began"], recorded["ended"]), times_text(job.began, job.ended)
        found = finding("replayed-record", id=job_id, recorded=times[0], actual=times[1])
    elif odd := differences(recorded, run, job):
        found = finding("edited-record", recorded=odd[0], who="Slurm says", actual=odd[1])
    return found


def by_rerun(run: Report, losses: Sequence[float | None]) -> Finding | None:
    """What the losses of the same cells, run again, show to be wrong with a recorded training."""
    for epoch, loss in zip(run["epochs"], losses, strict=False):
        recorded = epoch["loss"]
        if recorded is None or loss is None or abs(recorded - loss) > TOLERANCE * max(abs(recorded), abs(loss)):
            claim = f"that the loss of epoch {epoch['epoch']} is {loss_text(recorded)}"
            actual = f"the same cells, run again, give {loss_text(loss)}"
            return finding("edited-record", recorded=claim, who="but", actual=actual)
    return None


def finding(key: str, **facts: object) -> Finding:
    """The finding with these words, filled in with facts."""
    wrong = words(key, **facts)
    return Finding(wrong.key, wrong.message)


def unfinished(recorded: Record) -> str:
    """Why a run did not finish."""
    if recorded["state"] == "stopped":
        return "it was stopped, by `scancel` or at its time limit"
    failed = [f"cell {quoted(name)} failed" for name in recorded["cells"]["failed"]]
    return ", ".join(failed[:3]) or "it failed"


def falls(run: Report) -> bool:
    """Whether the last loss is below the first."""
    losses = [epoch["loss"] for epoch in run["epochs"]]
    return len(losses) > 1 and None not in losses and losses[-1] < losses[0]


def contradiction(recorded: Record, run: Report) -> tuple[str, str] | None:
    """Two statements of a record that contradict each other."""
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


def within(recorded: Record, job: Job) -> bool:
    """Whether the recorded run fits into the job: it begins after the job, and ends shortly before it."""
    if job.ended is None:
        return recorded["began"] >= job.began - CLOCKS
    ends_in_it = job.ended - SLACK <= recorded["ended"] <= job.ended + CLOCKS
    return recorded["began"] >= job.began - CLOCKS and ends_in_it


def differences(recorded: Record, run: Report, job: Job) -> tuple[str, str] | None:
    """A statement of the record about its job, and what Slurm says instead."""
    claimed = recorded["job"]
    if job.ended is not None and job.state != "COMPLETED":
        return "that the run was completed", f"that the job's state is {job.state}"
    if sorted(claimed["nodes"]) != sorted(job.nodes):
        named = (", ".join(sorted(nodes)[:8]) or "none" for nodes in (map(quoted, claimed["nodes"]), job.nodes))
        return tuple(f"that the nodes were {names}" for names in named)
    if job.tasks is not None and (run["ranks"] > job.tasks or claimed["ranks"] != job.tasks):
        return f"{ranks(run['ranks'])} of {claimed['ranks']} that were asked for", f"that {job.tasks} were"
    if job.tasks is None and max(run["ranks"], claimed["ranks"]) > job.cpus:
        return ranks(claimed["ranks"]), f"that the job had {job.cpus} processors"
    if job.ended is not None and recorded["seconds"] > job.ended - job.began + CLOCKS:
        return f"that it took {recorded['seconds']:.0f} s", f"{job.ended - job.began:.0f} s"
    return None


def ranks(count: int) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{count} rank{'' if count == 1 else 's'}"


def loss_text(loss: float | None) -> str:
    """A loss with four digits, or in words if it is None."""
    return "not finite" if loss is None else f"{loss:.4g}"


def times_text(began: float, ended: float | None) -> str:
    """From when to when, in UTC."""

    def at(seconds: float) -> str:
        try:
            return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
        except (OverflowError, ValueError):
            return "no time that there is"

    return f"{at(began)} to {at(ended) if ended is not None else 'now'} UTC"
