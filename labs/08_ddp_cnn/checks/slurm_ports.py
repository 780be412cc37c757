"""What is wrong with the ports: of one job, of 500 jobs in a row, and of one job asked twice."""

from __future__ import annotations

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding

LOWEST, HIGHEST = 1024, 32767

finding = Findings("""
no-port 2
MASTER_PORT is "{actual}", which is no whole number.

fixed-port 1.5
MASTER_PORT is {actual} for every job. Two jobs may share a node, and then the second one cannot listen there, or joins
the first one.

port-out-of-range 1.5
MASTER_PORT is {actual} for job {job}. {why}

port-differs 2
The tasks of one job do not agree on MASTER_PORT: {first} and {second}. They run in several Pythons, on several nodes,
and never meet. What differs from one Python, or one task, to the next?

ports-clash 1
Of 500 jobs in a row, some have the same MASTER_PORT: jobs {one} and {other} both have {actual}.
""")

TOO_LOW = "Ports below 1024 are for the system's own services."
TOO_HIGH = "From 32768 up, ports go to connections that programs open: this one may be taken when the job begins."


def port_mistakes(runs: list[dict], jobs: list[int]) -> list[Finding]:
    """What is wrong with the ports. runs: the answers, of this Python and of another. jobs: the first of each row."""
    by_step = zip(*(run["steps"] for run in runs), strict=True)
    for answers in by_step:
        ports = [answer["values"]["MASTER_PORT"] for each in answers for answer in each if not answer["error"]]
        if other := [port for port in ports if port != ports[0]]:
            return [finding("port-differs", first=ports[0], second=other[0])]
    for rows in zip(*(run["ports"] for run in runs), strict=True):
        if other := [pair for pair in zip(*rows, strict=True) if pair[0] != pair[1]]:
            return [finding("port-differs", first=other[0][0], second=other[0][1])]
    return [found for first, ports in zip(jobs, runs[0]["ports"], strict=True) for found in row_mistakes(first, ports)]


def row_mistakes(first: int, ports: list[str | None]) -> list[Finding]:
    """What is wrong with the ports of jobs in a row. first: number of the first job."""
    if wrong := [port for port in ports if port is None or not port.isascii() or not port.isdigit()]:
        return [finding("no-port", actual=wrong[0])]
    if len({*ports}) == 1:
        out = out_of_range(first, ports[:1])
        return [*out, finding("fixed-port", actual=ports[0])]
    return [*out_of_range(first, ports), *clashing(first, ports)]


def out_of_range(first: int, ports: list[str]) -> list[Finding]:
    """A finding for the first port outside of the range."""
    for number, port in enumerate(ports):
        if not LOWEST <= int(port) <= HIGHEST:
            why = TOO_LOW if int(port) < LOWEST else TOO_HIGH
            return [finding("port-out-of-range", actual=port, job=first + number, why=why)]
    return []


def clashing(first: int, ports: list[str]) -> list[Finding]:
    """A finding for two jobs with one port."""
    seen: dict[str, int] = {}
    for number, port in enumerate(ports, first):
        if port in seen:
            return [finding("ports-clash", one=seen[port], other=number, actual=port)]
        seen[port] = number
    return []
