"""The judge of the ports: of the tasks of a step, of jobs in a row, and of one job asked twice."""

from itertools import count

from autograde.rubric import Words

from ..probes.process_group_from_slurm import APART

LOWEST, HIGHEST = 1024, 32767
TOO_LOW = "Ports below 1024 are for the system's own services."
TOO_HIGH = "From 32768 up, ports go to connections that programs open: this one may be taken when the job begins."

words = Words("""
no-port: MASTER_PORT is "{actual}", which is no whole number.

fixed-port: MASTER_PORT is {actual} for every job. Two jobs may share a node, and then the second one cannot listen
there, or joins the first one.

port-out-of-range: MASTER_PORT is {actual} for job {job}. {why}

port-differs: The tasks of one job do not agree on MASTER_PORT: {first} and {second}. They run in several Pythons, on
several nodes, and never meet. What differs from one Python, or one task, to the next?

ports-clash: Of 500 jobs in a row, some have the same MASTER_PORT: jobs {one} and {other} both have {actual}.

fails-elsewhere: In a Python that was started by itself, your function fails: {error}
""")


def ports(call):
    seen = call.seen[0]
    if seen.error:
        return words("fails-elsewhere", error=seen.error)
    of_steps = [[answer.values.get("MASTER_PORT") for answer in step if not answer.error] for step in seen.steps]
    of_jobs = [pair for rows in zip(seen.ports, seen.elsewhere, strict=True) for pair in zip(*rows, strict=True)]
    for same in (*of_steps, *of_jobs):
        if other := [port for port in same if port != same[0]]:
            return words("port-differs", first=same[0], second=other[0])
    rows = zip(call.arguments["jobs"], seen.ports, strict=True)
    by_job = [dict(enumerate(row, first)) for first, row in rows]
    scattered = dict(zip(count(call.arguments["jobs"][0], APART), seen.scattered, strict=False))
    return next(filter(None, map(wrong_in_row, by_job)), None) or out_of_range(scattered)


def out_of_range(ports):
    """The first of some ports, by job, that is none, or that a job should not take."""
    for job, port in ports.items():
        if port is None or not (port.isascii() and port.isdigit()):
            return words("no-port", actual=port)
        if not LOWEST <= int(port) <= HIGHEST:
            return words("port-out-of-range", actual=port, job=job, why=TOO_LOW if int(port) < LOWEST else TOO_HIGH)
    return None


def wrong_in_row(row):
    """What is wrong with the ports of jobs in a row, by job."""
    if wrong := out_of_range(row):
        return wrong
    if len({*row.values()}) == 1:
        return words("fixed-port", actual=min(row.values()))
    last = {}
    for job, port in row.items():
        if port in last:
            return words("ports-clash", one=last[port], other=job, actual=port)
        last[port] = job
    return None
