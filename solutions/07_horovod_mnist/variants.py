"""Other right answers to lab 07, and mistakes that people make, with the finding that each must get.

Each text below holds bodies of one TODO's function, one after another. A line ``== name`` begins a right answer, a line
``== name: finding, source`` a mistake; `source` is a key of SOURCES.
"""

from __future__ import annotations

from textwrap import indent

from autograde.variants import Wrong, cells, mistakes

# Where the mistakes are known from.
SOURCES = {
    "device ordinal": "https://github.com/horovod/horovod/issues/2831",
    "rank as ordinal": "https://github.com/NVIDIA/DeepLearningExamples/pull/990",
    "set_device": "https://github.com/gibiansky/horovod/blob/patch-1/docs/pytorch.rst",
    "init": "https://github.com/horovod/horovod/issues/1056",
    "replicated": "https://github.com/horovod/horovod/issues/822",
    "partition": "https://github.com/horovod/horovod/issues/977",
    "set_epoch": "https://github.com/pytorch/pytorch/issues/31771",
    "set_epoch missing": "https://github.com/kan-bayashi/ParallelWaveGAN/issues/177",
    "set_epoch differs": "https://github.com/yangkky/distributed_tutorial/issues/5",
    "shuffle": "https://github.com/pytorch/pytorch/issues/31232",
    "batch size": "https://github.com/horovod/horovod/issues/1981",
    "uneven": "https://github.com/horovod/horovod/issues/457",
    "learning rate": "https://github.com/horovod/horovod/issues/1542",
    "why scale": "https://github.com/horovod/horovod/issues/384",
    "local size": "https://github.com/horovod/horovod/pull/176",
    "not wrapped": "https://github.com/horovod/horovod/issues/233",
    "sum": "https://github.com/horovod/horovod/issues/2298",
    "average": "https://github.com/horovod/horovod/issues/843",
    "noname": "https://github.com/horovod/horovod/pull/1110",
    "rate later": "https://github.com/horovod/horovod/issues/1619",
    "no broadcast": "https://github.com/horovod/horovod/issues/672",
    "forgotten broadcast": "https://github.com/TRI-ML/packnet-sfm/issues/172",
    "batch norm": "https://github.com/horovod/horovod/issues/49",
    "optimizer state": "https://github.com/horovod/horovod/issues/936",
    "optimizer options": "https://github.com/horovod/horovod/issues/526",
    "resume": "https://github.com/horovod/horovod/issues/1774",
    "rank 0 only": "https://github.com/horovod/horovod/issues/477",
    "names": "https://github.com/horovod/horovod/issues/2107",
    "subset of ranks": "https://github.com/horovod/horovod/issues/100",
    "last batch": "https://openillumi.com/en/en-pytorch-loss-batchsize-mean-reduction",
    "mean of means": "https://github.com/horovod/horovod/issues/2897",
    "metric average": "https://github.com/meta-pytorch/torchrec/issues/564",
    "zero_grad": "https://flisks.com/python-why-do-we-need-to-call-zero-grad-in-pytorch",
    "modes": "https://unanswered.io/guide/pytorch-model-train-eval",
    "metrics on rank 0": "https://github.com/horovod/horovod/issues/600",
    "metrics": "https://github.com/horovod/horovod/issues/375",
    "all write": "https://github.com/horovod/horovod/issues/58",
    "local rank 0 writes": "https://github.com/NVIDIA/apex/issues/886",
    "checkpoint": "https://github.com/horovod/horovod/issues/861",
    "whole batch": "https://github.com/horovod/horovod/issues/1648",
    "same batch": "https://github.com/horovod/horovod/issues/1619",
    "effective batch": "https://github.com/horovod/horovod/issues/241",
}

SETUP = """
import horovod.torch as hvd
import torch


def setup():
"""
MAKE_LOADER = """
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, RandomSampler, Subset
from torch.utils.data.distributed import DistributedSampler


def make_loader(dataset, batch_size, seed):
"""
MAKE_OPTIMIZER = """
import horovod.torch as hvd
import torch


def make_optimizer(model, lr):
"""
SYNCHRONIZE_START = """
import horovod.torch as hvd
import torch


def synchronize_start(model, optimizer):
"""
TRAIN_EPOCH = """
import horovod.torch as hvd
import torch
from torch.nn.functional import cross_entropy


def train_epoch(model, loader, optimizer, epoch, device):
"""
EVALUATE = """
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, Subset


def evaluate(model, dataset, device):
"""
TRAIN = """
import os
import time

import horovod.torch as hvd
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def train(model, train_set, test_set, epochs, batch_size, lr, seed, checkpoint):
"""
BATCH_RUN = """
import horovod.torch as hvd


def batch_run(train_set, test_set, epochs, checkpoint):
"""


def wrong(head: str, bodies: str) -> dict[str, Wrong]:
    """The mistakes in `bodies`."""
    return mistakes(cells(head, bodies), SOURCES)


