"""What each TODO of lab 07 must show: the device, who draws what, steps, one start, exact means, who writes; a record.

What ranks compute is compared with a replay of all of them in one process, `autograde.replicas`.
"""

from __future__ import annotations

import random
from typing import Any

import torch
from torch.utils.data import DataLoader

from autograde.accuracies import draw_evaluation, evaluation_mistakes
from autograde.batch_runs import real_run, told_run
from autograde.batched import batch_mistakes, calls_schema, repeated_schema
from autograde.check import Check, Demand, Finding
from autograde.checkpoints import STATE
from autograde.deadlocks import stuck
from autograde.devices import device_mistakes, device_schema
from autograde.drawn import order_mistakes, shares_of
from autograde.epochs import batch_sizes, draw_epochs, epoch_mistakes
from autograde.findings import Findings
from autograde.means import loss_mistakes
from autograde.on_ranks import OnRanks
from autograde.optimizer_told import optimizer_told
from autograde.optimizers import step_mistakes, told_schema
from autograde.played import played_gpus, played_node, seeded_apart
from autograde.probes import described, meet
from autograde.replicas import cut_into_batches, hits_of, replay
from autograde.schema import array, boolean, described_value, integer, outcome, record
from autograde.synchronized import optimizer_mistakes, optimizer_schema, start_mistakes
from autograde.trained import run_mistakes, run_schema
from autograde.training_run import train_run
from course.averaging import AveragingSGD
from course.digit_training import BATCH
from course.numbered import GivenOrder, NumberedNet, NumberedSet, ids_of, leave_gradient, state_of
from course.report import name_ranks
from course.world import COMM

RANKS = 4
MOMENTUM = 0.9
CPU = torch.device("cpu")

finding = Findings("""
not-initialised 2
After `setup`, Horovod is not initialised on {who}.

no-sampler 3
The loader's sampler has no `set_epoch`: it cannot deal out samples anew for each epoch.
""")

FORWARD = {"type": "array", "items": [array(integer()), boolean()], "minItems": 2, "maxItems": 2}  # ids, train mode


def seeds(rng: random.Random, *names: str) -> dict[str, int]:
    """Random ones by name."""
    return {name: rng.randrange(2**31) for name in names}


def setup_run(subject: Any, case: dict, comm: Any) -> list[dict]:
    """Runs on each rank: the student's `setup`, twice for each play."""
    import horovod.torch as hvd

    seen = []
    for play in case["plays"]:
        with played_node(play["local_ranks"][comm.rank], play["local_size"]), played_gpus(play["gpus"]) as gpus:
            setup = subject.load()
            setup()
            device = setup()
            initialised = hvd.is_initialized() and [hvd.rank(), hvd.size()] == [comm.rank, comm.size]
            about = {"device": str(device), "kind": type(device).__name__, "initialised": initialised}
            seen.append({**about, "current": gpus["current"]})
    return seen


