"""Proxies of a site, which must not get what is meant for this machine: JupyterHub's answers to its servers, say."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment

PROXIES = ("http_proxy", "https_proxy", "all_proxy")
HERE = ("127.0.0.1", "localhost", "::1")


def proxied(environment: Mapping[str, str]) -> list[str]:
    """The variables by which requests to this machine would go through a proxy."""
    exempt = {"no": environment.get("no_proxy", environment.get("NO_PROXY", ""))}
    if all(proxy_bypass_environment(host, exempt) for host in HERE[:2]):
        return []
    return [name for each in PROXIES for name in (each, each.upper()) if environment.get(name)]


def exempting(environment: Mapping[str, str], *hosts: str) -> dict[str, str]:
    """The variables that exempt this machine, and `hosts`, from the proxies of an environment; none if it has none."""
    if not any(environment.get(name) for each in PROXIES for name in (each, each.upper())):
        return {}
    former = ",".join(environment.get(name, "") for name in ("no_proxy", "NO_PROXY"))
    names = [name.strip() for name in (*former.split(","), *HERE, *hosts)]
    value = "*" if "*" in names else ",".join(dict.fromkeys(filter(None, names)))  # which stands for all, alone
    return {"no_proxy": value, "NO_PROXY": value}


def spare_hub(environment: MutableMapping[str, str]) -> None:
    """Have requests to this machine, and to the JupyterHub of a server with this environment, go there directly."""
    hub = urlsplit(environment.get("JUPYTERHUB_API_URL", "")).hostname
    environment.update(exempting(environment, *([hub] if hub else [])))
