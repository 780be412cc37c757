"""Checks in a real notebook, run by a real kernel on real ranks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import nbformat
import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from lab_packages import write_package
from nbclient import NotebookClient
from small_clone import wait_for

from autograde.cells.cell_code import bound_names
from autograde.hints import read_taken
from autograde.notebook import cell_that_defines
from course.overview import text_mark
from course.overview.progress import has_passed, results
from course.processes.kernels import over_files
from course.world.stuck import waits

CHECKS = """
# == __init__.py
RANKS = 2
# == total.py
from autograde.rubric import CallCheck, Criterion, Words

from ..probes import total

words = Words("wrong-total: Ranks {wrong} have the wrong total.")


def summed(call):
    due = call.size * (call.size + 1) // 2
    wrong = [rank for rank, each in enumerate(call.seen) if each.value.value != due]
    return words("wrong-total", wrong=str(wrong)) if wrong else None


CHECK = CallCheck.of(
    "total",
    total.PROBE,
    lambda rng: [(2, {"several": True}), (1, {"several": False})],
    Criterion("sum", 1.5, "each rank returns the sum", summed, on=lambda call: call["several"]),
    Criterion("alone", 0.5, "a single rank returns its number", summed, on=lambda call: not call["several"]),
)
"""
PROBES = """
# == __init__.py
# == total.py
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    value: Number


def call(total, rank, call):
    return Seen(Number.of(total(rank.comm, rank.rank + 1)))


PROBE = CallProbe(Seen, call)
"""
START = """
from autograde.notebook import Checker, needs
from course.world import COMM, World
world = World(2, progress=False)
check = Checker("checks", world)
"""
RIGHT = "def total(comm, mine):\n    return comm.allreduce(mine)"
PARTLY = "def total(comm, mine):\n    return comm.reduce(mine)"
HANGS = "def total(comm, mine):\n    if comm.rank == 0:\n        return comm.allreduce(mine)"
PATIENCE = 240  # seconds that only a kernel which hangs takes
BLANK = "def total(comm, mine):\n    raise NotImplementedError()"


def run(folder: Path, *cells: str, execution: str | None = None) -> list[nbformat.NotebookNode]:
    """Run cells in a kernel in a folder with `checks/` and `probes/`; gives the executed cells."""
    write_package(folder / "checks", CHECKS)
    write_package(folder / "probes", PROBES)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (START, *cells)])
    environment = {**os.environ, **({"NBGRADER_EXECUTION": execution} if execution else {})}
    resources = {"metadata": {"path": str(folder)}}
    with TemporaryDirectory(prefix="kernel-") as short:
        settings = {"allow_errors": True, "resources": resources, "config": over_files(Path(short))}
        NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", **settings).execute(env=environment)
    return notebook.cells[1:]


def text_of(cell: nbformat.NotebookNode) -> str:
    """All text that a cell shows."""
    parts = []
    for output in cell.outputs:
        parts.append(
            output.get("text") or output.get("data", {}).get("text/plain") or "\n".join(output.get("traceback", []))
        )
    return "\n".join(parts)


def test_a_student_sees_findings_and_can_go_on(tmp_path):
    check = 'check("total")'
    few, again = "check.world = World(1, progress=False)", START.splitlines()[-1]
    (tmp_path / "deadline.txt").write_text("2026-01-31 12:00:00 UTC\n")
    cells = run(tmp_path, BLANK, check, PARTLY, check, HANGS, check, RIGHT, check, few, check, "", again)[1::2]
    *cells, start = cells
    blank, partly, hangs, right, lacks_ranks = cells
    due = ["The deadline was " in text_of(cell) for cell in (start, *cells)]
    assert due == [True, False, False, False, True, False], "where the lab is opened, and where a TODO is done"
    assert "total: not started, 2 points" in text_of(blank)
    assert "`raise NotImplementedError()` is still in the cell" in text_of(blank)
    assert "total: not yet, 0.5 of 2 points" in text_of(partly)
    assert "Ranks [1] have the wrong total." in text_of(partly)
    assert "Rank 1 never makes the call that rank 0 waits in, comm.allreduce (cell line 3)" in text_of(hangs)
    assert "total: passed, 2 of 2 points" in text_of(right)
    assert [has_passed(cell) for cell in cells] == [False, False, False, True, False]
    noted = [results(cell)[0].get("checked") for cell in (partly, right, lacks_ranks)]
    assert noted == [text_mark(PARTLY), text_mark(RIGHT), None], "the text that was checked"
    assert text_of(lacks_ranks) == "total: not checked. This takes 2 ranks, and there are 1."
    for cell in cells:
        outputs = [output for output in cell.outputs if output.output_type == "display_data"]
        assert len(outputs) == 1
        assert 'role="status"' in outputs[0].data["text/html"]
        assert not [output for output in cell.outputs if output.output_type in ("error", "execute_result")]


def test_px_runs_on_the_same_ranks_in_rank_order_also_after_a_deadlock(tmp_path):
    px = "%%px\nfrom mpi4py import MPI\nmine = MPI.COMM_WORLD.rank\nprint('here is rank', mine)"
    read = "[world._processes.client[e]['mine'] for e in world._processes.engines]"
    first, ranks, _, _, again, ranks_again = run(tmp_path, px, read, HANGS, 'check("total")', px, read)
    for printed in (first, again):
        assert "here is rank 0" in text_of(printed) and "here is rank 1" in text_of(printed)
    assert text_of(ranks) == text_of(ranks_again) == "[0, 1]"


@pytest.mark.thorough
def test_px_shows_what_every_rank_printed_also_where_that_came_before_it_looked(tmp_path):
    late = """
    view = world._processes.client[world._processes.engines]
    printed = view.execute("print('early')", silent=False, block=False)
    printed.wait_for_output()
    with printed.stream_output():
        pass
    """
    (cell,) = run(tmp_path, dedent(late))
    assert "[stdout:0] early" in text_of(cell) and "[stdout:1] early" in text_of(cell)


def once_it_waits(ranks: Path, rank: int, act: Callable[[], None]) -> threading.Thread:
    """Calls `act`, in the background, when this rank waits in a call. ranks: names the folder of the ranks' logs."""

    def look() -> None:
        wait_for(lambda: any(waits(str(log)) for log in Path(ranks.read_text()).glob(f"run-*-{rank}.jsonl")))
        act()

    thread = threading.Thread(target=look)
    thread.start()
    return thread


