"""What `doctor --class` says of the accounts of a course's students."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from unix_accounts import REPOSITORY, with_python

from course.jupyterhub.courses import Course
from course.jupyterhub.health import accounts
from course.jupyterhub.health.line import Line

ASK = "import sys, json; from dataclasses import astuple; from doctor_lines import lines\n"
ASK += "print(json.dumps([*map(astuple, lines(*sys.argv[1:]))]))"


def lines(name: str, *people: str) -> list[Line]:
    """What it says under a name of a course with these students."""
    return [line for line in accounts.accounts([Course("none-such", (), people)]) if line.name == name]


def readable_lines(name: str, *people: str) -> list[Line]:
    """The same, where all accounts can run this Python."""
    command = [*with_python(), sys.executable, "-c", ASK, name, *people]
    known = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True, env=known)
    return [Line(*each) for each in json.loads(done.stdout)]
