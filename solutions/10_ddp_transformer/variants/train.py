"""Right answers to `train`, and mistakes that people make."""

ANSWERS = r"""
import os
from itertools import islice
import torch
import torch.distributed as dist
def train(model, loader, optimizer, loss_fn, epochs, accumulate, checkpoint):
    device, losses = next(model.parameters()).device, []
== plain
    for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
        loader.sampler.set_epoch(epoch)
        batches = list(loader)
        for start in range(0, len(batches), accumulate):
            losses.append(train_step(model, batches[start : start + accumulate], optimizer, loss_fn))
        save_checkpoint(checkpoint, model, optimizer, epoch)
    return losses
== step_by_step
    for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
        loader.sampler.set_epoch(epoch)
        waiting = []
        for number, batch in enumerate(loader, 1):
            waiting.append(batch)
            if len(waiting) == accumulate or number == len(loader):
                losses.append(train_step(model, waiting, optimizer, loss_fn))
                waiting = []
        save_checkpoint(checkpoint, model, optimizer, epoch)
    return losses
== slices
    epoch = load_checkpoint(checkpoint, model=model, optimizer=optimizer, device=device)
    if epoch >= epochs:
        return losses
    while epoch < epochs:
        loader.sampler.set_epoch(epoch)
        batches = iter(loader)
        while part := list(islice(batches, accumulate)):
            losses += [train_step(model=model, micro_batches=part, optimizer=optimizer, loss_fn=loss_fn)]
        save_checkpoint(path=checkpoint, model=model, optimizer=optimizer, epoch=epoch)
        epoch += 1
    return losses
== all_by_itself < plain
-    for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
+    from contextlib import nullcontext
+    first = 0
+    if os.path.exists(checkpoint):
+        state = torch.load(checkpoint, map_location=device)
+        model.module.load_state_dict(state["model"])
+        optimizer.load_state_dict(state["optimizer"])
+        first = state["epoch"] + 1
+    for epoch in range(first, epochs):

-            losses.append(train_step(model, batches[start : start + accumulate], optimizer, loss_fn))
-        save_checkpoint(checkpoint, model, optimizer, epoch)
+            part = batches[start : start + accumulate]
+            totals = torch.zeros(2, dtype=torch.float64, device=device)
+            totals[1] = sum(int((out != PAD).sum()) for _, _, out in part)
+            dist.all_reduce(totals)
+            optimizer.zero_grad()
+            for number, (src, tgt_in, tgt_out) in enumerate(part, 1):
+                with nullcontext() if number == len(part) else model.no_sync():
+                    loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
+                    (loss * dist.get_world_size() / totals[1]).backward()
+                totals[0] += loss.detach() / totals[1]
+            optimizer.step()
+            dist.all_reduce(totals)
+            losses.append(float(totals[0]))
+        if dist.get_rank() == 0:
+            kept = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
+            torch.save(kept, checkpoint + ".part")
+            os.replace(checkpoint + ".part", checkpoint)
+        dist.barrier()
== no_set_epoch: sampler-not-told, set_epoch < plain
\n        loader.sampler.set_epoch(epoch) >>>
== set_epoch_afterwards: set-epoch-late, set_epoch < no_set_epoch
save_checkpoint >>> loader.sampler.set_epoch(epoch)\n        save_checkpoint
== set_epoch_counts_anew: set-epoch-from-0, set_epoch < plain
for epoch in range(load_checkpoint >>> for number, epoch in enumerate(range(load_checkpoint
, epochs): >>> , epochs)):
set_epoch(epoch) >>> set_epoch(number)
== set_epoch_from_1: epoch-shifted, set_epoch < plain
set_epoch(epoch) >>> set_epoch(epoch + 1)
== not_resumed: not-resumed, not resumed < plain
load_checkpoint(checkpoint, model, optimizer, device), epochs >>> epochs
== loaded_but_from_0: not-resumed, not resumed < not_resumed
for epoch >>> load_checkpoint(checkpoint, model, optimizer, device)\n    for epoch
== as_many_more: epochs-counted-anew, epochs added < plain
-    for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
+    first = load_checkpoint(checkpoint, model, optimizer, device)
+    for epoch in range(first, first + epochs):
== last_epoch_again: epoch-repeated, epoch repeated < as_many_more
range(first, first + epochs) >>> range(max(0, first - 1), epochs)
== one_skipped: epoch-skipped, continue at n + 1 < as_many_more
range(first, first + epochs) >>> range(first + 1 if first else 0, epochs)
== set_epoch_once: sampler-not-told, same order < as_many_more
\n        loader.sampler.set_epoch(epoch) >>>
for epoch in range(first, first + epochs) >>> loader.sampler.set_epoch(first)\n    for epoch in range(first, epochs)
== momentum_forgotten: optimizer-not-loaded, momentum lost < as_many_more
for epoch in range(first, first + epochs) >>> optimizer.state.clear()\n    for epoch in range(first, epochs)
== epoch_from_the_file_only: state-not-loaded, not resumed < as_many_more
load_checkpoint(checkpoint, model, optimizer, device) >>> torch.load(checkpoint)["epoch"] + 1 if os.path.exists(checkpoint) else 0
range(first, first + epochs) >>> range(first, epochs)
== at_the_end: not-each-epoch, no epoch < as_many_more
range(first, first + epochs) >>> range(first, epochs)
    save_checkpoint(checkpoint, model, optimizer, epoch) >>> if first < epochs:\n        save_checkpoint(checkpoint, model, optimizer, epochs - 1)
== one_at_least: trains-when-done, one epoch at least < plain
for epoch in range(load_checkpoint >>> epoch = load_checkpoint
, epochs): >>> \n    while True:
    return losses >>>         epoch += 1\n        if epoch >= epochs:\n            return losses
== leftovers_dropped: leftovers-dropped, leftover dropped < step_by_step
number, batch in enumerate(loader, 1) >>> batch in loader
accumulate or number == len(loader) >>> accumulate
== leftovers_carried: leftovers-carried, leftover carried < leftovers_dropped
        waiting = []\n        for batch >>>         for batch
for epoch >>> waiting = []\n    for epoch
== leftovers_dropped_by_count: leftovers-dropped, tail group < plain
list(loader) >>> iter(loader)
start in range(0, len(batches), accumulate) >>> _ in range(len(loader) // accumulate)
batches[start : start + accumulate] >>> [next(batches) for _ in range(accumulate)]
== one_step_too_many: raised, tail group < plain
len(batches), accumulate >>> len(batches) + 1, accumulate
== accumulate_ignored: not-accumulated, tail group < plain
\n        batches = list(loader) >>>
start in range(0, len(batches), accumulate) >>> batch in loader
batches[start : start + accumulate] >>> [batch]
== whole_epoch: one-step-an-epoch, tail group < accumulate_ignored
for batch in loader:\n            losses >>> losses
[batch] >>> list(loader)
== no_checkpoint: nothing-written, no epoch < plain
\n        save_checkpoint(checkpoint, model, optimizer, epoch) >>>
== before_the_epoch: not-each-epoch, off by one < no_checkpoint
batches = >>> save_checkpoint(checkpoint, model, optimizer, epoch)\n        batches =
== after_each_step: unfinished-epoch-saved, no epoch < plain
optimizer, loss_fn)) >>> optimizer, loss_fn))\n            save_checkpoint(checkpoint, model, optimizer, epoch)
        save_checkpoint(checkpoint, model, optimizer, epoch)\n    return >>>     return
== says_the_next_epoch: epoch-off-by-one, off by one < plain
optimizer, epoch) >>> optimizer, epoch + 1)
== saved_by_rank_0: save-on-rank-0, save on rank 0 < plain
save_checkpoint >>> if dist.get_rank() == 0:\n            save_checkpoint
== last_epochs_losses: last-epoch-only, no epoch < plain
loader.sampler >>> losses = []\n        loader.sampler
== mean_of_each_epoch: losses-per-epoch, no epoch < last_epochs_losses
for epoch >>> means = []\n    for epoch
save_checkpoint >>> means.append(sum(losses) / len(losses))\n        save_checkpoint
return losses >>> return means
== nothing_returned: another-kind, no epoch < plain
\n    return losses >>>
== tensors: another-kind, no epoch < plain
return losses >>> return [torch.tensor(loss, dtype=torch.float64) for loss in losses]
== running_mean: another-value, no epoch < plain
return losses >>> return [sum(losses[: number + 1]) / (number + 1) for number in range(len(losses))]
"""