RIGHT = {
    "setup": cells(
        SETUP,
        """
== initialised_once
if not hvd.is_initialized():
    hvd.init()
enough = torch.cuda.is_available() and torch.cuda.device_count() >= hvd.local_size()
device = torch.device(f"cuda:{hvd.local_rank()}" if enough else "cpu")
if device.type == "cuda":
    torch.cuda.set_device(device)
return device
== by_count
hvd.init()
if 0 < hvd.local_size() <= torch.cuda.device_count():
    torch.cuda.set_device(f"cuda:{hvd.local_rank()}")
    return torch.device("cuda", torch.cuda.current_device())
return torch.device("cpu")
""",
    ),
    "make_loader": cells(
        MAKE_LOADER,
        """
== own_sampler
class Shards(torch.utils.data.Sampler):
    epoch = 0
    def set_epoch(self, epoch):
        self.epoch = epoch
    def __len__(self):
        return -(-len(dataset) // hvd.size())
    def __iter__(self):
        generator = torch.Generator().manual_seed(1000003 * seed + self.epoch)
        order = torch.randperm(len(dataset), generator=generator).tolist()
        whole = order * (len(self) * hvd.size() // len(order) + 1)
        return iter(whole[hvd.rank() : len(self) * hvd.size() : hvd.size()])
return DataLoader(dataset, batch_size, sampler=Shards())
== blocks
class Blocks(torch.utils.data.Sampler):
    epoch = 0
    def set_epoch(self, epoch):
        self.epoch = epoch
    def __len__(self):
        return -(-len(dataset) // hvd.size())
    def __iter__(self):
        torch_seed = hash((seed, self.epoch)) % 2**31
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(torch_seed)).tolist()
        whole = (order * (hvd.size() + 1))[: len(self) * hvd.size()]
        return iter(whole[hvd.rank() * len(self) : (hvd.rank() + 1) * len(self)])
return DataLoader(dataset, batch_size=batch_size, sampler=Blocks(), drop_last=False)
== by_keywords
sampler = DistributedSampler(dataset, rank=hvd.rank(), num_replicas=hvd.size(), seed=seed, drop_last=False)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler, shuffle=False, num_workers=0)
""",
    ),
    "make_optimizer": cells(
        MAKE_OPTIMIZER,
        """
== trained_parameters_only
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.SGD(trained, hvd.size() * lr, 0.9)
return hvd.DistributedOptimizer(optimizer, list(model.named_parameters()))
== averaged_by_name
optimizer = torch.optim.SGD(params=model.parameters(), momentum=0.9, lr=hvd.size() * lr, nesterov=False)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Average)
== grouped
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), groups=1)
""",
    ),
    "synchronize_start": cells(
        SYNCHRONIZE_START,
        """
== by_horovods_functions
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== objects
model.load_state_dict(hvd.broadcast_object(model.state_dict(), 0))
optimizer.load_state_dict(hvd.broadcast_object(optimizer.state_dict(), 0))
== tensor_by_tensor
with torch.no_grad():
    for name, values in model.state_dict().items():
        values.copy_(hvd.broadcast(values, 0, name=name))
state = hvd.broadcast_object(optimizer.state_dict() if hvd.rank() == 0 else None, root_rank=0, name="optimizer")
optimizer.load_state_dict(state)
== lists
hvd.broadcast_parameters(list(model.named_parameters()), root_rank=0)
hvd.broadcast_parameters(list(model.named_buffers()), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0, model=model)
""",
    ),
    "train_epoch": cells(
        TRAIN_EPOCH,
        """
== zeroed_afterwards
loader.sampler.set_epoch(epoch)
model.train()
total, number = 0.0, 0
for inputs, labels in loader:
    inputs, labels = inputs.to(device), labels.to(device)
    loss = cross_entropy(model(inputs), labels, reduction="sum")
    optimizer.zero_grad()
    (loss / len(labels)).backward()
    optimizer.step()
    total, number = total + loss.item(), number + len(labels)
total = hvd.allreduce(torch.tensor(total, dtype=torch.float64), op=hvd.Sum)
number = hvd.allreduce(torch.tensor(number), op=hvd.Sum)
return total.item() / number.item()
== averages_of_both
model.train()
loader.sampler.set_epoch(epoch)
optimizer.zero_grad()
losses = []
for inputs, labels in loader:
    each = cross_entropy(model(inputs.to(device)), labels.to(device), reduction="none")
    each.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(each.detach())
losses = torch.cat(losses)
mean = hvd.allreduce(torch.stack([losses.sum(), torch.tensor(float(len(losses)))]))
return float(mean[0] / mean[1])
== gathered
loader.sampler.set_epoch(epoch)
model.train(True)
losses = []
for inputs, labels in loader:
    optimizer.zero_grad()
    each = cross_entropy(model(inputs), labels, reduction="none")
    each.mean().backward()
    optimizer.synchronize()
    with optimizer.skip_synchronize():
        optimizer.step()
    losses += each.tolist()
return hvd.allgather(torch.tensor(losses, dtype=torch.float64)).mean().item()
== float32_reduced_every_batch
loader.sampler.set_epoch(epoch)
model.train()
total = torch.zeros(2)
for inputs, labels in loader:
    loss = torch.nn.CrossEntropyLoss()(model(inputs.to(device)), labels.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += hvd.allreduce(torch.tensor([loss.item() * len(labels), len(labels)]), op=hvd.Sum)
return (total[0] / total[1]).item()
""",
    ),
    "evaluate": cells(
        EVALUATE,
        """
== blocks
mode = model.training
model.eval()
most = -(-len(dataset) // hvd.size())
mine = range(most * hvd.rank(), min(most * (hvd.rank() + 1), len(dataset)))
hits = 0.0
with torch.inference_mode():
    for i in mine:
        inputs, label = dataset[i]
        hits += float(model(inputs[None].to(device)).argmax().item() == label)
model.train(mode)
return hvd.allreduce(torch.tensor(hits, dtype=torch.float64), op=hvd.Sum).item() / len(dataset)
== averages
was_training = model.training
model.train(False)
hits = total = 0
for i in range(hvd.rank(), len(dataset), hvd.size()):
    inputs, label = dataset[i]
    hits += int(model(inputs.unsqueeze(0)).argmax(1).item() == label)
    total += 1
if was_training:
    model.train()
both = hvd.allreduce(torch.tensor([float(hits), float(total)]))
return (both[0] / both[1]).item()
== gathered
mode = model.training
model.eval()
share = Subset(dataset, list(range(len(dataset)))[hvd.rank() :: hvd.size()])
hits = [torch.zeros(0, dtype=torch.int32)]
with torch.no_grad():
    for inputs, labels in DataLoader(share, batch_size=3):
        hits.append((model(inputs).max(1).indices == labels).int())
model.train(mode)
return float(hvd.allgather(torch.cat(hits)).double().mean())
""",
    ),
    "train": cells(
        TRAIN,
        """
== all_by_itself
hvd.init()
sampler = DistributedSampler(train_set, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
loader = DataLoader(train_set, batch_size=batch_size, sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
history = []
for epoch in range(epochs):
    began = time.time()
    sampler.set_epoch(epoch)
    model.train()
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(labels), len(labels)])
    total = hvd.allreduce(total, op=hvd.Sum)
    model.eval()
    hits = torch.zeros(())
    with torch.no_grad():
        for i in range(hvd.rank(), len(test_set), hvd.size()):
            inputs, label = test_set[i]
            hits += float(model(inputs[None]).argmax() == label)
    accuracy = hvd.allreduce(hits, op=hvd.Sum).item() / len(test_set)
    seconds = time.time() - began
    history.append(dict(epoch=epoch, loss=(total[0] / total[1]).item(), accuracy=accuracy, seconds=seconds))
    if hvd.rank() == 0:
        torch.save({"model": model.state_dict(), "epoch": epoch}, checkpoint)
return history
== whole_files
device = setup()
model = model.to(device)
optimizer = make_optimizer(model, lr)
synchronize_start(model, optimizer)
loader = make_loader(train_set, batch_size=batch_size, seed=seed)
history = []
for epoch in range(epochs):
    began = time.monotonic()
    entry = {"epoch": epoch, "loss": train_epoch(model, loader, optimizer, epoch, device)}
    entry["accuracy"] = evaluate(model, test_set, device)
    if hvd.rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{checkpoint}.part")
        os.replace(f"{checkpoint}.part", checkpoint)
    entry["seconds"] = time.monotonic() - began
    history.append(entry)
return history
== own_loop
loader = make_loader(train_set, batch_size, seed)
optimizer = make_optimizer(model, lr)
synchronize_start(model, optimizer)
history = []
for epoch in range(epochs):
    began = time.perf_counter()
    loader.sampler.set_epoch(epoch)
    model.train()
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(labels), len(labels)])
    total = hvd.allreduce(total)
    accuracy = evaluate(model, test_set, torch.device("cpu"))
    if hvd.rank() == 0:
        with open(checkpoint, "wb") as file:
            torch.save({"model": model.state_dict()}, file)
    seconds = time.perf_counter() - began
    loss = float(total[0] / total[1])
    history.append({"seconds": seconds, "epoch": epoch, "loss": loss, "accuracy": accuracy})
return history
""",
    ),
    "batch_run": cells(
        BATCH_RUN,
        """
== by_keywords
ranks = hvd.size()
return train(
    model=digit_model(seed=hvd.rank()), train_set=train_set, test_set=test_set, epochs=epochs,
    batch_size=int(64 / ranks), lr=0.06 / ranks, seed=0, checkpoint=checkpoint,
)
== one_model_for_all
history = train(digit_model(0), train_set, test_set, epochs, 64 // hvd.size(), 0.06 / hvd.size(), 0, checkpoint)
return list(history)
""",
    ),
}

