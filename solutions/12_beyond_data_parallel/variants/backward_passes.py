"""Right answers to `backward_passes`, and mistakes that people make."""

ANSWERS = """
import torch
import torch.distributed as dist
def backward_passes(passes, losses):
    rank, size = dist.get_rank(), dist.get_world_size()
    last = rank == size - 1
== sent_along
    sent = []
    for i, (x, y) in enumerate(passes):
        if last:
            losses[i].backward()
        else:
            g = torch.zeros(y.shape, dtype=y.dtype, device=y.device)
            dist.recv(g, src=rank + 1)
            torch.autograd.backward([y], [g])
        if rank > 0:
            out = x.grad.clone(memory_format=torch.contiguous_format)
            sent.append((dist.isend(out, rank - 1), out))
    for request, _ in sent:
        request.wait()
== received_before
    gs = [torch.empty_like(y, memory_format=torch.contiguous_format) for _, y in passes]
    requests = [] if last else [dist.irecv(g, rank + 1) for g in gs]
    for i in range(len(passes)):
        if last:
            losses[i].backward()
        else:
            requests[i].wait()
            passes[i][1].backward(gs[i])
        if rank:
            dist.send(passes[i][0].grad.contiguous(), rank - 1)
== last_goes_backwards: backward-in-another-order, gpipe < sent_along
    for i, (x, y) in enumerate(passes): >>>     for i, (x, y) in (reversed(list(enumerate(passes))) if last else enumerate(passes)):
== sum_backward: ones-for-the-gradient, gpipe < sent_along
            torch.autograd.backward([y], [g]) >>>             y.sum().backward()
== as_it_came: gradients-as-they-came, gpipe < sent_along
            out = x.grad.clone( >>>             out = (x.grad if last else g).clone(
== inputs_sent: inputs-for-gradients, blind < sent_along
            out = x.grad.clone( >>>             out = x.detach().clone(
== first_sends_too: nothing-before-the-first, blind < sent_along
-        if rank > 0:
+        if True:
== averaged_again: averaged-once-more, averaged < sent_along
            losses[i].backward() >>>             (losses[i] / len(losses)).backward()
== averaged_on_each_rank: another-value, averages < sent_along
            torch.autograd.backward([y], [g]) >>>             torch.autograd.backward([y], [g / len(passes)])
== zeroed: gradients-zeroed, averaged < sent_along
-    sent = []
+    sent = []
+    done = set()
+    def clear(fn):
+        if fn is None or fn in done:
+            return
+        done.add(fn)
+        if hasattr(fn, "variable") and all(fn.variable is not x for x, _ in passes):
+            fn.variable.grad = None
+        for parent, _ in fn.next_functions:
+            clear(parent)
+    for _, y in passes:
+        clear(y.grad_fn)
== all_sent_at_the_end: outputs-sent-at-the-end, gpipe < sent_along
-        if rank > 0:
-            out = x.grad.clone(memory_format=torch.contiguous_format)
-            sent.append((dist.isend(out, rank - 1), out))
+    for x, _ in passes if rank > 0 else []:
+        out = x.grad.clone(memory_format=torch.contiguous_format)
+        sent.append((dist.isend(out, rank - 1), out))
== all_received_first: inputs-awaited-at-once, gpipe < received_before
-    requests = [] if last else [dist.irecv(g, rank + 1) for g in gs]
+    for request in [] if last else [dist.irecv(g, rank + 1) for g in gs]:
+        request.wait()

-            requests[i].wait()
== of_the_input_only: nothing-left, gpipe < sent_along
            torch.autograd.backward([y], [g]) >>>             x.grad = torch.autograd.grad(y, x, g)[0] if rank else None
== output_gradient_sent: gradients-as-they-came, gpipe < sent_along
            losses[i].backward() >>>             y.retain_grad()\\n            losses[i].backward()
            out = x.grad.clone( >>>             out = (y.grad if last else g).clone(
== first_one_each_time: first-gradient-each-time, gpipe < sent_along
            out = x.grad.clone( >>>             out = passes[0][0].grad.clone(
== nobody_is_last: no-loss-begins, gpipe < sent_along
    last = rank == size - 1 >>>     last = False
            dist.recv(g, src=rank + 1) >>>             dist.recv(g, src=(rank + 1) % size)
== all_losses_at_once: outputs-sent-at-the-end, gpipe < sent_along
-            losses[i].backward()
+            if i == 0:
+                sum(losses).backward()
== send_first: raised, deadlock < sent_along
-        if last:
-            losses[i].backward()
-        else:
+        if rank > 0:
+            dist.send(x.grad, rank - 1)
+        if last:
+            losses[i].backward()
+        else:
=            g = torch.zeros(y.shape, dtype=y.dtype, device=y.device)
=            dist.recv(g, src=rank + 1)
=            torch.autograd.backward([y], [g])
-        if rank > 0:
-            out = x.grad.clone(memory_format=torch.contiguous_format)
-            sent.append((dist.isend(out, rank - 1), out))
== into_its_layout: receives-not-contiguous, gpipe < sent_along
torch.zeros(y.shape, dtype=y.dtype, device=y.device) >>> torch.empty_like(y)
== twice: gradients-added-twice, averaged < sent_along
            torch.autograd.backward([y], [g]) >>>             torch.autograd.backward([y], [2 * g]) if rank == size - 2 else torch.autograd.backward([y], [g])
            losses[i].backward() >>>             losses[i].backward(retain_graph=True)\\n            grad = x.grad.clone() if rank else None\\n            losses[i].backward()\\n            if rank: x.grad = grad
== reduced: collective-among-messages, gpipe < sent_along
    for request, _ in sent: >>>     dist.barrier()\\n    for request, _ in sent:
== in_single_precision: dtype-differs, messages < sent_along
torch.zeros(y.shape, dtype=y.dtype, device=y.device) >>> torch.zeros(y.shape)
== only_the_last_rank: nothing-left, gpipe < sent_along
            torch.autograd.backward([y], [g]) >>>             torch.autograd.backward([y], [0 * g])
== nothing_done: nothing-left, gpipe
    return None
== losses_everywhere: raised, gpipe < sent_along
        if last:\\n >>>         if True:\\n
== last_one_first: in-another-order-everywhere, gpipe < sent_along
    for i, (x, y) in enumerate(passes): >>>     for i, (x, y) in reversed(list(enumerate(passes))):
"""
