"""The hub's users and groups, kept as the courses file says while the hub runs.

JupyterHub itself only adds users, at its start, and removes nobody.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from urllib.parse import quote

import requests

from course.jupyterhub.accounts.unix import known
from course.jupyterhub.courses import Course, everybody


class Hub:
    """The hub's REST API, with the rights of this service."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"token {token}"

    def ask(self, method: str, path: str, data: dict | None = None) -> list | dict | None:
        """Send a request, and return the hub's answer. Raises requests.RequestException."""
        answer = self._session.request(method, f"{self._url}/{path}", json=data, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def refusal(self, method: str, path: str) -> str:
        """Send a request. Returns why the hub refuses it, empty if it does not. Raises requests.RequestException."""
        try:
            self.ask(method, path)
        except requests.HTTPError as error:
            if error.response.status_code != 400:
                raise
            return str(error.response.json()["message"])
        return ""

    def people(self) -> set[str]:
        """Names of all users."""
        return {user["name"] for user in self.ask("GET", "users")}

    def members(self) -> dict[str, set[str]]:
        """Names of users, by group."""
        return {group["name"]: set(group["users"]) for group in self.ask("GET", "groups")}


def follow(hub: Hub, courses: Iterable[Course]) -> bool:
    """Add and remove users and members of groups as `courses` says. Returns whether somebody was taken out."""
    courses = list(courses)
    wanted = set(everybody(courses))
    for new in sorted(wanted - hub.people()):
        if os.geteuid() == 0 and not known(new):  # the hub would refuse it with a traceback in its log
            logging.warning(
                "%s is not let in: there is no account of this name. Make it (`useradd --create-home %s`, or in your "
                "directory), and save courses.toml again; the hub goes on running.",
                new,
                new,
            )
            wanted.discard(new)
        elif refused := hub.refusal("POST", f"users/{quote(new, safe='')}"):
            logging.warning("%s is not let in: %s. Correct that, and save courses.toml again.", new, refused)
            wanted.discard(new)
        else:
            logging.info("in: %s", new)
    groups = {name: set(members) for course in courses for name, members in course.groups.items()}
    actual = hub.members()
    if unknown := sorted(course.name for course in courses if not course.groups.keys() <= actual.keys()):
        logging.warning("new: %s. A course gets its formgrader when the hub is started again.", ", ".join(unknown))
    for name, members in actual.items():
        expected = groups.get(name, set()) & wanted
        for method, verb, change in (("POST", "gets", expected - members), ("DELETE", "loses", members - expected)):
            if change:
                hub.ask(method, f"groups/{name}/users", {"users": sorted(change)})
                logging.info("%s %s %s", name, verb, ", ".join(sorted(change)))
    return take_out(hub, courses)


def take_out(hub: Hub, courses: Iterable[Course]) -> bool:
    """Remove who is in none of `courses`, and stop their servers. Returns whether there was somebody."""
    gone = sorted(hub.people() - set(everybody(courses)))
    for name in gone:
        hub.ask("DELETE", f"users/{quote(name, safe='')}")
        logging.info("out: %s", name)
    return bool(gone)
