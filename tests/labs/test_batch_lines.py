"""What lab 07 says of the lines at the top of run.sh is said of the lines that are there."""

from __future__ import annotations

import re

from autograde.build import run_script
from autograde.contract.labs import find_lab
from autograde.contract.places import REPOSITORY


def test_each_sbatch_line_of_run_sh_is_in_the_notebooks_table_and_no_other():
    lab = find_lab(REPOSITORY, "07_horovod_mnist")
    script = run_script(lab).content.decode()
    table = re.findall(r"^# \| `(#SBATCH [^`]*)`", lab.source.read_text(encoding="utf-8"), re.MULTILINE)
    assert table == re.findall(r"^#SBATCH .*$", script, re.MULTILINE)
