"""Probes run apart from the grader: what comes back, what cannot come back, and whose fault it is when nothing does."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from small_course import ANSWERS, LAB, make_course

from autograde import evidence
from autograde.evidence import Cancelled, Marked, examine
from autograde.labs import Lab, find_lab

SEED = 3
HANGS = "def total(comm, x):\n    if comm.rank == 0:\n        return comm.allreduce(x)"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The small lab."""
    return find_lab(make_course(tmp_path_factory.mktemp("course")), LAB)


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Each test leaves no process of a world and no file behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    end = time.monotonic() + 10
    while (alive := started_in(tmp_path)) and time.monotonic() < end:
        time.sleep(0.1)
    assert alive == []
    assert list(tmp_path.glob("lockstep-*")) == []


def started_in(folder: Path) -> list[str]:
    """Processes whose environment names a folder, as that of a prober and all its descendants does."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_text())
    return found


def run(lab: Lab, blank: tuple[str, ...] = (), time_limit: float = 60, **answers: str) -> dict[str, Marked]:
    """Examine answers, which are the right ones where none are given."""
    found = examine(lab, ANSWERS | answers, frozenset(blank), SEED, time_limit)
    assert [one.todo for one in found] == ["double", "total"]
    assert all(Marked.from_plain(one.plain()) == one for one in found)
    return {one.todo: one for one in found}


def keys(one: Marked) -> list[str]:
    """Keys of its findings."""
    return [finding.key for finding in one.result.findings]


def prober(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Let another program stand in for the prober. It finds the channel's number in `channel`."""
    begin = """
import json, os, sys

channel = int(sys.argv[1])

def say(**message):
    os.write(channel, json.dumps(message).encode() + b"\\n")
"""
    monkeypatch.setattr(evidence, "command", lambda channel: [sys.executable, "-c", begin + program, str(channel)])


def test_right_answers_earn_all_whatever_they_print(lab):
    loud = 'import os\nprint(\'{"todo": "total"}\')\nos.write(1, b"noise")\n' + ANSWERS["double"]
    found = run(lab, double=loud)
    assert [one.score for one in found.values()] == [2, 3]
    assert all(one.result.seed == SEED for one in found.values())


def test_a_hidden_case_is_probed_though_the_prober_has_the_students_checks(lab):
    found = run(lab, blank=("total",), double="def double(x):\n    return 2 * abs(x)")
    assert (found["double"].score, keys(found["double"])) == (1.5, ["sign-lost"])
    assert (found["total"].score, keys(found["total"])) == (0, ["not-done"])


def test_a_hang_and_a_death_cost_their_own_points_only(lab):
    found = run(lab, total=HANGS)
    assert (found["double"].score, found["total"].score, keys(found["total"])) == (2, 0, ["hang"])
    found = run(lab, double="import os\ndef double(x):\n    os._exit(3)")
    assert (found["double"].score, keys(found["double"]), found["total"].score) == (0, ["rank-died"], 3)


def test_blank_todos_are_not_run(lab, monkeypatch):
    prober(monkeypatch, "raise SystemExit('this must not be started')")
    found = run(lab, blank=("double", "total"))
    assert [(one.score, keys(one)) for one in found.values()] == [(0, ["not-done"]), (0, ["not-done"])]


def test_when_time_is_up_the_running_todo_is_too_slow_and_the_next_is_still_run(lab, monkeypatch):
    slow = """
import time
todo = json.load(open("job.json"))[0]["todo"]
say(world="ready")
say(todo=todo, state="begun")
time.sleep(60 if todo == "double" else 0)
say(todo=todo, state="failed", reason="no reason")
"""
    prober(monkeypatch, slow)
    began = time.monotonic()
    found = run(lab, time_limit=1.0)
    assert time.monotonic() - began < 5
    assert (found["double"].score, keys(found["double"])) == (0, ["too-slow"])
    assert (found["total"].score, found["total"].reason) == (None, "no reason")