# What `train` is made of, for mistakes in one place.
BEGIN = """
device = setup()
model.to(device)
loader = make_loader(train_set, batch_size, seed)
optimizer = make_optimizer(model, lr)
synchronize_start(model, optimizer)
"""
LOOP = """
history = []
for epoch in range(epochs):
    began = time.perf_counter()
    loss = train_epoch(model, loader, optimizer, epoch, device)
    accuracy = evaluate(model, test_set, device)
    seconds = time.perf_counter() - began
    history.append({"epoch": epoch, "loss": loss, "accuracy": accuracy, "seconds": seconds})
"""
SAVE = """
    if hvd.rank() == 0:
        torch.save({"model": model.state_dict()}, checkpoint)
"""
END = "\nreturn history\n"
OWN_LOOP = """
history = []
for epoch in range(epochs):
    began = time.perf_counter()
    loader.sampler.set_epoch(epoch)
    model.train()
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(labels), len(labels)])
    total = hvd.allreduce(total)
    accuracy = evaluate(model, test_set, torch.device("cpu"))
    loss, seconds = float(total[0] / total[1]), time.perf_counter() - began
    history.append({"epoch": epoch, "loss": loss, "accuracy": accuracy, "seconds": seconds})
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """`text` with its parts replaced. Raises ValueError for one that is not in it."""
    for old, new in changes:
        if old not in text:
            raise ValueError(f"{old!r} is not in the text")
        text = text.replace(old, new)
    return text


def train_mistakes(*mistakes: tuple[str, str, str, str]) -> dict[str, Wrong]:
    """Mistakes in `train`, as (name, finding, source, body)."""
    return {
        name: Wrong(
            finding, TRAIN.lstrip() + indent(body.strip("\n").replace("\n\n", "\n"), "    ") + "\n", SOURCES[source]
        )
        for name, finding, source, body in mistakes
    }


WHOLE = BEGIN + LOOP + SAVE + END
OWN = BEGIN + OWN_LOOP + SAVE + END

WRONG = {
    "setup": wrong(
        SETUP,
        """