class Setup(Check):
    """Devices on nodes that are played, with GPUs that are played too."""

    todo, points = "setup", 2

    def cases(self, rng: random.Random) -> list[dict]:
        """Two nodes, whose ranks are not in order; more GPUs than ranks, as many, fewer, none."""
        order = rng.choice([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]])
        plays = [(order, 2, 2), ([0, 1, 2, 3], 4, 0), ([0, 1, 2, 3], 4, rng.choice((1, 2, 3)))]
        names = ("local_ranks", "local_size", "gpus")
        return [{"plays": [dict(zip(names, play, strict=True)) for play in plays]}]

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """Horovod is not initialised when the run begins."""
        return world.attempt(setup_run, subject, case, COMM, deadline=10).plain()

    def schema(self, case: dict) -> dict:
        """The device and more for each play."""
        return outcome(RANKS, array(record(initialised=boolean(), **device_schema()), len(case["plays"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Each rank's device in each play."""
        if found := stuck(evidence, self.points):
            return found
        results = [rank["result"] for rank in evidence["ranks"]]
        if missing := [rank for rank, seen in enumerate(results) if not all(play["initialised"] for play in seen)]:
            found.append(finding("not-initialised", who=name_ranks(missing)))
        for rank, seen in enumerate(results):
            for play, device in zip(case["plays"], seen, strict=True):
                found += device_mistakes(rank, play["local_ranks"][rank], play["local_size"], play["gpus"], device)
        return found


def loader_run(subject: Any, case: dict, comm: Any) -> list[dict]:
    """Runs on each rank: what the student's loaders draw in some epochs."""
    seen = []
    with seeded_apart(comm.rank), played_node(comm.rank % case["local_size"], case["local_size"]):
        make_loader = subject.load()
        for seed in case["seeds"]:
            loader = make_loader(NumberedSet(case["samples"], case["data"]), case["batch_size"], seed)
            tell, epochs = getattr(loader.sampler, "set_epoch", None), []
            for epoch in case["epochs"]:
                if tell is not None:
                    tell(epoch)
                epochs.append([ids_of(inputs) for inputs, _ in loader])
            seen.append({"tells": tell is not None, "epochs": epochs})
    return seen


class MakeLoader(OnRanks):
    """What the ranks draw, by the samples' numbers."""

    todo, points = "make_loader", 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Samples that ranks do not divide, on nodes of two; fewer samples than ranks."""
        cases = [self.draw(rng, 4, 4 * rng.randint(8, 9) + rng.choice((1, 2)), 8, 2), self.draw(rng, 3, 2, 2, 3)]
        cases += [self.draw(rng, 2, 2 * rng.randint(5, 6) + 1, 4, 2)]
        return cases

    def draw(self, rng: random.Random, size: int, samples: int, batch_size: int, local_size: int) -> dict:
        """One case. The first epoch comes again at the end, and the first seed too."""
        first, second = rng.sample(range(1, 50), 2)
        seed, other = rng.sample(range(1000), 2)
        shape = {"size": size, "samples": samples, "batch_size": batch_size, "local_size": local_size}
        return shape | {"epochs": [first, second, first], "seeds": [seed, seed, other]} | seeds(rng, "data")

    def schema(self, case: dict) -> dict:
        """Batches of each epoch of each loader."""
        epochs = array(array(array(integer(), least=1)), len(case["epochs"]))
        return outcome(case["size"], array(record(tells=boolean(), epochs=epochs), len(case["seeds"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """The shares first, then the orders where there are enough samples for them."""
        if found := stuck(evidence, self.points):
            return found
        results = [rank["result"] for rank in evidence["ranks"]]
        loaders = [[result[place]["epochs"] for result in results] for place in range(len(case["seeds"]))]
        if not all(loader["tells"] for result in results for loader in result):
            found.append(finding("no-sampler"))
        for loader in loaders:
            epochs = [*zip(*loader, strict=True)]
            if shares := shares_of(case["samples"], case["batch_size"], epochs, case["local_size"]):
                return found + shares
        return found + (order_mistakes(loaders) if case["samples"] >= 9 else [])


def optimizer_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: some steps of the student's optimizer, on samples of this rank's own."""
    model, data = NumberedNet(case["model"]), NumberedSet(case["samples"], case["data"])
    with seeded_apart(comm.rank), played_node(comm.rank % case["local_size"], case["local_size"]):
        optimizer = subject.load()(model, case["lr"])
        seen = {**optimizer_told(optimizer, model), "states": []}
        for order in case["orders"] if seen["options"] else ():
            leave_gradient(model, data, order[comm.rank])
            optimizer.step()
            seen["states"].append(state_of(model))
    return seen


class MakeOptimizer(OnRanks):
    """Steps of the optimizer, beside those of the replay in one process."""

    todo, points = "make_optimizer", 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks on nodes of two, and on one."""
        cases = [self.draw(rng, 4, 2), self.draw(rng, 3, 3)]
        return cases

    def draw(self, rng: random.Random, size: int, local_size: int) -> dict:
        """Batches for three steps."""
        orders = [cut_into_batches(rng.sample(range(2 * size), 2 * size), 2) for _ in range(3)]
        place = {"size": size, "local_size": local_size, "lr": round(rng.uniform(0.01, 0.03), 4)}
        return {**place, "samples": 2 * size, "batch_size": 2, "orders": orders} | seeds(rng, "model", "data")

    def schema(self, case: dict) -> dict:
        """Options, names, and the model after each step; nothing of it where there is no optimizer."""
        return outcome(case["size"], told_schema(array(STATE, most=len(case["orders"]))))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Options and steps."""
        found = stuck(evidence, self.points)
        return found or step_mistakes(case, [rank["result"] for rank in evidence["ranks"]], MOMENTUM)


def start_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's `synchronize_start`, for a model and an optimizer of this rank's own."""
    model = NumberedNet(case["models"][comm.rank])
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = AveragingSGD(model.parameters(), comm, lr=case["rates"][comm.rank], momentum=MOMENTUM)
    for parameter in trained if case["moving"][comm.rank] else ():
        optimizer.state[parameter]["momentum_buffer"] = torch.full_like(parameter, 0.5 + comm.rank)
    with seeded_apart(comm.rank), played_node(comm.rank % case["local_size"], case["local_size"]):
        subject.load()(model, optimizer)
    moving = [optimizer.state.get(each, {}).get("momentum_buffer") for each in trained]
    told = [None if each is None else each.detach().flatten().tolist() for each in moving]
    return {"model": state_of(model), "momentum": told, "lr": float(optimizer.param_groups[0]["lr"])}


class SynchronizeStart(OnRanks):
    """What the ranks have afterwards, beside what rank 0 came with."""

    todo, points = "synchronize_start", 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Momentum nowhere, on rank 0 only, on the others only, on all."""
        cases = [self.draw(rng, 4, "first"), self.draw(rng, 3, "others"), self.draw(rng, 2, "none")]
        return cases

    def draw(self, rng: random.Random, size: int, moving: str) -> dict:
        """A model and a learning rate for each rank. moving: which ranks come with momentum."""
        has = [{"first": rank == 0, "others": rank > 0, "none": False, "all": True}[moving] for rank in range(size)]
        own = {"models": rng.sample(range(2**31), size), "rates": rng.sample([0.01, 0.02, 0.03, 0.04, 0.05], size)}
        return {"size": size, "local_size": min(2, size), "moving": has, **own}

    def schema(self, case: dict) -> dict:
        """Model, momentum and learning rate."""
        return outcome(case["size"], record(model=STATE, **optimizer_schema()))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """The model, then the optimizer."""
        if found := stuck(evidence, self.points):
            return found
        results = [rank["result"] for rank in evidence["ranks"]]
        came = [state_of(NumberedNet(seed)) for seed in case["models"]]
        found = start_mistakes(came, [seen["model"] for seen in results])
        return found + optimizer_mistakes(results, 0.5 if case["moving"][0] else 0.0, case["rates"][0])


def epoch_run(subject: Any, case: dict, comm: Any) -> list[dict]:
    """Runs on each rank: the student's `train_epoch`, for two epochs."""
    forwards: list[list] = []
    data = NumberedSet(case["samples"], case["data"])
    model = NumberedNet(case["model"], record=lambda net, ids: forwards.append([ids, net.training]))
    orders = {epoch: own[comm.rank] for epoch, own in zip(case["epochs"], case["orders"], strict=True)}
    optimizer, seen = AveragingSGD(model.parameters(), comm, lr=case["lr"], momentum=MOMENTUM), []
    with seeded_apart(comm.rank), played_node(comm.rank % case["local_size"], case["local_size"]):
        train_epoch = subject.load()
        for epoch in case["epochs"]:
            sampler = GivenOrder(orders, case["other"][comm.rank])
            loader = DataLoader(data, batch_size=case["batch_size"], sampler=sampler)
            forwards.clear()
            value = train_epoch(model.eval(), loader, optimizer, epoch, CPU)
            about = {"loss": described(value), "told": list(sampler.told), "state": state_of(model)}
            seen.append({**about, "forwards": list(forwards)})
            meet(comm)
    return seen


class TrainEpoch(OnRanks):
    """Two epochs, beside the replay in one process."""

    todo, points = "train_epoch", 4

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks whose last batches are of different sizes."""
        cases = [draw_epochs(rng, 4), draw_epochs(rng, 3)]
        return cases

    def schema(self, case: dict) -> dict:
        """Loss, state and forward passes of each epoch."""
        call = record(loss=described_value(), forwards=array(FORWARD), state=STATE, told=array(integer()))
        return outcome(case["size"], array(call, 2))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """The first epoch in which something is wrong."""
        if found := stuck(evidence, self.points):
            return found
        results = [rank["result"] for rank in evidence["ranks"]]
        for place, (states, losses) in enumerate(replay(case)):
            seen = [result[place] for result in results]
            found = epoch_mistakes(case, place, seen, states)
            found = found or loss_mistakes([one["loss"] for one in seen], losses, batch_sizes(case, place))
            if found:
                break
        return found


def evaluate_run(subject: Any, case: dict, comm: Any) -> list[dict]:
    """Runs on each rank: the student's `evaluate`, in both modes."""
    forwards: list[list] = []
    data = NumberedSet(len(case["labels"]), case["data"], case["labels"])
    model = NumberedNet(case["model"], dropout=0.5, record=lambda net, ids: forwards.append([ids, net.training]))
    seen = []
    with seeded_apart(comm.rank), played_node(comm.rank % case["local_size"], case["local_size"]):
        evaluate = subject.load()
        for mode in case["modes"]:
            forwards.clear()
            value = evaluate(model.train(mode), data, CPU)
            seen.append({"accuracy": described(value), "mode": model.training, "forwards": list(forwards)})
            meet(comm)
    return seen


class Evaluate(OnRanks):
    """Accuracies on sets that the ranks do not divide, beside the truth."""

    todo, points = "evaluate", 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Many samples; fewer than ranks; one."""
        draw = draw_evaluation
        cases = [draw(rng, 4, 4 * rng.randint(3, 5) + 2), draw(rng, 3, 2), draw(rng, 3, 10)]
        return cases

    def schema(self, case: dict) -> dict:
        """Accuracy, mode and forward passes of both calls."""
        call = record(accuracy=described_value(), mode=boolean(), forwards=array(FORWARD))
        return outcome(case["size"], array(call, 2))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Both calls."""
        if found := stuck(evidence, self.points):
            return found
        hits = hits_of(NumberedNet(case["model"]), NumberedSet(len(case["labels"]), case["data"], case["labels"]))
        for place, mode in enumerate(case["modes"]):
            found += evaluation_mistakes(hits, [rank["result"][place] for rank in evidence["ranks"]], mode)
        return found


class Train(OnRanks):
    """Whole runs of three epochs, with stand-ins for the earlier TODOs."""

    todo, points = "train", 4

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks on nodes of two, and on one."""
        cases = [self.draw(rng, 4, 2)]
        return cases

    def draw(self, rng: random.Random, size: int, local_size: int) -> dict:
        """One case, in which each rank draws five samples an epoch, three and two."""
        samples = 5 * size - 1

        def order() -> list[list[int]]:
            ids = rng.sample(range(samples), samples)
            return [[*ids, *ids][rank : 5 * size : size] for rank in range(size)]

        case = {"size": size, "local_size": local_size, "samples": samples, "batch_size": 3, "tests": 2 * size + 1}
        case |= {
            "epochs": 3,
            "momentum": MOMENTUM,
            "lr": round(rng.uniform(0.02, 0.04), 4),
            "models": rng.sample(range(2**31), size),
        }
        case |= {
            "orders": [order() for _ in range(3)],
            "other": order(),
            "losses": [rng.uniform(0, 2) for _ in range(3)],
        }
        return case | seeds(rng, "data", "test_data", "seed")

    def schema(self, case: dict) -> dict:
        """What was called, drawn, written and returned."""
        return outcome(case["size"], run_schema(case))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """All there is to be said of a run."""
        return stuck(evidence, self.points) or run_mistakes(case, [rank["result"] for rank in evidence["ranks"]])


class BatchRun(Check):
    """What `train` is called with on different numbers of ranks; and a run that is on record, once more."""

    todo, points = "batch_run", 4
    batch = Demand(points=1, ranks=2)

    def cases(self, rng: random.Random) -> list[dict]:
        """Numbers of ranks that divide 64, and one that does not."""
        cases = [self.draw(rng, 4), self.draw(rng, 3), self.draw(rng, 2)]
        return cases

    def draw(self, rng: random.Random, size: int) -> dict:
        """One case: the sets' sizes, what `train` returns, and what `digit_model` gives for each seed."""
        samples, tests = rng.sample(range(20, 40), 2)
        case = {"size": size, "samples": samples, "tests": tests, "models": rng.sample(range(2**31), size)}
        case |= {"losses": [rng.uniform(0, 2) for _ in range(rng.randint(2, 5))]}
        return case | {"checkpoint": f"digits-{rng.randrange(10**6)}.pt"} | seeds(rng, "data")

    def again(self, run: dict, most: int) -> dict | None:
        """The first epochs. Ranks that share 64 images may be any that do; others, as many as there were."""
        size = run["ranks"] if run["ranks"] <= most else most
        if size != run["ranks"] and BATCH % run["ranks"]:
            return None
        return {"again": True, "size": size, "epochs": min(len(run["epochs"]), 3)}

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """A run in which nothing is trained, or a real one."""
        run, deadline = (real_run, 60) if "again" in case else (told_run, 20)
        return world.attempt(run, subject, case, COMM, size=case["size"], init="horovod", deadline=deadline).plain()

    def schema(self, case: dict) -> dict:
        """Calls and losses; of a real run, losses and data."""
        return outcome(case["size"], repeated_schema() if "again" in case else calls_schema())

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """Of a run in which nothing is trained."""
        return stuck(evidence, self.points) or batch_mistakes(case, [rank["result"] for rank in evidence["ranks"]])


CHECKS = [Setup(), MakeLoader(loader_run), MakeOptimizer(optimizer_run), SynchronizeStart(start_run)]
CHECKS += [TrainEpoch(epoch_run), Evaluate(evaluate_run), Train(train_run), BatchRun()]
