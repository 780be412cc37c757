"""Right answers to `accumulate_gradients`, and mistakes that people make."""

ANSWERS = r"""
import contextlib
import torch
import torch.distributed as dist
def accumulate_gradients(model, micro_batches, loss_fn):
== last_one_outside
    device, loss, tokens = next(model.parameters()).device, 0.0, 0
    for i, (src, tgt_in, tgt_out) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else model.no_sync():
            part = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            part.backward()
        loss += part.item()
        tokens += int((tgt_out != PAD).sum())
    return loss, tokens
== last_one_apart
    def run(src, tgt_in, tgt_out):
        part = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
        part.backward()
        return torch.stack([part.detach(), (tgt_out != PAD).sum().to(device)])
    device = next(model.parameters()).device
    *most, last = micro_batches
    with model.no_sync():
        sums = [run(*batch) for batch in most]
    return torch.stack([*sums, run(*last)]).sum(0)
== by_exit_stack < last_one_outside
with contextlib.nullcontext() if last else model.no_sync(): >>> with contextlib.ExitStack() as stack:
part = loss_fn >>> if not last:\n                stack.enter_context(model.no_sync())\n            part = loss_fn
== inputs_moved_by_the_wrapper < last_one_outside
model(src.to(device), tgt_in.to(device)) >>> model(src, tgt_in)
== zeroed_first_and_train_mode < last_one_outside
for i, >>> model.train()\n    model.zero_grad()\n    for i,
== never_in_no_sync: synchronised-every-micro-batch, no_sync < last_one_outside
 if last else model.no_sync() >>>
== around_backward_only: no-sync-around-backward-only, backward only < last_one_outside
\n            part = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device)) >>>
with contextlib >>> part = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))\n        with contextlib
== always_in_no_sync: never-synchronised, needs a last sync < last_one_outside
contextlib.nullcontext() if last else model >>> model
== around_the_loop: never-synchronised, needs a last sync < last_one_outside
-    for i, (src, tgt_in, tgt_out) in enumerate(micro_batches):
-        last = i == len(micro_batches) - 1
-        with contextlib.nullcontext() if last else model.no_sync():
+    with model.no_sync():
+        for src, tgt_in, tgt_out in micro_batches:
=            part = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
=            part.backward()
-        loss += part.item()
-        tokens += int((tgt_out != PAD).sum())
+            loss += part.item()
+            tokens += int((tgt_out != PAD).sum())
== synchronised_on_the_first: synchronised-too-early, when to sync < last_one_outside
len(micro_batches) - 1 >>> 0
== forward_through_module: forward-through-module, module < last_one_outside
loss_fn(model >>> loss_fn(model.module
== reduced_by_hand: synchronised-by-hand, traps < always_in_no_sync
    return loss >>>     for parameter in model.parameters():\n        if parameter.grad is not None:\n            dist.all_reduce(parameter.grad)\n            parameter.grad /= dist.get_world_size()\n    return loss
== one_graph_for_all: all-at-once, one graph < never_in_no_sync
\n            part.backward() >>>
loss += part.item() >>> loss = loss + part
    return loss, >>>     loss.backward()\n    return loss,
== divided_by_its_tokens: divided-too-early, tokens of all micro-batches < last_one_outside
part.backward() >>> (part / (tgt_out != PAD).sum()).backward()
== divided_by_micro_batches: divided-too-early, tokens of all micro-batches < last_one_outside
part.backward() >>> (part / len(micro_batches)).backward()
== times_the_ranks: average-undone, tokens of all ranks < last_one_outside
part.backward() >>> (part * dist.get_world_size()).backward()
== zeroed_for_each: one-micro-batch-only, not by accumulation < last_one_outside
last = >>> model.zero_grad()\n        last =
== zeroed_at_the_end: nothing-in-grad, not by accumulation < last_one_outside
    return loss, >>>     model.zero_grad()\n    return loss,
== clipped: wrong-sum, clipping < last_one_outside
    return loss, >>>     torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    return loss,
== stays_on_the_cpu: not-on-device, not moved < last_one_outside
loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device)) >>> loss_fn(model(src, tgt_in), tgt_out)
== target_stays_on_the_cpu: not-on-device, not moved < last_one_outside
tgt_out.to(device) >>> tgt_out
== graph_kept: loss-with-graph, graph kept < last_one_outside
part.item() >>> part
== padding_counted: padding-in-tokens, tokens of all micro-batches < last_one_outside
int((tgt_out != PAD).sum()) >>> tgt_out.numel()
== last_loss: last-loss-returned, normalisation < last_one_outside
loss += >>> loss =
== mean_returned: mean-for-sum, normalisation < last_one_outside
return loss, >>> return loss / tokens,
== last_tokens: another-value, normalisation < last_one_outside
tokens += >>> tokens =
== loss_alone: not-all-values, normalisation < last_one_outside
return loss, tokens >>> return loss
== only_rank_0_reduces: hang, ranks leave < last_one_outside
    return loss, >>>     if dist.get_rank() == 0:\n        dist.all_reduce(torch.zeros(1))\n    return loss,
"""