def test_when_our_side_fails_it_is_tried_once_more_and_never_scored_zero(lab, monkeypatch, tmp_path):
    log = tmp_path / "attempts"
    prober(monkeypatch, f"open({str(log)!r}, 'a').write('x')\nraise SystemExit('No mpiexec here.')")
    found = run(lab)
    assert log.read_text() == "xx"
    assert [one.score for one in found.values()] == [None, None]
    reason = "the process that runs the checks ended with status 1 as it started the ranks: No mpiexec here."
    assert [one.reason for one in found.values()] == [reason, reason]


def test_a_failure_that_does_not_come_back_costs_nothing(lab, monkeypatch, tmp_path):
    real = evidence.command
    calls = []

    def command(channel: int) -> list[str]:
        calls.append(channel)
        return real(channel) if len(calls) > 1 else [sys.executable, "-c", "raise SystemExit(1)"]

    monkeypatch.setattr(evidence, "command", command)
    assert [one.score for one in run(lab).values()] == [2, 3]


@pytest.mark.parametrize(
    "message",
    [
        b"not json\n",
        b"[" * 100_000 + b"\n",
        b"17\n",
        b'{"todo": "double", "state": "done", "evidence": [{"state": "ok"}]}\n',
        b'{"todo": "another", "state": "begun"}\n',
        b'{"todo": ["double"], "state": "begun"}\n',
        b'{"todo": "double", "state": "begun"}\n{"todo": "total", "state": "done", "evidence": []}\n',
        b'{"todo": "double", "state": "begun"}\n{"todo": "double", "state": "done", "evidence": {"score": 2}}\n',
        b'{"todo": "double", "state": "begun"}\n{"todo": "double", "state": "done", "score": 2}\n',
        b'{"score": 5, "passed": true}\n',
        b"x" * 1000,
        b"",
    ],
)
def test_messages_that_are_not_foreseen_earn_nothing_and_wait_for_a_person(lab, monkeypatch, message):
    prober(monkeypatch, f"say(world='ready')\nos.write(channel, {message!r})")
    for one in run(lab).values():
        assert one.score is None
        assert one.reason.startswith("the process that runs the checks")


@pytest.mark.parametrize(
    "evidence_sent", ["[]", "[1]", '[{"state": "ok"}]', '["ok", "ok"]', "[null, null]", "[{}, {}, {}]"]
)
def test_evidence_that_no_verdict_can_read_waits_for_a_person(lab, monkeypatch, evidence_sent):
    program = (
        f"say(todo='double', state='begun')\nsay(todo='double', state='done', evidence=json.loads({evidence_sent!r}))"
    )
    prober(monkeypatch, program)
    found = run(lab, blank=("total",))
    assert found["double"].score is None
    assert found["double"].reason.startswith("the verdict could not read the evidence: ")


def test_more_evidence_than_fits_is_not_listened_to(lab, monkeypatch):
    monkeypatch.setattr(evidence, "MAX_MESSAGES", 10_000)
    prober(monkeypatch, "say(todo='double', state='begun')\nwhile True: os.write(channel, b'x' * 1000)")
    assert run(lab, blank=("total",))["double"].reason == "the evidence is larger than 0 MiB"


def test_a_grading_can_be_stopped(lab, monkeypatch):
    prober(monkeypatch, "import time\ntime.sleep(60)")
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    with pytest.raises(Cancelled):
        examine(lab, ANSWERS, frozenset(), SEED, cancel=cancel)


def test_a_prober_ends_when_the_grader_is_gone(lab, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "job.json").write_text("[]")
    (work / "checks.py").write_text(lab.checks.read_text())
    process = subprocess.Popen(
        evidence.command(1), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=work, env=evidence.environment(work),
        start_new_session=True,
    )  # fmt: skip
    process.stdout.readline()
    process.stdin.close()
    process.wait(10)
    assert not work.exists()


def test_a_prober_gets_no_secret_of_ours(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "secret")
    monkeypatch.setenv("LOCKSTEP_COURSE", "/course")
    given = evidence.environment(tmp_path)
    assert not {"JUPYTERHUB_API_TOKEN", "LOCKSTEP_COURSE", "NBGRADER_EXECUTION"} & set(given)
    assert (given["HOME"], given["PATH"]) == (str(tmp_path), os.environ["PATH"])
