"""Right answers to `train`, and mistakes that people make."""

ANSWERS = """
== with_a_step_function
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
def train(model, dataset, epochs, batch_size, lr, seed, device):
    ranks = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    me = dist.get_rank() if ranks > 1 else 0
    sampler = DistributedSampler(dataset, num_replicas=ranks, rank=me, shuffle=True, seed=seed)
    loader = DataLoader(dataset, batch_size=batch_size // ranks, sampler=sampler)
    model = model.to(device)
    ids = [device.index] if device.type == "cuda" else None
    called = DDP(model, device_ids=ids) if dist.is_initialized() else model
    optimizer = torch.optim.SGD(called.parameters(), lr=lr, momentum=0.9)
    def step(x, y):
        loss = F.cross_entropy(called(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item() * len(y), len(y)
    called.train()
    history = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen = [step(x, y) for x, y in loader]
        total = torch.tensor([sum(each) for each in zip(*seen)], device=device)
        if dist.is_initialized():
            dist.all_reduce(total)
        history.append((total[0] / total[1]).item())
    return history
== all_losses_at_the_end < with_a_step_function
-        total = torch.tensor([sum(each) for each in zip(*seen)], device=device)
-        if dist.is_initialized():
-            dist.all_reduce(total)
-        history.append((total[0] / total[1]).item())
-    return history
+        history.append([sum(each) for each in zip(*seen)])
+    total = torch.tensor(history, dtype=torch.float64, device=device)
+    if dist.is_initialized():
+        dist.all_reduce(total)
+    return (total[:, 0] / total[:, 1]).tolist()
== gathered_as_objects < with_a_step_function
-        total = torch.tensor([sum(each) for each in zip(*seen)], device=device)
-        if dist.is_initialized():
-            dist.all_reduce(total)
-        history.append((total[0] / total[1]).item())
+        everyone = [[sum(each) for each in zip(*seen)]] * ranks
+        if dist.is_initialized():
+            dist.all_gather_object(everyone, everyone[0])
+        history.append(sum(each[0] for each in everyone) / sum(each[1] for each in everyone))
== by_hand_with_views < with_a_step_function
-    called = DDP(model, device_ids=ids) if dist.is_initialized() else model
-    optimizer = torch.optim.SGD(called.parameters(), lr=lr, momentum=0.9)
+    called = DDP(model, device_ids=ids, gradient_as_bucket_view=True) if dist.is_initialized() else model
+    moving = {}

-        optimizer.zero_grad()
-        loss.backward()
-        optimizer.step()
+        called.zero_grad()
+        loss.backward()
+        with torch.no_grad():
+            for name, each in model.named_parameters():
+                if each.grad is not None:
+                    moving[name] = each.grad + 0.9 * moving[name] if name in moving else each.grad.clone()
+                    each -= lr * moving[name]
== whole_batch_each: batch-size-on-each-rank, batch < solution
batch_size // size >>> batch_size
== scaled_lr: lr-scaled, scaling < solution
SGD(model.parameters(), lr, >>> SGD(model.parameters(), lr * size,
== divided_lr: lr-divided, batches < solution
SGD(model.parameters(), lr, >>> SGD(model.parameters(), lr / size,
== past_the_wrapper: wrapper-not-called, wrapper < solution
cross_entropy(wrapper( >>> cross_entropy(model(
== never_alone: not-alone, ddp < solution
in_group = dist.is_initialized() >>> in_group = True
== from_environ: alone-by-environment, ddp < solution
size, rank = (dist.get_world_size(), dist.get_rank()) if in_group else (1, 0) >>> import os\\n    size, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
== no_set_epoch: same-epoch-again, epoch < solution
        sampler.set_epoch(epoch)\\n >>>
== from_one: epochs-from-one, epoch < solution
set_epoch(epoch) >>> set_epoch(epoch + 1)
== own_loss: own-part-only, means < solution
        if in_group:\\n            dist.all_reduce(sums)\\n >>>
== reduced_on_rank_0: called-by-some, means < solution
        if in_group: >>>         if in_group and rank == 0:
== loss_after_step: losses-after-steps, means < solution
            sums[0] += loss.detach() * len(labels) >>>             sums[0] += cross_entropy(wrapper(inputs.to(device)).detach(), labels.to(device)) * len(labels)
== loss_after_the_step: losses-after-steps, means < with_a_step_function
        return loss.item() * len(y), len(y) >>>         return F.cross_entropy(model.eval()(x.to(device)), y.to(device)).item() * len(y), len(model.train()(x.to(device)))
== full_batches: short-batch-as-full, means < solution
sums[0] += loss.detach() * len(labels) >>> sums[0] += loss.detach() * (batch_size // size)
== trained_copy: another-object-trained, ddp < solution
import torch\\nimport >>> import copy\\nimport torch\\nimport
    model.to(device).train() >>>     given = model.to(device)\\n    model = copy.deepcopy(given).train()
== mean_of_batches: mean-of-means, means < solution
sums[0] += loss.detach() * len(labels) >>> sums[0] += loss.detach()
sums[1] += len(labels) >>> sums[1] += 1
== last_loss: last-batch-loss, means < solution
sums[0] += loss.detach() * len(labels) >>> sums[0] = loss.detach() * len(labels)
sums[1] += len(labels) >>> sums[1] = len(labels)
== wrapped_each_epoch: wrapped-again, ddp < solution
-        sampler.set_epoch(epoch)
+        sampler.set_epoch(epoch)
+        if in_group:
+            wrapper = DistributedDataParallel(model)
== averaged_again: exchanged-by-hand, ddp < solution
-            optimizer.step()
+            for each in model.parameters() if in_group else ():
+                if each.grad is not None:
+                    dist.all_reduce(each.grad)
+                    each.grad /= size
+            optimizer.step()
== by_hand: not-wrapped, ddp < averaged_again
wrapper = DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None) >>> wrapper = model
== not_wrapped: not-wrapped, ddp < solution
wrapper = DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None) >>> wrapper = model
== ids_everywhere: ids-without-gpu, ddp < solution
[device] if device.type == "cuda" else None >>> [device]
== everything_everywhere: not-shared, sampler < solution
DistributedSampler(dataset, size, rank, seed=seed) >>> DistributedSampler(dataset, 1, 0, seed=seed)
== by_local_rank: shared-by-local-rank, sampler < solution
import torch\\nimport >>> import os\\nimport torch\\nimport
DistributedSampler(dataset, size, rank, seed=seed) >>> DistributedSampler(dataset, size, int(os.environ.get("LOCAL_RANK", 0)), seed=seed)
== in_order: in-their-own-order, sampler < solution
seed=seed) >>> shuffle=False)
== default_seed: other-seed, sampler < solution
size, rank, seed=seed >>> size, rank
== dropped_batch: short-batch-dropped, sampler < solution
sampler=sampler) >>> sampler=sampler, drop_last=True)
== dropped_samples: samples-dropped, sampler < solution
seed=seed) >>> seed=seed, drop_last=True)
== plain_sgd: no-momentum, ddp < solution
, momentum=0.9 >>>
== nesterov: nesterov-momentum, ddp < solution
momentum=0.9 >>> momentum=0.9, nesterov=True
== new_optimizer: momentum-lost, ddp < solution
-        sampler.set_epoch(epoch)
+        sampler.set_epoch(epoch)
+        optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)
== never_zeroed: gradient-carried-over, ddp < solution
            optimizer.zero_grad()\\n >>>
== summed: sum-not-mean, ddp < solution
-            loss.backward()
+            (loss * len(labels)).backward()
== no_step: no-step, ddp < solution
            optimizer.step()\\n >>>
== evaluating: not-train-mode, ddp < solution
.train() >>> .eval()
== as_it_came: not-train-mode, ddp < solution
.train() >>>
== prints_only: losses-missing, ddp < solution
    return losses >>>     print(losses)
== left_on_the_cpu: not-on-device, ddp < solution
labels.to(device) >>> labels
== model_not_moved: not-on-device, ddp < solution
model.to(device).train() >>> model.train()
== moved_too_late: not-on-device, ddp < solution
-    model.to(device).train()
+    model.train()

-    losses = []
+    losses = []
+    model.to(device)
== sums_on_the_cpu: not-on-device, ddp < solution
sums = torch.zeros(2, dtype=torch.float64, device=device) >>> sums = torch.zeros(2, dtype=torch.float64)
"""
