"""Right answers to `train_step`, and mistakes that people make."""

ANSWERS = r"""
import contextlib
import torch
import torch.distributed as dist
def train_step(model, micro_batches, optimizer, loss_fn):
== tokens_first
    device, size = next(model.parameters()).device, dist.get_world_size()
    tokens = torch.tensor(sum(int((out != PAD).sum()) for _, _, out in micro_batches), device=device)
    dist.all_reduce(tokens)
    model.train()
    optimizer.zero_grad()
    total = torch.zeros((), device=device)
    for i, (src, tgt_in, tgt_out) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else model.no_sync():
            loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            (loss * size / tokens).backward()
        total += loss.detach()
    optimizer.step()
    dist.all_reduce(total)
    return (total / tokens).item()
== mean_of_its_own_times_its_share < tokens_first
* size / tokens >>> / (tgt_out != PAD).sum() * (tgt_out != PAD).sum() / tokens * size
== by_exit_stack < tokens_first
with contextlib.nullcontext() if last else model.no_sync(): >>> with contextlib.ExitStack() as stack:
loss = loss_fn >>> if not last:\n                stack.enter_context(model.no_sync())\n            loss = loss_fn
== last_one_apart
import torch
import torch.distributed as dist
def train_step(model, micro_batches, optimizer, loss_fn):
    def run(src, tgt_in, tgt_out):
        loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
        loss.backward()
        return torch.stack([loss.detach(), (tgt_out.to(device) != PAD).sum()])
    model.train()
    device = next(model.parameters()).device
    model.zero_grad()
    *most, last = micro_batches
    with model.no_sync():
        sums = [run(*batch) for batch in most]
    totals = torch.stack([*sums, run(*last)]).sum(0)
    dist.all_reduce(totals)
    loss, tokens = totals.tolist()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.mul_(dist.get_world_size() / tokens)
    optimizer.step()
    return loss / tokens
== gradients_set_to_zero_and_tokens_of_tgt_in < tokens_first
(out != PAD).sum()) for _, _, out >>> (src != PAD).sum()) for _, src, _
zero_grad() >>> zero_grad(set_to_none=False)
== gathered < tokens_first
dist.all_reduce(tokens) >>> parts = [torch.zeros_like(tokens) for _ in range(size)]\n    dist.all_gather(parts, tokens)
model.train() >>> tokens = sum(parts)\n    model.train()
== by_the_part_before
    model.train()
    optimizer.zero_grad()
    loss, tokens = accumulate_gradients(model, micro_batches, loss_fn)
    totals = torch.tensor([loss, tokens], dtype=torch.float64, device=next(model.parameters()).device)
    dist.all_reduce(totals)
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad *= dist.get_world_size() / totals[1].item()
    optimizer.step()
    return (totals[0] / totals[1]).item()
== inputs_moved_by_the_wrapper < tokens_first
model(src.to(device), tgt_in.to(device)) >>> model(src, tgt_in)
== clipped: wrong-weights, clipping < by_the_part_before
optimizer.step() >>> torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()
== clipped_before_it_is_scaled: wrong-weights, clipping < by_the_part_before
loss, tokens = accumulate_gradients(model, micro_batches, loss_fn) >>> loss, tokens = accumulate_gradients(model, micro_batches, loss_fn)\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
== stays_on_the_cpu: not-on-device, not moved < tokens_first
loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device)) >>> loss_fn(model(src, tgt_in), tgt_out)
== totals_on_the_cpu: not-on-device, cpu collective < solution
, device=device >>>
== guarded_by_requires_grad < by_the_part_before
-        if parameter.grad is not None:
-            parameter.grad *= dist.get_world_size() / totals[1].item()
+        if parameter.requires_grad:
+            parameter.grad *= dist.get_world_size() / totals[1].item()
== rate_scaled: sum-not-mean, normalisation < by_the_part_before
-    for parameter in model.parameters():
-        if parameter.grad is not None:
-            parameter.grad *= dist.get_world_size() / totals[1].item()
-    optimizer.step()
+    factor = dist.get_world_size() / totals[1].item()
+    for group in optimizer.param_groups:
+        group["lr"] *= factor
+    optimizer.step()
+    for group in optimizer.param_groups:
+        group["lr"] /= factor
== rate_for_all_ranks: rate-changed, linear scaling < by_the_part_before
optimizer.step() >>> for group in optimizer.param_groups:\n        group["lr"] = 0.3\n    optimizer.step()
== not_scaled: sum-not-mean, normalisation < by_the_part_before
-    for parameter in model.parameters():
-        if parameter.grad is not None:
-            parameter.grad *= dist.get_world_size() / totals[1].item()
== scaled_by_its_own_tokens: divided-by-own-items, tokens of all ranks < by_the_part_before
totals[1].item() >>> tokens
== divided_by_all_tokens_only: world-size-lost, tokens of all ranks < by_the_part_before
dist.get_world_size() / totals[1].item() >>> 1 / totals[1].item()
== ten_allreduces_for_one: synchronised-every-micro-batch, no_sync < tokens_first
 if last else model.no_sync() >>>
== no_sync_around_backward_only: no-sync-around-backward-only, backward only < tokens_first
\n            loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device)) >>>
with contextlib >>> loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))\n        with contextlib
== no_sync_on_every_step: never-synchronised, needs a last sync < tokens_first
contextlib.nullcontext() if last else model >>> model
== no_sync_around_forward_of_the_last: never-synchronised, when to sync < tokens_first
else >>> and False else
== synchronised_on_the_first: synchronised-too-early, when to sync < tokens_first
len(micro_batches) - 1 >>> 0
== forward_through_module: forward-through-module, module < tokens_first
loss_fn(model >>> loss_fn(model.module
== gradients_reduced_by_hand: synchronised-by-hand, traps < tokens_first
contextlib.nullcontext() if last else model >>> model

=        total += loss.detach()
+    for p in model.parameters():
+        if p.grad is not None:
+            dist.all_reduce(p.grad)
+            p.grad /= size
== rank_0_gradient_broadcast: synchronised-by-hand, traps < gradients_reduced_by_hand
dist.all_reduce(p.grad)\n            p.grad /= size >>> dist.broadcast(p.grad, 0)
== rank_0_loss_only: one-ranks-gradient, traps < tokens_first
size / tokens >>> size / tokens * (dist.get_rank() == 0)
== gradients_summed: gradients-summed, traps < tokens_first
(loss * size / >>> (loss * size * size /
== world_size_lost: world-size-lost, tokens of all ranks < tokens_first
loss * size / tokens >>> loss / tokens
== mean_of_rank_means: mean-of-rank-means, tokens of all ranks < world_size_lost
\n    dist.all_reduce(tokens) >>>
dist.all_reduce(total) >>> dist.all_reduce(total)\n    total /= size\n    every = tokens.clone()
return (total / tokens) >>> dist.all_reduce(every)\n    return (total * size / every)
== mean_of_micro_batch_means: mean-of-micro-batch-means, tokens of all micro-batches < tokens_first
* size / tokens >>> / (tgt_out != PAD).sum() / len(micro_batches)
== not_divided_by_micro_batches: micro-batches-not-averaged, not by accumulation < tokens_first
* size / tokens >>> / (tgt_out != PAD).sum()
== sum_over_tokens: sum-not-mean, normalisation < tokens_first
(loss * size / tokens) >>> loss
== padding_counted: padding-counted, tokens of all micro-batches < tokens_first
int((out != PAD).sum()) >>> out.numel()
== padding_counted_on_each_rank: padding-counted, tokens of all micro-batches < tokens_first
* size / tokens >>> / sum(out.numel() for _, _, out in micro_batches)
== zero_grad_missing: gradient-carried-over, not by accumulation < tokens_first
\n    optimizer.zero_grad() >>>
== zero_grad_after_the_step: gradient-carried-over, not by accumulation < zero_grad_missing
optimizer.step() >>> optimizer.step()\n    optimizer.zero_grad()
== zero_grad_for_each_micro_batch: one-micro-batch-only, not by accumulation < zero_grad_missing
last = >>> optimizer.zero_grad()\n        last =
== zero_grad_before_the_step: no-step, not by accumulation < zero_grad_missing
optimizer.step() >>> optimizer.zero_grad()\n    optimizer.step()
== step_for_each_micro_batch: several-steps, not by accumulation < tokens_first
\n    optimizer.step() >>>
total += >>> optimizer.step()\n        total +=
== one_graph_for_all: all-at-once, one graph < ten_allreduces_for_one
\n            (loss * size / tokens).backward() >>>
total += loss.detach() >>> total = total + loss\n    (total * size / tokens).backward()\n    total = total.detach()
== eval_mode: not-train-mode, docs < tokens_first
\n    model.train() >>>
== tokens_for_each_micro_batch: too-many-reductions, tokens of all ranks < tokens_first
last = >>> dist.all_reduce((tgt_out != PAD).sum().to(device))\n        last =
== loss_of_one_rank: own-part-only, tokens of all ranks < tokens_first
\n    dist.all_reduce(total) >>>
total / tokens >>> total / sum(int((out != PAD).sum()) for _, _, out in micro_batches)
== loss_mean_of_means: mean-of-means, tokens of all ranks < tokens_first
dist.all_reduce(total) >>> total /= sum(int((out != PAD).sum()) for _, _, out in micro_batches)\n    dist.all_reduce(total)
total / tokens >>> total / size
== loss_with_padding: mean-with-padding, tokens of all micro-batches < tokens_first
dist.all_reduce(tokens) >>> dist.all_reduce(tokens)\n    places = torch.tensor(sum(out.numel() for _, _, out in micro_batches), device=device)
model.train() >>> dist.all_reduce(places)\n    model.train()
total / tokens >>> total / places
== last_loss: last-loss-only, normalisation < tokens_first
total += >>> total =
== multiplied_by_the_tokens: wrong-value, normalisation < tokens_first
total / tokens >>> total * tokens
== tensor_returned: not-a-float, normalisation < tokens_first
(total / tokens).item() >>> total / tokens
== nothing_returned: no-number, normalisation < tokens_first
(total / tokens).item() >>> None
== only_rank_0_counts: dtype-differs, ranks leave < tokens_first
dist.all_reduce(tokens) >>> if dist.get_rank() == 0:\n        dist.all_reduce(tokens)
"""