def start_world(client: BlockingKernelClient, folder: Path) -> Path:
    """Start two ranks in a kernel. Returns a file that names the folder of their logs."""
    ranks = folder / "ranks"
    start = "from course.world import COMM, World\nworld = World(2, progress=False, stall=600)\n"
    start += f"with open({str(ranks)!r}, 'w') as file:\n    file.write(world._processes.folder)"
    assert client.execute_interactive(start, timeout=PATIENCE)["content"]["status"] == "ok"
    return ranks


def stopped(folder: Path) -> float:
    """Stops a cell whose rank 0 computes for ever and whose rank 1 waits for it. Returns after how many seconds."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder))
    try:
        ranks, computes, pressed = start_world(client, folder), folder / "computes", []
        touch = f"open({str(computes)!r}, 'w').close()"
        loop = f"def f(comm):\n    while comm.rank == 0:\n        {touch}\n    comm.barrier()\n"

        def press() -> None:
            wait_for(computes.exists)
            pressed.append(time.monotonic())
            manager.interrupt_kernel()

        stopper = once_it_waits(ranks, 1, press)
        run = loop + "world.run(f, COMM, deadline=6000)"
        reply = client.execute_interactive(run, timeout=PATIENCE, output_hook=lambda message: None)["content"]
        seconds = time.monotonic() - pressed[0]
        stopper.join()
        assert reply["ename"] == "Interrupted"
        assert "rank 0  still runs, cell line" in reply["evalue"]
        assert "rank 1  waits in comm.barrier, cell line 4:  comm.barrier()" in reply["evalue"]
        again = "assert world.run(lambda comm: comm.allreduce(1), COMM) == [2, 2]"
        assert client.execute_interactive(again, timeout=PATIENCE)["content"]["status"] == "ok"
        return seconds
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def in_cell(client: BlockingKernelClient, cell: str, source: str) -> str:
    """Run a source in the notebook's cell of this id, as JupyterLab tells it; what it shows."""
    shown: list[str] = []
    content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    request = client.session.msg("execute_request", content, metadata={"cellId": cell})
    client.shell_channel.send(request)
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
            continue
        if message["content"].get("execution_state") == "idle":
            return "\n".join(shown)
        shown += [message["content"]["data"]["text/plain"]] if "data" in message["content"] else []


@pytest.mark.sample(1)
@pytest.mark.parametrize(("cell", "said"), [("a1b2", True), ("total", False), ("an editor's:own#id", False)])
def test_a_todo_that_was_run_in_another_cell_is_told(tmp_path, cell, said):
    write_package(tmp_path / "checks", CHECKS)
    write_package(tmp_path / "probes", PROBES)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        in_cell(client, "start", START)
        in_cell(client, cell, RIGHT)
        told = in_cell(client, "total-check", 'check("total")')
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    assert "total: passed, 2 of 2 points" in told
    assert ("ran in another cell than that of the TODO" in told) == said