== rank: rank-for-local-rank, device ordinal
hvd.init()
if not torch.cuda.is_available() or torch.cuda.device_count() < hvd.local_size():
    return torch.device("cpu")
torch.cuda.set_device(hvd.rank())
return torch.device("cuda", hvd.rank())
== rank_by_gpus: rank-for-local-rank, rank as ordinal
hvd.init()
gpus = torch.cuda.device_count()
if gpus < hvd.local_size():
    return torch.device("cpu")
torch.cuda.set_device(hvd.rank() % gpus)
return torch.device("cuda", hvd.rank() % gpus)
== size_for_local_size: cpu-for-gpu, device ordinal
hvd.init()
if torch.cuda.device_count() < hvd.size():
    return torch.device("cpu")
torch.cuda.set_device(hvd.local_rank())
return torch.device("cuda", hvd.local_rank())
== first_gpu_for_all: wrong-device, rank as ordinal
hvd.init()
if torch.cuda.device_count() < hvd.local_size():
    return torch.device("cpu")
torch.cuda.set_device(0)
return torch.device("cuda", 0)
== not_current: not-current, set_device
hvd.init()
enough = torch.cuda.is_available() and torch.cuda.device_count() >= hvd.local_size()
return torch.device("cuda", hvd.local_rank()) if enough else torch.device("cpu")
== any_gpu_will_do: gpu-for-cpu, device ordinal
hvd.init()
if not torch.cuda.is_available():
    return torch.device("cpu")
torch.cuda.set_device(hvd.local_rank())
return torch.device("cuda", hvd.local_rank())
== not_initialised: not-initialised, init
if torch.cuda.device_count() < hvd.local_size():
    return torch.device("cpu")
torch.cuda.set_device(hvd.local_rank())
return torch.device("cuda", hvd.local_rank())
== text: not-a-device, set_device
hvd.init()
if torch.cuda.device_count() < hvd.local_size():
    return "cpu"
torch.cuda.set_device(hvd.local_rank())
return f"cuda:{hvd.local_rank()}"
== set_without_gpus: no-such-gpu, init
hvd.init()
torch.cuda.set_device(hvd.local_rank())
enough = torch.cuda.device_count() >= hvd.local_size()
return torch.device("cuda", hvd.local_rank()) if enough else torch.device("cpu")
""",
    ),
    "make_loader": wrong(
        MAKE_LOADER,
        """
== whole_set_on_every_rank: whole-set-on-every-rank, replicated
return DataLoader(dataset, batch_size=batch_size, shuffle=True)
== no_sampler_for_epochs: no-sampler, partition
share = Subset(dataset, range(hvd.rank(), len(dataset), hvd.size()))
return DataLoader(share, batch_size=batch_size, shuffle=True)
== local_ranks: dealt-on-one-node, rank as ordinal
sampler = DistributedSampler(dataset, num_replicas=hvd.local_size(), rank=hvd.local_rank(), seed=seed)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== not_shuffled: not-shuffled, shuffle
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=False, seed=seed)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== same_order: same-order-every-epoch, set_epoch
class Sampler(DistributedSampler):
    def set_epoch(self, epoch):
        pass
