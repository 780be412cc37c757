"""Right answers to `forward_passes`, and mistakes that people make."""

ANSWERS = """
import torch
import torch.distributed as dist
def forward_passes(stage, micro_batches):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
== sent_along
    passes, sent = [], []
    for given in micro_batches:
        x = given
        if rank:
            x = torch.zeros(given.shape, dtype=given.dtype, device=given.device)
            dist.recv(x, src=rank - 1)
            x.requires_grad_(True)
        y = stage(x)
        if rank < last:
            out = y.detach().clone(memory_format=torch.contiguous_format)
            sent.append((dist.isend(out, rank + 1), out))
        passes.append((x, y))
    for request, _ in sent:
        request.wait()
    return passes
== received_before
    xs = list(micro_batches)
    if rank:
        xs = [torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in xs]
        requests = [dist.irecv(x, rank - 1) for x in xs]
    passes = []
    for i, x in enumerate(xs):
        if rank:
            requests[i].wait()
            x.requires_grad = True
        passes.append((x, stage(x)))
        if rank < last:
            dist.send(passes[-1][1].data.contiguous(), rank + 1)
    return passes
== all_sent_at_the_end: outputs-sent-at-the-end, gpipe < sent_along
-        if rank < last:
-            out = y.detach().clone(memory_format=torch.contiguous_format)
-            sent.append((dist.isend(out, rank + 1), out))
-        passes.append((x, y))
-    for request, _ in sent:
-        request.wait()
+        passes.append((x, y))
+    for _, y in passes:
+        if rank < last:
+            dist.send(y.detach().contiguous(), rank + 1)
== all_received_first: inputs-awaited-at-once, gpipe < received_before
-        requests = [dist.irecv(x, rank - 1) for x in xs]
+        for request in [dist.irecv(x, rank - 1) for x in xs]:
+            request.wait()

-            requests[i].wait()
== one_buffer: one-buffer-for-all, buffer < sent_along
    passes, sent = [], [] >>>     passes, sent, buffer = [], [], torch.zeros(max(len(m) for m in micro_batches), micro_batches[0].shape[1], dtype=micro_batches[0].dtype)
            x = torch.zeros(given.shape, dtype=given.dtype, device=given.device) >>>             x = buffer[:len(given)].detach()
== no_gradient_of_the_input: input-without-gradient, gpipe < sent_along
            x.requires_grad_(True)\\n >>>
== received_into_the_argument: given-tensors-changed, messages < sent_along
            x = torch.zeros(given.shape, dtype=given.dtype, device=given.device)\\n >>>
== no_leaf: input-is-no-leaf, gpipe < sent_along
            x.requires_grad_(True) >>>             x = x.requires_grad_(True) * 1
== output_detached: output-has-no-graph, gpipe < sent_along
        passes.append((x, y)) >>>         passes.append((x, y.detach()))
== input_sent_on: stage-left-out, gpipe < sent_along
            out = y.detach() >>>             out = x.detach()
== not_contiguous: not-contiguous, messages < sent_along
y.detach().clone(memory_format=torch.contiguous_format) >>> y.detach()
== in_single_precision: dtype-differs, messages < sent_along
torch.zeros(given.shape, dtype=given.dtype, device=given.device) >>> torch.zeros(given.shape)
== nothing_received: own-input-used, gpipe < sent_along
            dist.recv(x, src=rank - 1) >>>             x.copy_(given)
        if rank < last: >>>         if False:
== empty_like_and_broadcast: other-order, gpipe < sent_along
        if rank < last: >>>         dist.barrier()\\n        if rank < last:
== returns_outputs: no-list-of-passes, gpipe < sent_along
    return passes >>>     return [y for _, y in passes]
== first_input_copied: first-input-replaced, gpipe < sent_along
        x = given\\n >>>         x = given.clone()\\n
== round_in_a_ring: never-received, gpipe < sent_along
        if rank < last:\\n >>>         if last:\\n
(dist.isend(out, rank + 1), out) >>> (dist.isend(out, (rank + 1) % (last + 1)), out)
== once_round_the_ring: message-to-another-rank, gpipe < round_in_a_ring
    for request, _ in sent: >>>     if last and not rank:\\n        for x in micro_batches:\\n            dist.recv(torch.empty_like(x), last)\\n    for request, _ in sent:
"""
