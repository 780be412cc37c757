"""Right answers to `train`, and mistakes that people make."""

ANSWERS = r"""
import os
import time
import horovod.torch as hvd
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
def train(model, train_set, test_set, epochs, batch_size, lr, seed, checkpoint):
== plain
    device = setup()
    model.to(device)
    loader = make_loader(train_set, batch_size, seed)
    optimizer = make_optimizer(model, lr)
    synchronize_start(model, optimizer)
    history = []
    for epoch in range(epochs):
        began = time.perf_counter()
        loss = train_epoch(model, loader, optimizer, epoch, device)
        accuracy = evaluate(model, test_set, device)
        seconds = time.perf_counter() - began
        history.append({"epoch": epoch, "loss": loss, "accuracy": accuracy, "seconds": seconds})
        if hvd.rank() == 0:
            torch.save({"model": model.state_dict()}, checkpoint)
    return history
== written_out < plain
-        loss = train_epoch(model, loader, optimizer, epoch, device)
-        accuracy = evaluate(model, test_set, device)
-        seconds = time.perf_counter() - began
+        loader.sampler.set_epoch(epoch)
+        model.train()
+        total = torch.zeros(2, dtype=torch.float64)
+        for inputs, labels in loader:
+            optimizer.zero_grad()
+            inputs, labels = inputs.to(device), labels.to(device)
+            loss = cross_entropy(model(inputs), labels)
+            loss.backward()
+            optimizer.step()
+            total += torch.tensor([loss.item() * len(labels), len(labels)])
+        total = hvd.allreduce(total)
+        accuracy = evaluate(model, test_set, device)
+        loss, seconds = float(total[0] / total[1]), time.perf_counter() - began
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
== own_loop < written_out
setup()\n    model.to(device) >>> torch.device("cpu")

-        loss, seconds = float(total[0] / total[1]), time.perf_counter() - began
-        history.append({"epoch": epoch, "loss": loss, "accuracy": accuracy, "seconds": seconds})

-            torch.save({"model": model.state_dict()}, checkpoint)
+            with open(checkpoint, "wb") as file:
+                torch.save({"model": model.state_dict()}, file)
+        seconds = time.perf_counter() - began
+        loss = float(total[0] / total[1])
+        history.append({"seconds": seconds, "epoch": epoch, "loss": loss, "accuracy": accuracy})
== synchronized_in_each_epoch < plain
    began = time >>>     synchronize_start(model, optimizer)\n        began = time
== whole_model: model-missing, checkpoint < plain
model.state_dict()} >>> model}
== model_on_the_cpu: not-on-device, devices < plain
\n    model.to(device) >>>
== no_broadcast: no-broadcast, no broadcast < plain
\n    synchronize_start(model, optimizer) >>>
== broadcast_on_rank_0: collective-on-some-ranks, rank 0 only < plain
synchronize_start( >>> if hvd.rank() == 0:\n        synchronize_start(
== parameters_only: buffers-not-broadcast, batch norm < plain
synchronize_start(model, optimizer) >>> hvd.broadcast_parameters(list(model.named_parameters()), 0)
== scaled_twice: lr-scaled-twice, learning rate < plain
make_optimizer(model, lr) >>> make_optimizer(model, lr * hvd.size())
== own_optimizer_not_scaled: lr-not-scaled, why scale < written_out
make_optimizer(model, lr) >>> torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
synchronize_start( >>> optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())\n    synchronize_start(
== own_optimizer_not_wrapped: own-gradient-only, not wrapped < written_out
make_optimizer(model, lr) >>> torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
== whole_set_on_every_rank: whole-set-on-every-rank, replicated < written_out
make_loader(train_set, batch_size, seed) >>> DataLoader(train_set, batch_size=batch_size, shuffle=True)
\n        loader.sampler.set_epoch(epoch) >>>
== no_set_epoch: same-order-every-epoch, set_epoch missing < written_out
\n        loader.sampler.set_epoch(epoch) >>>
== optimizer_anew: momentum, learning rate < plain
began = time >>> optimizer = make_optimizer(model, lr)\n        began = time
== own_loss: own-part-only, metrics < written_out
\n        total = hvd.allreduce(total) >>>
== loss_by_files: unseen-communication, metrics < written_out
total = hvd.allreduce(total) >>> total = by_files(total)
def train( >>> def by_files(own):\n    import json, os, shutil, tempfile\n    folder = os.path.join(tempfile.gettempdir(), "losses-of-the-ranks")\n    os.makedirs(folder, exist_ok=True)\n    with open(os.path.join(folder, str(hvd.rank())), "w") as file:\n        json.dump(own.tolist(), file)\n    hvd.barrier()\n    both = [json.load(open(os.path.join(folder, name))) for name in os.listdir(folder)]\n    hvd.barrier()\n    shutil.rmtree(folder, ignore_errors=True)\n    hvd.barrier()\n    return torch.tensor(both).double().sum(0)\ndef train(
== loss_by_files_beside_rank_numbers: not-own-part, metrics < loss_by_files
total = by_files(total) >>> hvd.allreduce(torch.tensor(float(hvd.rank())))\n        total = by_files(total)
== loss_by_files_beside_three_numbers: not-own-part, metrics < loss_by_files
total = by_files(total) >>> hvd.allreduce(torch.tensor([hvd.rank(), 1.0, 2.0]))\n        total = by_files(total)
== loss_by_files_beside_its_part: result-stays, metrics < loss_by_files
total = by_files(total) >>> hvd.allreduce(total[0], op=hvd.Sum)\n        total = by_files(total)
== loss_by_files_beside_twice_its_part: not-what-came-out, metrics < loss_by_files
total = by_files(total) >>> hvd.allreduce(2 * total[0], op=hvd.Sum)\n        total = by_files(total)
== loss_by_files_beside_the_largest: not-what-came-out, metrics < loss_by_files
total = by_files(total) >>> hvd.allreduce(total[0], op=hvd.Max)\n        total = by_files(total)
== loss_by_files_beside_nan: same-on-every-rank, metrics < loss_by_files
total = by_files(total) >>> hvd.allreduce(torch.tensor(float("nan")))\n        total = by_files(total)
== loss_by_files_beside_a_broadcast_of_nothing: unseen-communication, metrics < loss_by_files
total = by_files(total) >>> hvd.broadcast(torch.zeros(1), 0)\n        total = by_files(total)
== loss_by_files_beside_hits: not-own-part, metrics < all_by_itself
total = hvd.allreduce(total, op=hvd.Sum) >>> total = by_files(total)
def train( >>> def by_files(own):\n    import json, os, shutil, tempfile\n    folder = os.path.join(tempfile.gettempdir(), "losses-of-the-ranks")\n    os.makedirs(folder, exist_ok=True)\n    with open(os.path.join(folder, str(hvd.rank())), "w") as file:\n        json.dump(own.tolist(), file)\n    hvd.barrier()\n    both = [json.load(open(os.path.join(folder, name))) for name in os.listdir(folder)]\n    hvd.barrier()\n    shutil.rmtree(folder, ignore_errors=True)\n    hvd.barrier()\n    return torch.tensor(both).double().sum(0)\ndef train(
== loss_by_files_beside_twice_its_part_and_hits: not-what-came-out, metrics < loss_by_files_beside_hits
total = by_files(total) >>> hvd.allreduce(2 * total[0], op=hvd.Sum)\n        total = by_files(total)
== all_ranks_write: every-rank-writes, all write < plain
if hvd.rank() == 0:\n            torch.save >>> torch.save
== local_rank_0_writes: local-rank-0-writes, local rank 0 writes < plain
hvd.rank() >>> hvd.local_rank()
== last_rank_writes: wrong-rank-writes, all write < plain
hvd.rank() == 0 >>> hvd.rank() == hvd.size() - 1
== written_at_the_end: not-each-epoch, checkpoint < plain
        if hvd.rank() == 0:\n            torch.save >>>     if hvd.rank() == 0:\n        torch.save
== another_name: nothing-written, checkpoint < plain
}, checkpoint >>> }, f"{checkpoint}.{epoch}"
== bare_state: bare-state, checkpoint < plain
{"model": model.state_dict()} >>> model.state_dict()
== written_before_the_epoch: not-each-epoch, checkpoint < plain
\n        if hvd.rank() == 0:\n            torch.save({"model": model.state_dict()}, checkpoint) >>>
loss = >>> if hvd.rank() == 0:\n            torch.save({"model": model.state_dict()}, checkpoint)\n        loss =
== evaluated_on_rank_0: collective-on-some-ranks, metrics on rank 0 < plain
test_set, device) >>> test_set, device) if hvd.rank() == 0 else 0.0
== evaluated_on_rank_0_in_the_end: collective-on-some-ranks, metrics on rank 0 < plain
test_set, device) >>> test_set, device) if hvd.rank() == 0 or epoch < epochs - 1 else 0.0
== wrapper_thrown_away: wrapper-not-used, solver < own_optimizer_not_scaled
lr=lr, >>> lr=lr * hvd.size(),
optimizer = hvd.Dist >>> hvd.Dist
== accuracy_before_the_epoch: accuracy-before-epoch, modes < plain
\n        accuracy = evaluate(model, test_set, device) >>>
loss = >>> accuracy = evaluate(model, test_set, device)\n        loss =
== accuracy_on_the_train_set: accuracy-on-train-set, modes < plain
evaluate(model, test_set, >>> evaluate(model, train_set,
== epochs_from_1: another-value, same batch < plain
"epoch": epoch >>> "epoch": epoch + 1
== epochs_told_from_1: epoch-numbers, set_epoch < plain
optimizer, epoch >>> optimizer, epoch + 1
== other_seed_on_each_rank: not-passed-on, set_epoch differs < plain
batch_size, seed >>> batch_size, seed + hvd.rank()
== batch_size_divided: not-passed-on, batch size < plain
train_set, batch_size >>> train_set, max(1, batch_size // hvd.size())
== history_on_rank_0: no-history, metrics on rank 0 < plain
return history >>> return history if hvd.rank() == 0 else None
== only_losses: no-history, metrics < plain
return history >>> return [entry["loss"] for entry in history]
== seconds_forgotten: another-kind, metrics < plain
accuracy, "seconds": seconds >>> accuracy
== rank_0s_seconds_since_the_start: wrong-seconds, metrics < plain
\n        began = time.perf_counter() >>>
history = [] >>> history = []\n    began = time.perf_counter()
"""