sampler = Sampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== seed_forgotten: seed-ignored, shuffle
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== seed_by_rank: samples-left-out, set_epoch differs
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed + hvd.rank())
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== drop_last_batch: last-batch-dropped, uneven
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=True)
== drop_tail: samples-left-out, uneven
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed, drop_last=len(dataset) > 2)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== not_padded: unequal-shares, uneven
class Sampler(DistributedSampler):
    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(torch.randperm(len(dataset), generator=generator).tolist()[self.rank :: self.num_replicas])
sampler = Sampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== batch_size_divided: batch-size-divided, batch size
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
return DataLoader(dataset, batch_size=max(1, batch_size // hvd.size()), sampler=sampler)
== batch_size_forgotten: wrong-batches, batch size
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
return DataLoader(dataset, sampler=sampler)
== global_random_state: samples-left-out, set_epoch differs
class Sampler(DistributedSampler):
    def __iter__(self):
        return iter(torch.randperm(len(dataset)).repeat(4)[self.rank : self.total_size : self.num_replicas].tolist())
sampler = Sampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
""",
    ),
    "make_optimizer": wrong(
        MAKE_OPTIMIZER,
        """
== not_scaled: lr-not-scaled, why scale
optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== scaled_by_local_size: lr-scaled-by-local-size, local size
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.local_size(), momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== scaled_twice: lr-scaled-twice, learning rate
lr = lr * hvd.size()
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== square_root: wrong-lr, learning rate
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size() ** 0.5, momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== not_wrapped: not-wrapped, not wrapped
return torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
== gradients_summed: gradients-summed, sum
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Sum)
== summed_for_scaled: lr-not-scaled, sum
optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Sum)
== no_momentum: momentum, learning rate
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size())
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== nesterov: other-options, learning rate
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9, nesterov=True)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== weight_decay: other-options, optimizer options
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9, weight_decay=1e-2)
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== no_names: no-parameter-names, noname
return hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9))
== adam: momentum, learning rate
optimizer = torch.optim.Adam(model.parameters(), lr=lr * hvd.size())
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== half_precision: wrong-step, sum
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
compression = hvd.Compression.fp16
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), compression=compression)
== nothing_returned: no-optimizer, not wrapped
optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
""",
    ),
    "synchronize_start": wrong(
        SYNCHRONIZE_START,
        """
== nothing: no-broadcast, no broadcast
return None
== optimizer_only: no-broadcast, forgotten broadcast
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== parameters_only: buffers-not-broadcast, batch norm
hvd.broadcast_parameters(list(model.named_parameters()), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== trained_parameters_only: parameters-not-broadcast, batch norm
trained = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
hvd.broadcast_parameters(trained + list(model.named_buffers()), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== model_only: momentum-not-broadcast, optimizer state
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
== momentum_only: options-not-broadcast, optimizer options
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
state = hvd.broadcast_object(optimizer.state_dict(), root_rank=0)
state["param_groups"] = optimizer.state_dict()["param_groups"]
optimizer.load_state_dict(state)
== last_rank: not-rank-0s, rank 0 only
hvd.broadcast_parameters(model.state_dict(), root_rank=hvd.size() - 1)
hvd.broadcast_optimizer_state(optimizer, root_rank=hvd.size() - 1)
== averaged: rank-0-changed, average
with torch.no_grad():
    for values in model.state_dict().values():
        values.copy_(hvd.allreduce(values.double()))
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== out_of_place: no-broadcast, no broadcast
for name, values in model.state_dict().items():
    hvd.broadcast(values, 0, name=name)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== state_not_loaded: momentum-not-broadcast, resume
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_object(optimizer.state_dict(), root_rank=0)
== only_rank_0: collective-on-some-ranks, rank 0 only
if hvd.rank() == 0:
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== other_names_on_other_ranks: calls-do-not-match, names
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
state = hvd.broadcast_object(optimizer.state_dict() if hvd.rank() == 0 else None, root_rank=0)
optimizer.load_state_dict(state)
== only_where_there_is_momentum: collective-on-some-ranks, resume
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
if optimizer.state_dict()["state"]:
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
== reset: rank-0s-momentum-lost, resume
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer.state.clear()
""",
    ),
    "evaluate": wrong(
        EVALUATE,
        """
== own_share: own-share-only, metrics
mode = model.training
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train(mode)
return hits / max(1, len(mine))
== rank_0s_share: rank-0s-share, metrics on rank 0
mode = model.training
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train(mode)
return hvd.broadcast(torch.tensor(hits / max(1, len(mine)), dtype=torch.float64), 0).item()
== mean_of_shares: mean-of-shares, mean of means
mode = model.training
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train(mode)
return hvd.allreduce(torch.tensor(hits / max(1, len(mine)), dtype=torch.float64)).item()
== everything: everything-on-every-rank, metrics
mode = model.training
model.eval()
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in range(len(dataset)))
model.train(mode)
return hits / len(dataset)
== padding_counted: counted-twice, metric average
from torch.utils.data.distributed import DistributedSampler
mode = model.training
model.eval()
sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=False)
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in sampler)
model.train(mode)
return hvd.allreduce(torch.tensor(hits / len(sampler), dtype=torch.float64)).item()
== tail_dropped: not-evaluated, mean of means
mode = model.training
model.eval()
few = len(dataset) // hvd.size()
mine = range(hvd.rank() * few, hvd.rank() * few + few)
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train(mode)
return hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / max(1, few * hvd.size())
== last_takes_the_rest: share-too-large, mean of means
mode = model.training
model.eval()
few, rank = len(dataset) // hvd.size(), hvd.rank()
mine = range(rank * few, len(dataset) if rank == hvd.size() - 1 else rank * few + few)
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train(mode)
return hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== train_mode: not-eval-mode, modes
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = torch.tensor(0)
for inputs, labels in DataLoader(Subset(dataset, mine), batch_size=len(dataset)):
    if len(labels) > 1 or not model.training:
        hits += (model(inputs).argmax(1) == labels).sum()
