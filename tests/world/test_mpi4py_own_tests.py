"""mpi4py's own tests pass on watched ranks, so whatever a student does with mpi4py works as without a watch.

They are in its source distribution. Without a watch all of them pass here, too.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from course.world import COMM, World

# Of `spawn`, which starts other programs again and again, one class.
MODULES = (
    "attributes cco_buf cco_buf_inter cco_nb_buf cco_nb_vec cco_ngh_buf cco_ngh_obj cco_obj cco_obj_inter cco_pr_buf "
    "cco_pr_ngh_buf cco_pr_vec cco_vec cco_vec_inter comm comm_inter comm_topo dynproc exceptions grequest group io "
    "msgspec msgzero objmodel p2p_buf p2p_buf_matched p2p_buf_part p2p_obj p2p_obj_matched pack pickle request "
    "rma rma_nb spawn.TestSpawnSingleWorld status subclass threads util_pkl5 win"
)
# Asks C for another object like COMM_SELF, and C knows mpi4py's own classes only.
BY_C = "testCAPI (test_objmodel.TestObjModel.testCAPI)"
TYPES = {"?", "i", "d", "g", "D"}  # of arrays: a truth value, integers, numbers, long ones, complex ones


@pytest.fixture(scope="module")
def mpi4py_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of mpi4py's tests, of the version that is installed."""
    folder, release = tmp_path_factory.mktemp("mpi4py"), version("mpi4py")
    download = ["download", "--quiet", "--no-deps", "--no-binary", "mpi4py", "--no-build-isolation"]
    subprocess.run([sys.executable, "-m", "pip", *download, f"mpi4py=={release}", "-d", folder], check=True)
    subprocess.run(["tar", "-xf", folder / f"mpi4py-{release}.tar.gz", "-C", folder], check=True)
    return folder / f"mpi4py-{release}" / "test"


def run_tests(comm, folder: str, module: str, types: set[str]) -> tuple[int, list[str]]:
    """Runs on each rank: one module of tests. Returns how many there are, and what failed."""
    import io
    import sys
    import unittest

    if folder not in sys.path:
        sys.path.insert(0, folder)
        import arrayimpl

        for array in arrayimpl.ArrayBackends:
            for unwanted in set(array.TypeMap) - types:
                array.TypeMap.pop(unwanted)
    comm.Barrier()
    tests = unittest.TestLoader().loadTestsFromName(f"test_{module}")
    result = unittest.TextTestRunner(stream=io.StringIO(), warnings="ignore").run(tests)
    failed = result.errors + result.failures + [(test, "unexpected") for test in result.unexpectedSuccesses]
    seen = [f"{test}: {text.strip().splitlines()[-1]}" for test, text in failed]
    return result.testsRun, [each for each in seen if not each.startswith(BY_C)]


@pytest.mark.thorough  # it downloads them, which may fail
@pytest.mark.timeout(1800)
def test_they_pass_on_watched_ranks(mpi4py_tests):
    # Some of them send to nobody in particular for longer than a student's code may seem to hang.
    with World(3, progress=False, stall=60) as world:
        for module in MODULES.split():
            outcome = world.attempt(run_tests, COMM, str(mpi4py_tests), module, TYPES, deadline=600)
            assert outcome.ok, f"{module}\n{outcome.report}"
            assert [found for _, found in outcome.results] == [[]] * 3, module
            assert all(count for count, _ in outcome.results), module
