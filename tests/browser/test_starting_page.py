"""What a browser shows while a hub starts: its proxy answers, and nothing is behind it yet."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
import requests
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from refused_hosts import refuse_other_hosts
from running_hub import free_ports
from small_clone import wait_for

from course.jupyterhub.proxy import proxy_command

# A page that asks every few seconds is left in the middle of a look at it, unless it is kept from asking.
ASKS_NOT = "const later = setTimeout; window.setTimeout = (act, ms) => ms < 1000 ? later(act, ms) : 0;"


@pytest.fixture
def proxy() -> Iterator[SimpleNamespace]:
    """The hub's proxy, started with the arguments that JupyterHub gives it; of the hub itself nothing is there."""
    port = free_ports(1)
    nobody = f"http://127.0.0.1:{port + 81}"
    options = ["--ip", "127.0.0.1", "--port", port, "--api-ip", "127.0.0.1", "--api-port", port + 1]
    options += ["--error-target", f"{nobody}/hub/error", "--log-level", "error"]
    token = {"CONFIGPROXY_AUTH_TOKEN": "secret"}
    process = subprocess.Popen([*proxy_command(), *map(str, options)], env=os.environ | token)
    url, api = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}/api/routes"

    def lead(to: str) -> None:
        known = {"Authorization": "token secret"}
        requests.post(f"{api}/", json={"target": to}, headers=known, timeout=60).raise_for_status()

    def answers() -> bool:
        try:
            return bool(requests.get(url, timeout=60).text)
        except requests.ConnectionError:
            return False

    try:
        wait_for(answers)
        yield SimpleNamespace(url=url, lead=lead, nobody=nobody, process=process)
    finally:
        process.terminate()
        process.wait()


def test_while_a_hub_starts_a_page_of_its_own_shows_and_makes_way_for_what_was_opened(
    proxy, browser: Browser, screenshot, tmp_path: Path
):
    assert "configurable-http-proxy" in Path(f"/proc/{proxy.process.pid}/cmdline").read_text()  # no other in between
    context = browser.new_context(viewport={"width": 640, "height": 480}, color_scheme="dark")
    asked, still, page = refuse_other_hosts(context), context.new_page(), context.new_page()
    still.add_init_script(ASKS_NOT)
    still.goto(proxy.url)
    for scheme in ("dark", "light"):
        still.emulate_media(color_scheme=scheme)
        assert Axe().run(still).response["violations"] == []
        assert still.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        screenshot(still, f"hub-starts-{scheme}")
    assert page.goto(f"{proxy.url}/hub/home/?next=x#part").status == 404
    starts = page.get_by_role("heading", name="The hub is starting")
    expect(starts).to_be_visible()
    proxy.lead(proxy.nobody)  # as when a hub was killed, and starts again
    assert requests.get(f"{proxy.url}/hub/home", timeout=60).status_code == 503
    expect(starts).to_be_visible()
    (tmp_path / "hub" / "home").mkdir(parents=True)
    (tmp_path / "hub" / "home" / "index.html").write_text("<h1>Here it is</h1>")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)) as hub:
        Thread(target=hub.serve_forever).start()
        proxy.lead(f"http://127.0.0.1:{hub.server_port}")
        expect(page.get_by_role("heading", name="Here it is")).to_be_visible()
        assert page.url == f"{proxy.url}/hub/home/?next=x"
        hub.shutdown()
    assert asked == []
    context.close()