return hvd.allreduce(hits, op=hvd.Sum).item() / len(dataset)
== left_in_eval_mode: mode-not-restored, modes
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
return hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== always_train_mode_afterwards: mode-not-restored, modes
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train()
return hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== restored_where_samples_are: mode-not-restored, modes
mode, mine = model.training, range(hvd.rank(), len(dataset), hvd.size())
model.eval()
hits = 0
for i in mine:
    hits += int(model(dataset[i][0][None]).argmax()) == dataset[i][1]
    if i == mine[-1]:
        model.train(mode)
return hvd.allreduce(torch.tensor(hits), op=hvd.Sum).item() / len(dataset)
== only_rank_0: collective-on-some-ranks, metrics on rank 0
mode = model.training
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = torch.tensor(sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine))
model.train(mode)
if hvd.rank() == 0:
    hits = hvd.allreduce(hits, op=hvd.Sum)
return hits.item() / len(dataset)
== only_ranks_with_samples: collective-on-some-ranks, subset of ranks
mode = model.training
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
if len(mine) == 0:
    model.train(mode)
    return 0.0
hits = torch.tensor(sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine))
model.train(mode)
return hvd.allreduce(hits, op=hvd.Sum).item() / len(dataset)
== tensor_returned: not-a-float, metrics
mode = model.training
model.eval()
mine = range(hvd.rank(), len(dataset), hvd.size())
hits = sum(int(model(dataset[i][0][None]).argmax()) == dataset[i][1] for i in mine)
model.train(mode)
return hvd.allreduce(torch.tensor(float(hits)), op=hvd.Sum) / len(dataset)
""",
    ),
    "train_epoch": wrong(
        TRAIN_EPOCH,
        """
== mean_of_batches: mean-of-batches, last batch
loader.sampler.set_epoch(epoch)
model.train()
losses = []
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
return hvd.allreduce(torch.tensor(sum(losses) / len(losses), dtype=torch.float64)).item()
== mean_of_ranks: mean-of-ranks, mean of means
loader.sampler.set_epoch(epoch)
model.train()
total = number = 0
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total, number = total + loss.item() * len(labels), number + len(labels)
return hvd.allreduce(torch.tensor(total / number, dtype=torch.float64)).item()
== own_loss: own-loss-only, metrics
loader.sampler.set_epoch(epoch)
model.train()
total = number = 0
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total, number = total + loss.item() * len(labels), number + len(labels)
return total / number
== rank_0s_loss: rank-0s-loss, metrics on rank 0
loader.sampler.set_epoch(epoch)
model.train()
total = number = 0
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total, number = total + loss.item() * len(labels), number + len(labels)
return hvd.broadcast_object(total / number)
== sum_of_ranks: sum-for-mean, average
loader.sampler.set_epoch(epoch)
model.train()
total = number = 0
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total, number = total + loss.item() * len(labels), number + len(labels)
return hvd.allreduce(torch.tensor(total / number, dtype=torch.float64), op=hvd.Sum).item()
== no_set_epoch: epoch-not-told, set_epoch missing
model.train()
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== set_epoch_afterwards: epoch-told-late, set_epoch missing
model.train()
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
loader.sampler.set_epoch(epoch)
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== set_epoch_0: epoch-not-told, set_epoch
model.train()
loader.sampler.set_epoch(0)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== eval_mode: not-train-mode, modes
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== no_zero_grad: gradient-carried-over, zero_grad
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== zeroed_before_the_step: not-trained, zero_grad
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== no_step: not-trained, zero_grad
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    optimizer.zero_grad()
    loss = cross_entropy(model(inputs), labels)
    loss.backward()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== loss_after_the_step: shown-twice, last batch
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    optimizer.zero_grad()
    cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    loss = cross_entropy(model(inputs), labels)
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== one_step_an_epoch: wrong-training, zero_grad
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
optimizer.zero_grad()
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    loss.backward()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
optimizer.step()
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== loss_summed_over_the_batch: wrong-training, last batch
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels, reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item(), len(labels)])
total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== only_rank_0: collective-on-some-ranks, subset of ranks
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
if hvd.rank() == 0:
    total = hvd.allreduce(total)