def test_the_stop_button_frees_a_cell_and_tells_where_the_ranks_stood(tmp_path):
    stopped(tmp_path)


@pytest.mark.thorough
def test_the_stop_button_frees_a_cell_at_once(tmp_path):
    assert stopped(tmp_path) < 8


@pytest.mark.thorough
def test_a_px_cell_that_hangs_does_not_hang_the_next_run(tmp_path):
    hangs = "%%px --noblock\nfrom mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    MPI.COMM_WORLD.Barrier()"
    _, after = run(tmp_path, hangs, "print(world.run(lambda comm: comm.allreduce(1), COMM))")
    assert "A cell with %px has kept ranks busy for 3 s and more; they are replaced." in text_of(after)
    assert "[2, 2]" in text_of(after)


@pytest.mark.thorough
def test_under_nbgrader_autograde_the_score_is_the_result(tmp_path):
    cells = run(tmp_path, PARTLY, 'check("total")', RIGHT, 'check("total")', execution="autograde")
    results = [o.data["text/plain"] for c in cells for o in c.outputs if o.output_type == "execute_result"]
    assert results == ["0.5", "2.0"]


def test_under_nbgrader_validate_a_failed_check_fails_its_cell_with_the_findings(tmp_path):
    _, failed, _, passed = run(tmp_path, PARTLY, 'check("total")', RIGHT, 'check("total")', execution="validate")
    assert [output.output_type for output in failed.outputs] == ["error"]
    assert "Ranks [1] have the wrong total." in text_of(failed)
    assert [output.output_type for output in passed.outputs] == ["display_data"]


@pytest.mark.thorough
def test_a_number_is_judged_by_what_its_cell_says(tmp_path):
    (tmp_path / "questions.toml").write_text('[most]\nvalue = 3\nremark = "One for each."\n')
    answers = [f'check.answer("most", {number})' for number in ("None", "1 + 2", "mine")]
    blank, _, right, variable, unknown = run(tmp_path, answers[0], "mine = 3", *answers[1:], 'check.answer("least", 1)')
    assert "most: not answered yet." in text_of(blank)
    assert text_of(right) == "most: 3 is right. One for each."
    assert "<div" in right.outputs[0].data["text/html"]
    assert "Write the number itself, not a variable" in text_of(variable)
    assert "There is no question 'least'; there are: most" in text_of(unknown)


@pytest.mark.thorough
def test_a_name_that_is_nowhere_and_a_check_that_is_not_there_are_told(tmp_path):
    missing, unknown, _, checked = run(
        tmp_path, 'check("total")', 'check("totl")', "def total(comm, mine:\n    return 1", 'check("total")'
    )
    assert "Run the cell of this TODO first" in text_of(missing)
    assert "There is no check for 'totl'; there are: total" in text_of(unknown)
    assert "The cell itself does not run: SyntaxError" in text_of(checked)
    assert "(cell line 1)" in text_of(checked)


@pytest.mark.thorough
def test_a_helper_from_another_cell_is_not_there_and_the_finding_says_so(tmp_path):
    _, _, checked = run(
        tmp_path,
        "def helper(x):\n    return x",
        "def total(comm, mine):\n    return comm.allreduce(helper(mine))",
        'check("total")',
    )
    assert "NameError" in text_of(checked)
    assert "Only this cell is handed in" in text_of(checked)


@pytest.mark.thorough
def test_a_picture_of_a_deadlock_tells_of_it_and_lets_the_next_cell_run(tmp_path):
    _, picture, after = run(tmp_path, HANGS, 'with needs("total"):\n    world.run(total, COMM, 1)', "print(1 + 1)")
    assert "rank 0 waits in comm.allreduce, cell line 3; rank 1 returned without communicating." in text_of(picture)
    assert [output.output_type for output in picture.outputs] == ["display_data"]
    assert picture.outputs[0].data["text/markdown"].count("```") == 2
    assert text_of(after).strip() == "2"


@pytest.mark.thorough
def test_a_picture_waits_for_its_todo_and_hides_no_other_error(tmp_path):
    body = 'with needs("total"):\n    print(world.run(total, COMM, 1))'
    _, blank, _, right, none, other = run(
        tmp_path, BLANK, body, RIGHT, body, 'with needs("gone"):\n    gone()', 'with needs("x"):\n    1 / 0'
    )
    assert blank.outputs[0].data["text/markdown"] == (
        "This cell needs your `total`. Run it again when its check passes."
    )
    assert "[2, 2]" in text_of(right)
    assert "This cell needs your `gone`" in text_of(none)
    assert "ZeroDivisionError" in text_of(other)


