"""What somebody can do on a hub from outside, by HTTP and websockets: log in, start a server, run code, hand in."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any
from urllib.parse import urlsplit

import requests
import websocket
from running_hub import Hub

TOO_MANY = 429  # HTTP: come again later
RECONNECTIONS = 3  # in one run of code


class Session:
    """A person at a browser. `ask` has that person's rights once logged in, and nobody's before."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.hub, self.name = hub, name
        self.web = requests.Session()
        self.waited = 0  # how often a server was to be asked for again later

    def log_in(self, password: str) -> requests.Response:
        """Fill in the login form, and make a token where that was right. Returns what comes last."""
        login, base = f"{self.hub.url}/hub/login", f"{urlsplit(self.hub.url).path}/hub/"
        self.web.get(login, timeout=60)
        form = {"username": self.name, "password": password, "_xsrf": self.web.cookies.get("_xsrf", path=base)}
        # Not to the own server, which the page that comes next would start.
        page = self.web.post(f"{login}?next={base}home", data=form, timeout=60)
        if page.ok:
            made = self.web.post(
                f"{self.hub.url}/hub/api/users/{self.name}/tokens",
                params={"_xsrf": self.web.cookies.get("_xsrf", path=base)},
                json={},
                timeout=60,
            )
            if not made.ok:  # taken out in between
                return made
            self.web.headers["Authorization"] = f"token {made.json()['token']}"
        return page

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        """Ask the hub, or what is behind it, whatever it answers."""
        # Each refusal leaves a cookie of a login to come, and some fifty of them are more than the proxy takes.
        for cookie in [cookie for cookie in self.web.cookies if "-oauth-state" in cookie.name]:
            self.web.cookies.clear(cookie.domain, cookie.path, cookie.name)
        return self.web.request(method, f"{self.hub.url}/{path}", timeout=120, allow_redirects=False, **more)

    def own(self, method: str, path: str, **more: Any) -> Any:
        """Ask the own server, which must answer. Returns what it does, as JSON says it."""
        answer = self.ask(method, f"user/{self.name}/{path}", **more)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def start_server(self) -> None:
        """Start the own server, if it is not up, when there is room. Returns when it answers."""
        if self.server_answers():
            return
        while (answer := self.ask("POST", f"hub/api/users/{self.name}/server")).status_code == TOO_MANY:
            self.waited += 1
            time.sleep(0.5)
        answer.raise_for_status()
        while not self.server_answers():
            time.sleep(0.2)

    def server_answers(self) -> bool:
        """Whether the own server is up."""
        return self.ask("GET", f"user/{self.name}/api/status").status_code == 200

    def stop_server(self) -> None:
        """Stop the own server, and return when it is gone."""
        answer = self.ask("DELETE", f"hub/api/users/{self.name}/server")
        answer.raise_for_status()
        while self.ask("GET", f"hub/api/users/{self.name}").json()["servers"]:
            time.sleep(0.2)

    def start_kernel(self) -> Kernel:
        """Start a kernel in the own server."""
        return Kernel(self, self.own("POST", "api/kernels", json={"name": "python3"})["id"])

    def assignments(self, action: str, course: str, lab: str) -> Any:
        """Press a button of the Assignment List: fetch, submit, fetch_feedback. Returns what it answers."""
        return self.own("POST", f"assignments/{action}", json={"course_id": course, "assignment_id": lab})

    def grade(self, course: str, action: str) -> Any:
        """Press a button of a course's formgrader. Returns what it answers."""
        answer = self.ask("POST", f"services/{course}/formgrader/api/{action}")
        answer.raise_for_status()
        return answer.json()


class Kernel:
    """A kernel in somebody's server."""

    def __init__(self, session: Session, kernel: str) -> None:
        self.session, self.id = session, kernel
        self.address = f"user/{session.name}/api/kernels/{kernel}"
        self.page = uuid.uuid4().hex  # whose messages the server keeps while its connection is lost

    def connect(self, timeout: float) -> websocket.WebSocket:
        """A connection to the kernel's channels. A later one gets what came meanwhile, as JupyterLab does."""
        url = f"{self.session.hub.url.replace('http', 'ws', 1)}/{self.address}/channels?session_id={self.page}"
        header = {"Authorization": self.session.web.headers["Authorization"]}
        return websocket.create_connection(url, header=header, timeout=timeout)

    def run(self, code: str, timeout: float = 180) -> str:
        """Run code. Returns what it printed. Raises RuntimeError with the error that it ended with."""
        message = uuid.uuid4().hex
        request = {
            "channel": "shell",
            "header": {
                "msg_id": message,
                "msg_type": "execute_request",
                "version": "5.3",
                "username": "",
                "session": "x",
            },
            "parent_header": {},
            "metadata": {},
            "content": {"code": code, "silent": False, "store_history": False, "allow_stdin": False},
        }
        printed, lost = [], 0
        connection = self.connect(timeout)
        try:
            connection.send(json.dumps(request))
            while True:
                try:
                    said = json.loads(connection.recv())
                except websocket.WebSocketConnectionClosedException:
                    lost += 1
                    if lost > RECONNECTIONS:
                        raise
                    connection = self.connect(timeout)
                    continue
                if said["parent_header"].get("msg_id") != message:
                    continue
                content = said["content"]
                if said["msg_type"] == "stream":
                    printed.append(content["text"])
                elif said["msg_type"] == "error":
                    raise RuntimeError("\n".join(content["traceback"]))
                elif said["msg_type"] == "status" and content["execution_state"] == "idle":
                    return "".join(printed)
        finally:
            connection.close()