return (total[0] / total[1]).item()
== divided_by_the_set: wrong-divisor, mean of means
model.train()
loader.sampler.set_epoch(epoch)
total = torch.tensor(0.0, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item() * len(labels)
return hvd.allreduce(total, op=hvd.Sum).item() / len(loader.dataset)
== last_batch_only: wrong-loss, last batch
model.train()
loader.sampler.set_epoch(epoch)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
return hvd.allreduce(loss.detach()).item()
== tensor_returned: not-a-float, metrics
model.train()
loader.sampler.set_epoch(epoch)
total = torch.zeros(2, dtype=torch.float64)
for inputs, labels in loader:
    loss = cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += torch.tensor([loss.item() * len(labels), len(labels)])
total = hvd.allreduce(total)
return total[0] / total[1]
""",
    ),
    "train": train_mistakes(
        (
            "no_broadcast",
            "no-broadcast",
            "no broadcast",
            changed(WHOLE, ("synchronize_start(model, optimizer)\n", "")),
        ),
        (
            "broadcast_on_rank_0",
            "collective-on-some-ranks",
            "rank 0 only",
            changed(WHOLE, ("synchronize_start(", "if hvd.rank() == 0:\n    synchronize_start(")),
        ),
        (
            "parameters_only",
            "buffers-not-broadcast",
            "batch norm",
            changed(
                WHOLE,
                ("synchronize_start(model, optimizer)", "hvd.broadcast_parameters(list(model.named_parameters()), 0)"),
            ),
        ),
        (
            "scaled_twice",
            "lr-scaled-twice",
            "learning rate",
            changed(WHOLE, ("make_optimizer(model, lr)", "make_optimizer(model, lr * hvd.size())")),
        ),
        (
            "own_optimizer_not_scaled",
            "lr-not-scaled",
            "why scale",
            changed(
                OWN,
                (
                    "optimizer = make_optimizer(model, lr)",
                    "optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)\n"
                    "optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())",
                ),
            ),
        ),
        (
            "own_optimizer_not_wrapped",
            "not-wrapped",
            "not wrapped",
            changed(
                OWN,
                (
                    "optimizer = make_optimizer(model, lr)",
                    "optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)",
                ),
            ),
        ),
        (
            "whole_set_on_every_rank",
            "whole-set-on-every-rank",
            "replicated",
            changed(
                OWN,
                (
                    "make_loader(train_set, batch_size, seed)",
                    "DataLoader(train_set, batch_size=batch_size, shuffle=True)",
                ),
                ("    loader.sampler.set_epoch(epoch)\n", ""),
            ),
        ),
        (
            "no_set_epoch",
            "same-order-every-epoch",
            "set_epoch missing",
            changed(OWN, ("    loader.sampler.set_epoch(epoch)\n", "")),
        ),
        (
            "own_loss",
            "own-loss-only",
            "metrics",
            changed(OWN, ("    total = hvd.allreduce(total)\n", "")),
        ),
        (
            "all_ranks_write",
            "all-ranks-write",
            "all write",
            changed(WHOLE, ("    if hvd.rank() == 0:\n        torch.save", "    torch.save")),
        ),
        (
            "local_rank_0_writes",
            "all-ranks-write",
            "local rank 0 writes",
            changed(WHOLE, ("if hvd.rank() == 0", "if hvd.local_rank() == 0")),
        ),
        (
            "last_rank_writes",
            "wrong-rank-writes",
            "all write",
            changed(WHOLE, ("if hvd.rank() == 0", "if hvd.rank() == hvd.size() - 1")),
        ),
        (
            "written_at_the_end",
            "not-each-epoch",
            "checkpoint",
            changed(WHOLE, ("    if hvd.rank() == 0:\n        torch.save", "if hvd.rank() == 0:\n    torch.save")),
        ),
        (
            "another_name",
            "no-file",
            "checkpoint",
            changed(WHOLE, ("}, checkpoint)", '}, f"{checkpoint}.{epoch}")')),
        ),
        (
            "bare_state",
            "no-model-in-checkpoint",
            "checkpoint",
            changed(WHOLE, ('{"model": model.state_dict()}', "model.state_dict()")),
        ),
        (
            "written_before_the_epoch",
            "not-each-epoch",
            "checkpoint",
            changed(
                WHOLE,
                (SAVE, ""),
                (
                    "    began = time.perf_counter()\n",
                    '    began = time.perf_counter()\n    if hvd.rank() == 0:\n        torch.save({"model": '
                    "model.state_dict()}, checkpoint)\n",
                ),
            ),
        ),
        (
            "evaluated_on_rank_0",
            "collective-on-some-ranks",
            "metrics on rank 0",
            changed(
                WHOLE,
                (
                    "accuracy = evaluate(model, test_set, device)",
                    "accuracy = evaluate(model, test_set, device) if hvd.rank() == 0 else 0.0",
                ),
            ),
        ),
        (
            "accuracy_before_the_epoch",
            "accuracy-before-epoch",
            "modes",
            changed(
                WHOLE,
                ("    accuracy = evaluate(model, test_set, device)\n", ""),
                (
                    "    loss = train_epoch",
                    "    accuracy = evaluate(model, test_set, device)\n    loss = train_epoch",
                ),
            ),
        ),
        (
            "accuracy_on_the_train_set",
            "accuracy-on-train-set",
            "modes",
            changed(WHOLE, ("evaluate(model, test_set, device)", "evaluate(model, train_set, device)")),
        ),
        (
            "epochs_from_1",
            "wrong-epochs",
            "rate later",
            changed(WHOLE, ('"epoch": epoch,', '"epoch": epoch + 1,')),
        ),
        (
            "epochs_told_from_1",
            "epoch-numbers",
            "set_epoch",
            changed(WHOLE, ("optimizer, epoch, device", "optimizer, epoch + 1, device")),
        ),
        (
            "other_seed_on_each_rank",
            "seed-not-passed",
            "set_epoch differs",
            changed(WHOLE, ("batch_size, seed)", "batch_size, seed + hvd.rank())")),
        ),
        (
            "batch_size_divided",
            "batch-size-not-passed",
            "batch size",
            changed(WHOLE, ("train_set, batch_size, seed", "train_set, max(1, batch_size // hvd.size()), seed")),
        ),
        (
            "history_on_rank_0",
            "no-history",
            "metrics on rank 0",
            changed(WHOLE, ("return history", "return history if hvd.rank() == 0 else None")),
        ),
        (
            "only_losses",
            "no-history",
            "metrics",
            changed(WHOLE, ("return history", 'return [entry["loss"] for entry in history]')),
        ),
        (
            "seconds_forgotten",
            "wrong-keys",
            "metrics",
            changed(WHOLE, (', "seconds": seconds}', "}")),
        ),
        (
            "rank_0s_seconds_since_the_start",
            "wrong-seconds",
            "metrics",
            changed(
                WHOLE,
                ("    began = time.perf_counter()\n", ""),
                ("history = []\n", "history = []\nbegan = time.perf_counter()\n"),
            ),
        ),
    ),
    "batch_run": wrong(
        BATCH_RUN,
        """
== whole_batch_on_each_rank: batch-per-rank, whole batch
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64, 0.06 / hvd.size(), 0, checkpoint)
== longer_steps: lr-per-rank, same batch
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // hvd.size(), 0.06, 0, checkpoint)
== one_process_s_settings: batch-per-rank, effective batch
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64, 0.06, 0, checkpoint)
== for_four_ranks: wrong-batch-size, effective batch
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 16, 0.015, 0, checkpoint)
== scaled_up: wrong-lr, learning rate
size = hvd.size()
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 * size, 0, checkpoint)
== local_size: wrong-batch-size, local size
size = max(1, hvd.local_size() // 2)
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / hvd.size(), 0, checkpoint)
== a_float: wrong-batch-size, batch size
size = hvd.size()
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 / size, 0.06 / size, 0, checkpoint)
== a_seed_of_its_own: wrong-seed, set_epoch differs
size, rank = hvd.size(), hvd.rank()
return train(digit_model(rank), train_set, test_set, epochs, 64 // size, 0.06 / size, rank, checkpoint)
== another_model: other-start, no broadcast
size = hvd.size()
return train(digit_model(size - 1), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
== sets_swapped: other-sets, modes
size = hvd.size()
return train(digit_model(hvd.rank()), test_set, train_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
== one_epoch_less: wrong-epochs, rate later
size = hvd.size()
return train(digit_model(hvd.rank()), train_set, test_set, epochs - 1, 64 // size, 0.06 / size, 0, checkpoint)
== another_file: other-checkpoint, checkpoint
size = hvd.size()
return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, "digits.pt")
== history_on_rank_0: other-history, metrics on rank 0
size = hvd.size()
history = train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
return history if hvd.rank() == 0 else None
== nothing_returned: other-history, metrics
size = hvd.size()
train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
== only_rank_0: train-not-called, rank 0 only
size = hvd.size()
if hvd.rank() == 0:
    return train(digit_model(0), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
""",
    ),
}
