"""Settings of an admin's own: what docs/admins.md gives lines for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import requests
from hub_client import Session
from running_hub import running_hub
from unix_accounts import with_accounts

pytestmark = [*with_accounts, pytest.mark.thorough]
CONFIG = """
import os

c = get_config()
c.JupyterHub.bind_url = f"https://127.0.0.1:{os.environ['LOCKSTEP_HUB_PORT']}"
c.JupyterHub.ssl_key = KEY
c.JupyterHub.ssl_cert = CERTIFICATE
c.Spawner.cmd.prepend(["prlimit", "--nproc=321"])
# Nobody listens there: whoever asks the hub through it gets no answer.
c.Spawner.environment.update({"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"})
"""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for this machine, which nobody else trusts; its key is beside it."""
    path = tmp_path / "hub.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=hub"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path.with_suffix(".key")), "-out", str(path)]
    subprocess.run(made, check=True, capture_output=True)
    return path


def test_a_hub_is_encrypted_and_limits_what_its_people_run(tmp_path: Path, certificate: Path):
    config = tmp_path / "own.py"
    text = CONFIG.replace("KEY", repr(str(certificate.with_suffix(".key"))))
    config.write_text(text.replace("CERTIFICATE", repr(str(certificate))))
    with running_hub({"hpc": (["iris"], ["ada"])}, "--config", str(config), certificate=certificate) as hub:
        ada = Session(hub, hub.name("ada"))
        ada.web.trust_env, ada.web.verify = False, str(certificate)  # not the certificates that this machine trusts
        ada.log_in(hub.password("ada")).raise_for_status()
        ada.start_server()
        (pid,) = hub.running("jupyterhub-singleuser", uid=hub.home("ada").stat().st_uid)
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert [line.split()[2] for line in limits.splitlines() if line.startswith("Max processes")] == ["321"]
        page = ada.ask("GET", f"user/{ada.name}/labs")
        assert page.status_code == 200
        assert "The hub does not say now" not in page.text, "the site's proxy was asked for it"
        assert hub.name("hpc") in page.text
        with pytest.raises(requests.RequestException):
            requests.get(hub.url.replace("https", "http"), timeout=10)