@pytest.mark.thorough
def test_a_picture_names_the_first_todo_that_is_missing(tmp_path):
    body = 'with needs("first", "total", "last"):\n    first(world.run(total, COMM, 1))'
    _, _, stub, _, gone = run(tmp_path, "first = print", BLANK, body, RIGHT, 'with needs("total", "last"):\n    last()')
    assert text_of(stub).startswith("This cell needs your `total`.")
    assert text_of(gone).startswith("This cell needs your `last`.")


HINTS = """
[total]
question = "Who has what?"
pointer = "Look at `allreduce`."
skeleton = "def total(comm, mine): ..."
"""


@pytest.mark.thorough
def test_hints_are_unfolded_one_by_one_and_noted_also_when_all_cells_run_again(tmp_path):
    (tmp_path / "hints.toml").write_text(HINTS)
    check, second, third = 'check("total")', *(f'check.hint("total", {n})' for n in (2, 3))
    cells = run(tmp_path, BLANK, check, third, 'check.hint("total")', check, second, third, check, RIGHT, check)
    stuck, too_early, question, again, pointer, skeleton, no_more, _, passed = cells[1:]
    assert '`check.hint("total")`, in a new cell, shows the first of 3 hints. They cost no points' in text_of(stuck)
    assert "Hint 1 comes first" in text_of(too_early) and "comm" not in text_of(too_early)
    assert question.outputs[0].data["text/markdown"].startswith("**Hint 1 of 3, a question.** Who has what?")
    assert '`check.hint("total", 2)` shows hint 2 of 3' in text_of(again)
    assert "Look at `allreduce`." in text_of(pointer)
    assert "```python\ndef total(comm, mine): ...\n```" in text_of(skeleton)
    assert "check.hint" not in text_of(no_more) + text_of(passed)
    assert read_taken(tmp_path) == {"total": 3}
    run(tmp_path, 'check.hint("total")')
    assert read_taken(tmp_path) == {"total": 3}


@pytest.mark.thorough
def test_a_hint_that_is_not_there_and_a_folder_that_cannot_be_written_are_told(tmp_path):
    (tmp_path / "hints.toml").write_text(HINTS)
    note_is_a_folder = "import pathlib; pathlib.Path('hints_taken.json').mkdir()"
    wrong, fourth, _, told = run(
        tmp_path, 'check.hint("totl")', 'check.hint("total", 4)', note_is_a_folder, 'check.hint("total")'
    )
    assert "There is no check for 'totl'; there are: total" in text_of(wrong)
    assert "has hints 1 to 3, no hint 4" in text_of(fourth)
    assert "Who has what?" in text_of(told) and "could not be noted: Is a directory" in text_of(told)


@pytest.mark.thorough
def test_a_notebook_that_does_not_use_torch_does_not_load_it(tmp_path):
    *_, loaded = run(tmp_path, RIGHT, 'check("total")', "import sys; 'torch' in sys.modules")
    assert text_of(loaded) == "False"


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("def f(): pass", {"f"}),
        ("class C:\n    def g(self): pass", {"C"}),
        ("a, (b, c) = 1, (2, 3)\nd: int = 4", {"a", "b", "c", "d"}),
        ("from m import x as y\nimport k", {"y", "k"}),
        ("%matplotlib inline\nf = 1", {"f"}),
        ("def f(:\n  pass", {"f"}),
    ],
)
def test_the_names_that_a_cell_defines(cell, names):
    assert bound_names(cell) == names


def test_the_last_cell_that_defines_a_name_counts():
    assert cell_that_defines("f", ["f = 1", "def f(): pass", "g = f"]) == "def f(): pass"
    assert cell_that_defines("h", ["f = 1"]) is None


@pytest.mark.thorough
def test_presses_of_the_stop_button_at_any_moment_cost_neither_the_report_nor_the_world(tmp_path):
    """Presses without a pause, for a second: also while ranks are asked where they stand, and while that is shown."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        ranks = start_world(client, tmp_path)
        hangs = "world.run(lambda comm: comm.rank or comm.barrier(), COMM, deadline=6000)"

        def press():
            end = time.monotonic() + 1
            while time.monotonic() < end:
                os.kill(manager.provisioner.pid, signal.SIGINT)

        for _ in range(3):
            stopper = once_it_waits(ranks, 0, press)
            reply = client.execute_interactive(hangs, timeout=PATIENCE, output_hook=lambda message: None)["content"]
            assert (reply["status"], reply["ename"]) == ("error", "Interrupted"), reply
            assert "rank 0  waits in comm.barrier" in reply["evalue"]
            stopper.join()
            again = "assert world.run(lambda comm: comm.allreduce(1), COMM) == [2, 2]"
            assert client.execute_interactive(again, timeout=PATIENCE)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
