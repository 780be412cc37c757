"""A day on a hub for tests of who gets at what: what ada has by its end, and what is her course's and the hub's."""

from __future__ import annotations

import json
from pathlib import Path

from hub_client import Session
from labs_under_test import OURS
from running_hub import Hub, state_folder
from unix_accounts import REPOSITORY

LAB = OURS[-1].name  # another than in the story of the same hub
READ = 'for path; do if [ -d "$path" ]; then ls "$path"; else cat "$path"; fi > /dev/null 2>&1 && echo "$path"; done; :'
WRITE = 'for path; do [ -w "$path" ] && echo "$path"; done; :'
START_WORLD = """
from course.world import World
world = World(2, progress=False)
print(world.pids, world._processes.folder)
"""


class Day:
    """A day on a hub, on which ada handed in what was given back to her."""

    def __init__(self, hub: Hub) -> None:
        self.hub, self.course, self.other = hub, hub.name("hpc"), hub.name("ml")
        self.people = {short: Session(hub, hub.name(short)) for short in ("ada", "bob", "iris", "noor")}
        for short, session in self.people.items():
            session.log_in(hub.password(short)).raise_for_status()
        ada, iris = self.people["ada"], self.people["iris"]
        ada.start_server()
        self.kernel = ada.start_kernel()
        pids, _, self.world = self.kernel.run(START_WORLD).strip().rpartition(" ")
        self.pids = json.loads(pids)
        if not (hub.exchange("hpc") / "outbound" / LAB).exists():
            assert iris.grade(self.course, f"assignment/{LAB}/release")["success"]
        ada.assignments("fetch", self.course, LAB)
        assert ada.assignments("submit", self.course, LAB)["success"]
        assert iris.grade(self.course, f"assignment/{LAB}/collect")["success"]
        self.give_back()
        ada.assignments("fetch_feedback", self.course, LAB)

    def give_back(self) -> None:
        """Release a page of feedback for ada; that one was made by grading is another test's matter."""
        page = self.hub.course("hpc") / "class" / "feedback" / self.hub.name("ada") / LAB / f"{LAB}.html"
        work = self.hub.course("hpc") / "class" / "submitted" / self.hub.name("ada") / LAB
        write = 'mkdir -p "${0%/*}" && cp "$1"/*.txt "${0%/*}" && echo "well done" > "$0"'
        assert self.hub.run_as("grader-hpc", "sh", "-c", write, page, work).returncode == 0
        said = self.people["iris"].grade(self.course, f"assignment/{LAB}/release_feedback")
        assert said["success"], said

    def receipts(self) -> list[Path]:
        """Ada's receipts of what she handed in, oldest first: in the exchange, then in her home."""
        own = self.hub.exchange("hpc") / "inbound" / f".receipts.{self.hub.name('ada')}" / self.course
        home = self.hub.home("ada") / ".local/share/jupyter/nbgrader_cache" / self.course
        return [path for place in (own, home) for path in sorted(place.glob(f"[!.]*+{LAB}+*"))]

    def code_of_ada(self) -> Session:
        """Code in ada's notebook, with the token that it finds there."""
        session = Session(self.hub, self.people["ada"].name)
        token = self.kernel.run("import os; print(os.environ['JUPYTERHUB_API_TOKEN'])").strip()
        session.web.headers["Authorization"] = f"token {token}"
        return session

    def of_ada(self) -> list[Path]:
        """What is hers: work, own copy, submission, feedback, what her server and her ranks are reached by."""
        home, inbound = self.hub.home("ada"), self.hub.exchange("hpc") / "inbound"
        handed_in = sorted(inbound.glob(f"{self.hub.name('ada')}+{LAB}+*"))[-1]
        work, runtime = home / self.course / LAB, state_folder(home.stat().st_uid) / "runtime"
        return [
            home,
            work / f"{LAB}.ipynb",
            handed_in,
            handed_in / f"{LAB}.ipynb",
            handed_in / "submission_secret.txt",
            *(receipt / "submission_secret.txt" for receipt in self.receipts()),
            *work.glob("feedback/*/*.html"),
            *runtime.glob("kernel-*.json"),
            *runtime.glob("jpserver-*.json"),
            *Path(self.world).glob("profile/security/*.json"),
            Path(self.world, "fork-server"),
            *(Path(f"/proc/{pid}/{what}") for pid in self.pids for what in ("environ", "maps", "fd")),
        ]

    def of_the_course(self) -> list[Path]:
        """What is the grader's: solutions, checks, submissions, grades, feedback."""
        folder = self.hub.course("hpc")
        return [
            folder,
            *folder.glob("solutions/**/*.py"),
            folder / "nbgrader_config.py",
            folder / "class" / "gradebook.db",
            folder / "class" / "submitted" / self.hub.name("ada") / LAB / f"{LAB}.ipynb",
            folder / "class" / "feedback" / self.hub.name("ada") / LAB / f"{LAB}.html",
            self.hub.exchange("hpc") / "inbound",
            self.hub.exchange("hpc") / "feedback",
        ]

    def of_the_hub(self) -> list[Path]:
        """What is the hub's, and what the clone has answers in."""
        closed = [REPOSITORY / name for name in ("solutions", "tests", ".git", "class", "bench")]
        return [
            self.hub.folder,
            self.hub.folder / "courses.toml",
            *(self.hub.folder / "private").glob("*"),
            *(path for path in closed if path.exists()),
            *(REPOSITORY / "solutions").glob("**/*.py"),
            REPOSITORY / ".git" / "HEAD",
            *(Path(f"/proc/{pid}/environ") for pid in self.hub.running("python")),
        ]


def allowed(hub: Hub, person: str, test: str, paths: list[Path]) -> list[Path]:
    """Those of the paths that pass a shell test as this person."""
    return [*map(Path, hub.run_as(person, "sh", "-c", test, "sh", *paths).stdout.splitlines())]
