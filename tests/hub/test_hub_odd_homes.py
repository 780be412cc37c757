"""A hub's servers in homes that are full or cannot be used: in, and room is made; or why not, at once."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
import requests
from hub_client import Session
from odd_homes import BIG, damaged_settings, fill, remount, volume
from running_hub import Hub
from unix_accounts import Account, with_accounts

pytestmark = [*with_accounts, pytest.mark.thorough]
WORLD = "from course.world import World; world = World(2, progress=False); print(world.run(lambda: 'rank', size=2))"


def notices(student: Session) -> list[str]:
    """What *Your labs* says first."""
    page = student.ask("GET", f"user/{student.name}/labs")
    assert page.status_code == 200
    return [unescape(text) for text in re.findall(r'role="alert">(.*?)</p>', page.text, re.DOTALL)]


def test_who_has_a_full_home_gets_in_is_told_and_makes_room(hub: Hub):
    bob, account = Session(hub, hub.name("bob")), Account(hub.name("bob"))
    bob.log_in(hub.password("bob")).raise_for_status()
    process = next(hub.running("jupyterhub", "-f"))
    with volume(account.home, "2m", account.uid, account.gid, process) as home:
        damaged_settings(home)
        fill(home)
        try:
            bob.start_server()
            (said,) = notices(bob)
            assert f"{account.home} is full: 0.0 of 2 MiB are free" in said and f"/user/{bob.name}/lab/tree/" in said
            assert bob.ask("GET", f"user/{bob.name}/lab").status_code == 200
            assert bob.start_kernel().run(WORLD) == "['rank', 'rank']\n"
            bob.own("DELETE", f"api/contents/{BIG}")
            (said,) = notices(bob)
            assert "is almost full" in said
            remount(home, "size=40m")
            assert notices(bob) == []
            note = {"type": "file", "format": "text", "content": "saved"}
            bob.own("PUT", "api/contents/note.txt", data=json.dumps(note))
            assert (home / "note.txt").read_text() == "saved"
        finally:
            bob.stop_server()


def test_who_has_a_home_that_cannot_be_used_reads_why_on_the_hubs_page(hub: Hub):
    account, browser = Account(hub.name("bob")), requests.Session()
    login = f"{hub.url}/hub/login"
    process = next(hub.running("jupyterhub", "-f"))
    with volume(account.home, "2m", account.uid, account.gid, process) as home:
        remount(home, "ro")
        browser.get(login, timeout=60)
        form = {"username": account.name, "password": hub.password("bob")}
        form["_xsrf"] = browser.cookies.get("_xsrf", path="/hub/")
        page = browser.post(login, data=form, timeout=110)  # a server that hangs takes 120 s
        assert f"{account.home} is read-only" in unescape(page.text), page.text
        assert page.status_code == 503 and f"The server of {account.name} is not started." in page.text
