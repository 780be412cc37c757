"""What is told of a step that failed, from its output."""

from __future__ import annotations

import pytest

from autograde.install import causes

# As Horovod's build says it where its settings ask for CUDA; pip says afterwards, twice, that it failed.
CMAKE = """\
  -- Found MPI: TRUE (found version "3.1")
  CMake Error at /kit/.venv/lib/python3.11/site-packages/cmake/data/FindPackageHandleStandardArgs.cmake:233 (message):
    Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR CUDA_CUDART)
    (found version "13.0.88")
  Call Stack (most recent call first):
    cmake/upstream/FindCUDAToolkit.cmake:765 (find_package_handle_standard_args)
    CMakeLists.txt:181 (find_package)


  -- Configuring incomplete, errors occurred!
  Traceback (most recent call last):
    File "<string>", line 2, in <module>
  subprocess.CalledProcessError: Command '['cmake', '/kit']' returned non-zero exit status 1.
  error: subprocess-exited-with-error

  × python setup.py bdist_wheel did not run successfully.
  │ exit code: 1
  ╰─> See above for output.

  note: This error originates from a subprocess, and is likely not a problem with pip.
  ERROR: Failed building wheel for horovod
Failed to build horovod
ERROR: Failed to build one or more wheels
"""
BOX = """\
  Preparing metadata (setup.py): finished with status 'error'
  error: subprocess-exited-with-error

  × python setup.py egg_info did not run successfully.
  │ exit code: 1
  ╰─> [6 lines of output]
      Traceback (most recent call last):
        File "/tmp/p/setup.py", line 1, in <module>
          import nothing_of_this_name
      ModuleNotFoundError: No module named 'nothing_of_this_name'
      [end of output]

  note: This error originates from a subprocess, and is likely not a problem with pip.
error: metadata-generation-failed

× Encountered error while generating package metadata.
╰─> See above for output.
"""
VERBOSE = """\
  Running command python setup.py egg_info
  Traceback (most recent call last):
    File "/tmp/p/setup.py", line 1, in <module>
      import nothing_of_this_name
  ModuleNotFoundError: No module named 'nothing_of_this_name'
  error: subprocess-exited-with-error

          "ERROR: Can not execute `setup.py` since setuptools is not available in "
error: metadata-generation-failed
"""
LINKER = """\
[ 98%] Linking CXX shared library mpi_lib_v2.so
/usr/bin/ld: main.o: in function `main':
main.cpp:(.text+0x5): undefined reference to `MPI_Init'
collect2: error: ld returned 1 exit status
make[2]: *** [horovod/torch/CMakeFiles/pytorch.dir/build.make:90: mpi_lib_v2.so] Error 1
"""
MISSING = """\
/usr/bin/ld: cannot find -lnone: No such file or directory
collect2: error: ld returned 1 exit status
make: *** [Makefile:136: all] Error 2
"""
NPM = """\
npm warn Unknown user config "nodedir". This will stop working in the next major version of npm.
npm error code ETARGET
npm error notarget No matching version found for configurable-http-proxy@99.0.0.
"""
CONFLICT = """\
ERROR: Cannot install small-lab==1.0 and torch==2.13.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested torch==2.13.0
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/en/latest/topics/dependency-resolution/
"""


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
            "the disk is full",
        ),
        ("cp: error writing 'x': Disk quota exceeded", "the disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError('<pip>: Failed to establish a new "
            "connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/\n"
            "ERROR: No matching distribution found for torch==2.13.0",
            "no network: the package index cannot be reached",
        ),
        (
            "Could not fetch URL: There was a problem confirming the ssl certificate: "
            "(SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')))",
            "certificate",
        ),
        (
            "ERROR: No matching distribution found for tqdm==4.70.1\n",
            "found for tqdm==4.70.1: no network, or the index",
        ),
        ("[Errno 13] Permission denied: '/srv/kit/.venv'", "not allowed to write: Permission denied: '/srv/kit/.venv'"),
        ("c++: fatal error: Killed signal terminated program cc1plus\n", "out of memory"),
        (CMAKE, "CMake: Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR CUDA_CUDART) (found version"),
        ("CMake Error: Could not create named generator None\n\nGenerators\n", "Could not create named generator None"),
        (BOX, "why:   ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        (VERBOSE, "why:   ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        (LINKER, "undefined reference to `MPI_Init'"),
        (MISSING, "cannot find -lnone"),
        (NPM, "No matching version found for configurable-http-proxy@99.0.0"),
        (CONFLICT, "Cannot install small-lab==1.0 and torch==2.13.0"),
        ("make: *** No rule to make target 'x'.  Stop.\nFailed to build horovod\n", "No rule to make target 'x'"),
        (
            "OSError: Could not find a suitable TLS CA certificate bundle, invalid path: /no/ca",
            "there is no file of certificates /no/ca",
        ),
        (
            " error: subprocess-exited-with-error\n x.cc:3: error: no such thing\nERROR: Failed to build some wheels\n",
            "x.cc:3: error: no such thing",
        ),
    ],
)
def test_the_cause_of_a_failure_is_told_from_its_output(output, why, tmp_path, monkeypatch):
    monkeypatch.setattr(causes, "FULL", 0)  # however full the disk of this machine is
    said = str(causes.explain("this step failed: it", output, [tmp_path])).splitlines()
    assert said[0] == "this step failed: it"
    assert why in said[1]
    assert said[2].startswith("  mend:  ")
    assert len(said) == 3


def test_where_the_environment_may_be_the_cause_the_next_step_is_without_it(monkeypatch):
    monkeypatch.setattr(causes, "FULL", 0)
    environment = {"CXX": "clang++", "CC": "", "LD_LIBRARY_PATH": "/opt/lib"}
    mend = str(causes.explain("it", CMAKE, [], environment)).splitlines()[2]
    assert "env -u CXX -u LD_LIBRARY_PATH ./lockstep setup" in mend


def test_a_full_disk_is_told_even_where_its_message_did_not_fit_on_it(monkeypatch, tmp_path):
    monkeypatch.setattr(causes, "FULL", 1e30)
    assert f"the disk is full, at {tmp_path}" in str(causes.explain("it", "", [tmp_path / "missing", tmp_path]))
