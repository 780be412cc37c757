"""Right answers to `process_group_from_slurm`, and mistakes that people make."""

ANSWERS = """
import os
import random
import re
import subprocess
def counts(text):
    for part in text.split(","):
        found = re.fullmatch(r"(\\d+)(?:\\(x(\\d+)\\))?", part)
        yield from [int(found[1])] * int(found[2] or 1)
def first(text):
    depth, name = 0, ""
    for letter in text:
        if letter == "," and not depth:
            break
        depth += {"[": 1, "]": -1}.get(letter, 0)
        name += letter
    while "[" in name:
        head, _, rest = name.partition("[")
        inside, _, tail = rest.partition("]")
        name = head + re.split("[,-]", inside)[0] + tail
    return name
def process_group_from_slurm(environ):
== by_hand
    if environ.get("SLURM_STEP_ID") is None:
        raise ValueError("not in a step")
    own = list(counts(environ["SLURM_STEP_TASKS_PER_NODE"]))
    return dict(
        RANK=environ["SLURM_PROCID"],
        WORLD_SIZE=environ["SLURM_STEP_NUM_TASKS"],
        LOCAL_RANK=environ["SLURM_LOCALID"],
        LOCAL_WORLD_SIZE=str(own[int(environ["SLURM_NODEID"])]),
        MASTER_ADDR=first(environ["SLURM_STEP_NODELIST"]),
        MASTER_PORT=str(1024 + int(environ["SLURM_JOB_ID"]) % 31744),
    )
== from_what_is_there
    if "SLURM_STEP_ID" not in environ:
        raise ValueError
    answers = {"MASTER_ADDR": first(environ["SLURM_STEP_NODELIST"])}
    group = environ["SLURM_GTIDS"].split(",")
    answers["RANK"] = environ["SLURM_PROCID"]
    answers["LOCAL_RANK"] = str(group.index(environ["SLURM_PROCID"]))
    answers["LOCAL_WORLD_SIZE"] = str(len(group))
    answers["WORLD_SIZE"] = str(sum(counts(environ["SLURM_STEP_TASKS_PER_NODE"])))
    answers["MASTER_PORT"] = "%d" % (29500 - int(environ["SLURM_JOB_ID"]) % 500)
    return answers
== port_of_the_step < by_hand
str(1024 + int(environ["SLURM_JOB_ID"]) % 31744) >>> str(1024 + (int(environ["SLURM_JOB_ID"]) + 1000 * int(environ["SLURM_STEP_ID"])) % 31744)
== cut_at_comma: list-cut-at-comma, comma < by_hand
first(environ["SLURM_STEP_NODELIST"]) >>> environ["SLURM_STEP_NODELIST"].split(",")[0]
== cut_at_bracket: list-cut-at-bracket, bracket < by_hand
first(environ["SLURM_STEP_NODELIST"]) >>> re.split(r"[,[]", environ["SLURM_STEP_NODELIST"])[0]
== zeros: zeros-lost, zeros < by_hand
re.split("[,-]", inside)[0] + tail >>> str(int(re.split("[,-]", inside)[0])) + tail
== behind: text-behind-lost, ranges < by_hand
 + tail >>>
== range_and_all: range-kept, ranges < by_hand
re.split("[,-]", inside)[0] >>> inside
== hyphen: hyphen-cut, ranges < by_hand
    return name >>>     return name.split("-")[0]
== job_nodes: job-not-step, job < by_hand
SLURM_STEP_NODELIST >>> SLURM_JOB_NODELIST
== nodelist: job-not-step, job < by_hand
SLURM_STEP_NODELIST >>> SLURM_NODELIST
== no_repetition: repetition-not-read, repetition < by_hand
list(counts(environ["SLURM_STEP_TASKS_PER_NODE"])) >>> [int(each) for each in environ["SLURM_STEP_TASKS_PER_NODE"].split(",")]
== first_number: first-node-for-own, repetition < by_hand
own[int(environ["SLURM_NODEID"])] >>> own[0]
== wished: wish-not-there, wish < by_hand
str(own[int(environ["SLURM_NODEID"])]) >>> environ["SLURM_NTASKS_PER_NODE"]
== wished_or_one: wish-for-number, wishes < by_hand
str(own[int(environ["SLURM_NODEID"])]) >>> environ.get("SLURM_NTASKS_PER_NODE", "1")
== evenly: tasks-shared-evenly, modulo < by_hand
own[int(environ["SLURM_NODEID"])] >>> int(environ["SLURM_NTASKS"]) // int(environ["SLURM_NNODES"])
== modulo: rank-modulo-tasks, modulo < by_hand
environ["SLURM_LOCALID"] >>> str(int(environ["SLURM_PROCID"]) % own[int(environ["SLURM_NODEID"])])
== modulo_most: rank-modulo-tasks, modulo < by_hand
environ["SLURM_LOCALID"] >>> str(int(environ["SLURM_PROCID"]) % max(own))
== nodes_counted: nodes-for-ranks, torchrun < by_hand
SLURM_STEP_NUM_TASKS >>> SLURM_NNODES
== local_as_rank: local-rank-as-rank, torchrun < by_hand
RANK=environ["SLURM_PROCID"] >>> RANK=environ["SLURM_LOCALID"]
== rank_as_local: rank-as-local-rank, modulo < by_hand
LOCAL_RANK=environ["SLURM_LOCALID"] >>> LOCAL_RANK=environ["SLURM_PROCID"]
== own_name: own-node, slurm < by_hand
first(environ["SLURM_STEP_NODELIST"]) >>> environ["SLURMD_NODENAME"]
== here: loopback, env < by_hand
first(environ["SLURM_STEP_NODELIST"]) >>> "127.0.0.1"
== whole: whole-list, slurm < by_hand
first(environ["SLURM_STEP_NODELIST"]) >>> environ["SLURM_STEP_NODELIST"]
== always_29500: fixed-port, port < by_hand
str(1024 + int(environ["SLURM_JOB_ID"]) % 31744) >>> "29500"
== ephemeral: port-out-of-range, ephemeral < by_hand
1024 + int(environ["SLURM_JOB_ID"]) % 31744 >>> 49152 + int(environ["SLURM_JOB_ID"]) % 1000
== ephemeral_at_times: port-out-of-range, blind < by_hand
1024 + int(environ["SLURM_JOB_ID"]) % 31744 >>> 20000 + int(environ["SLURM_JOB_ID"]) % 14000
== job_itself: port-out-of-range, slurm < by_hand
1024 + int(environ["SLURM_JOB_ID"]) % 31744 >>> int(environ["SLURM_JOB_ID"]) % 65536
== drawn: port-differs, random < by_hand
1024 + int(environ["SLURM_JOB_ID"]) % 31744 >>> random.randrange(10000, 20000)
== hashed: port-differs, random < by_hand
1024 + int(environ["SLURM_JOB_ID"]) % 31744 >>> 10000 + hash(environ["SLURM_JOB_ID"]) % 10000
== few_ports: ports-clash, ephemeral < by_hand
% 31744 >>> % 100
== tens: ports-clash, ephemeral < by_hand
int(environ["SLURM_JOB_ID"]) % 31744 >>> int(environ["SLURM_JOB_ID"]) // 10 % 1000
== in_the_batch_script: step-not-needed, slurm < by_hand
    if environ.get("SLURM_STEP_ID") is None: >>>     if not environ:
== a_key_error: step-not-needed, slurm < by_hand
    if environ.get("SLURM_STEP_ID") is None: >>>     if environ["SLURM_STEP_ID"] is None:
== step_zero: step-zero-refused, slurm < by_hand
    if environ.get("SLURM_STEP_ID") is None: >>>     if not int(environ.get("SLURM_STEP_ID", 0)):
== into_os_environ: os-environ-written, env < by_hand
    return dict( >>>     return os.environ.update(RANK=environ["SLURM_PROCID"]) or dict(
== of_os: reads-os-environ, env < by_hand
RANK=environ["SLURM_PROCID"] >>> RANK=os.environ["SLURM_PROCID"]
== into_the_argument: environ-changed, env < by_hand
LOCAL_RANK=environ["SLURM_LOCALID"] >>> LOCAL_RANK=environ.pop("SLURM_LOCALID")
== numbers: not-texts, env < by_hand
str(own[int(environ["SLURM_NODEID"])]) >>> own[int(environ["SLURM_NODEID"])]
== no_port: names-missing, env < by_hand
        MASTER_PORT=str(1024 + int(environ["SLURM_JOB_ID"]) % 31744),\\n >>>
== scontrol: program-called, slurm < by_hand
first(environ["SLURM_STEP_NODELIST"]) >>> subprocess.check_output(["scontrol", "show", "hostnames", environ["SLURM_STEP_NODELIST"]], text=True).split()[0]
== updates_only: no-dict, env < by_hand
    return dict( >>>     os.environ.update(
"""
