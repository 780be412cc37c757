"""JupyterLab as containers start it, in homes of all kinds: it answers, tells what is wrong, and is of use."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path

import psutil
import pytest
import requests
from hub_client import Kernel
from labs_under_test import OURS
from odd_homes import BIG, ODD, SOMEBODY, enterable, fill, volume
from server_address import address_of
from small_clone import ROOT, wait_for
from unix_accounts import with_python

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a volume")
LAB = next(f"labs/{lab.name}/{lab.notebook}" for lab in OURS)
PLOT = "import matplotlib.pyplot as plt; plt.plot([1]); print('drawn')"
WORLD = "from course.world import World; world = World(2, progress=False); print(world.run(lambda: 'rank', size=2))"
SURROUNDINGS = {
    **{name: "/nonexistent/place" for name in ("PYTHONHOME", "PYTHONSTARTUP", "XDG_DATA_HOME", "XDG_CACHE_HOME")},
    **{f"JUPYTER_{kind}_DIR": "/nonexistent/place" for kind in ("CONFIG", "DATA", "RUNTIME")},
    **{name: "/nonexistent/place" for name in ("IPYTHONDIR", "MPLCONFIGDIR", "JUPYTERLAB_SETTINGS_DIR")},
    "PYTHONWARNINGS": "error",
    "JUPYTER_PREFER_ENV_PATH": "0",
}


class Server:
    """JupyterLab in a container, and its owner at a browser. It has what `Kernel` asks of a session."""

    name = "nobody"

    def __init__(self, address: str) -> None:
        self.address, self.hub, self.web = address, self, requests.Session()
        self.web.headers["Authorization"] = "token secret"

    def ask(self, method: str, path: str, **more: object) -> requests.Response:
        """Ask the server, whatever it answers."""
        return self.web.request(method, f"{self.address}{path}", timeout=120, **more)

    def notices(self) -> list[str]:
        """What the course map says first."""
        page = self.ask("GET", "lockstep/map")
        assert page.ok
        return [unescape(text) for text in re.findall(r'role="alert">(.*?)</p>', page.text, re.DOTALL)]

    def run(self, *cells: str) -> str:
        """What code in a new kernel prints."""
        made = self.ask("POST", "api/kernels", json={"name": "python3"})
        assert made.status_code == 201, made.text
        kernel = Kernel(self, made.json()["id"])
        kernel.address, self.url = f"api/kernels/{kernel.id}", self.address.rstrip("/")
        return "".join(map(kernel.run, cells))


@contextmanager
def server(home: Path, **environment: str) -> Iterator[Server]:
    """JupyterLab by the entrypoint and the command of students' image, as if it had this home and no solutions."""
    temporary = home.parent / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    kept = [word for path in ROOT.iterdir() if path.name != "solutions" for word in ("--bind", str(path), str(path))]
    image = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", str(ROOT), *kept, "--"]
    somebody = ["setpriv", "--reuid", str(SOMEBODY), "--regid", "0", "--clear-groups"]
    command = json.loads(re.findall(r"^CMD (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)[-1])
    here = [word.replace("/opt/lockstep", str(ROOT)).replace("/home/jovyan", str(home)) for word in command]
    here = [word for word in here if not word.startswith(("--ip", "--port"))]
    options = ["--ip=127.0.0.1", "--port=0", "--IdentityProvider.token=secret"]
    log = home.parent / "log"
    process = subprocess.Popen(
        [*with_python(), *image, *somebody, ROOT / "course" / "container" / "entrypoint", *here, *options],
        env={"HOME": str(home), "PATH": f"{ROOT}/.venv/bin:/usr/bin:/bin", "TMPDIR": str(temporary)} | environment,
        cwd="/",
        stdout=log.open("w"),
        stderr=subprocess.STDOUT,
        start_new_session=True,  # `setpriv` makes it outlive bwrap, so the whole group is ended
    )
    try:
        runtime = temporary / f"lockstep-{SOMEBODY}" / "runtime"
        yield Server(address_of(process, runtime, log))
    finally:
        with suppress(ProcessLookupError):  # it has failed to start
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        wait_until_ended(home)


def wait_until_ended(home: Path) -> None:
    """Wait until no process of this home runs. Raises AssertionError if one does not end, and ends it."""
    try:
        wait_for(lambda: not processes_of(home), seconds=60)
    except AssertionError:
        left = processes_of(home)
        for process in left:
            process.kill()
        raise AssertionError(f"the server has stopped, and these still ran: {left}") from None


def processes_of(home: Path) -> list[psutil.Process]:
    """What runs with this home in its environment: servers, kernels and ranks, in whatever process group."""
    running = psutil.process_iter(["environ"])
    return [process for process in running if (process.info["environ"] or {}).get("HOME") == str(home)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ODD)
def test_jupyterlab_opens_in_each_home_with_kernels_and_the_map_says_what_is_wrong(name):
    prepare, words = ODD[name]
    with enterable() as folder, volume(folder / "home", "40m") as home:
        prepare(home)
        with server(home) as lab:
            notices = lab.notices()
            assert words in "\n".join(notices) if words else notices == []
            assert lab.ask("GET", "lab").ok and lab.ask("GET", "api/contents/").ok
            assert lab.run(PLOT) == "drawn\n"
            if (home / LAB).exists():
                assert lab.ask("GET", f"api/contents/{LAB}").ok
            if (home / BIG).exists():
                assert lab.ask("DELETE", f"api/contents/{BIG}").status_code == 204
                assert os.statvfs(home).f_bavail > 1000
                assert not any("full" in notice for notice in lab.notices() if "could not be put" not in notice)


@pytest.mark.thorough
def test_a_world_and_a_notebook_open_in_a_home_that_filled_while_jupyterlab_ran():
    with enterable() as folder, volume(folder / "home", "40m") as home, server(home) as lab:
        assert lab.notices() == []
        fill(home)
        assert "is full" in lab.notices()[0]
        opened = lab.ask("GET", f"api/contents/{LAB}")
        assert opened.ok
        saved = lab.ask("PUT", f"api/contents/{LAB}", json=opened.json())
        assert not saved.ok and "No space left" in saved.text
        assert (home / LAB).read_bytes() == (ROOT / LAB).read_bytes()
        assert lab.run(PLOT, WORLD) == "drawn\n['rank', 'rank']\n"


@pytest.mark.thorough
def test_variables_that_lead_nowhere_keep_nothing_from_starting():
    with enterable() as folder, volume(folder / "home", "40m") as home, server(home, **SURROUNDINGS) as lab:
        assert lab.notices() == [] and lab.ask("GET", "lab").ok and lab.ask("GET", f"api/contents/{LAB}").ok
        assert lab.run(PLOT, WORLD) == "drawn\n['rank', 'rank']\n"
