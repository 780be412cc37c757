"""What `./lockstep test --quick` leaves out."""

# Modules that take more than half a minute of a core, and all that need servers. What they find is mostly found sooner
# by the others. (Measured: all tests take 76 minutes of a core, those that are left 11.)
LONG = ("tests/attacks/", "tests/browser/", "tests/hub/", "tests/slurm/", "tests/install/test_lockstep.py")
LONG += ("tests/install/test_setup.py", "tests/sandbox/test_probe_only_of_labs.py", "tests/checks/test_schema.py")
LONG += ("tests/figures/test_figures_are_legible.py", "tests/labs/test_labs.py", "tests/labs/test_notebook.py")
LONG += ("tests/labs/test_kill_and_resume.py", "tests/world/test_world.py", "tests/world/test_mpi4py_own_tests.py")
LONG += ("tests/grading/test_collecting.py", "tests/grading/test_evidence.py", "tests/grading/test_nbgrader.py")
LONG += ("tests/grading/test_resume.py", "tests/grading/test_class.py", "tests/grading/test_grading_failures.py")
LONG += ("tests/grading/test_simulated_term.py",)
