"""Right answers to `Reducer`, and mistakes that people make."""

ANSWERS = """
== with_counters
from contextlib import contextmanager
import torch
import torch.distributed as dist
class Reducer:
    def __init__(self, module, buckets):
        trained = [p for p in module.parameters() if p.requires_grad]
        self.buckets = [[trained[i] for i in bucket] for bucket in buckets]
        self.active = True
        self.reset()
        for number, bucket in enumerate(self.buckets):
            for p in bucket:
                p.register_post_accumulate_grad_hook(self.hook(number))
    def reset(self):
        self.missing = [len(bucket) for bucket in self.buckets]
        self.works = []
    def hook(self, number):
        def accumulated(p):
            if self.active:
                self.missing[number] -= 1
                while len(self.works) < len(self.buckets) and not self.missing[len(self.works)]:
                    self.launch()
        return accumulated
    def launch(self):
        bucket = self.buckets[len(self.works)]
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in bucket])
        self.works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))
    def finish(self):
        while len(self.works) < len(self.buckets):
            self.launch()
        for bucket, flat, work in self.works:
            work.wait()
            start = 0
            for p in bucket:
                p.grad = (flat[start:start + p.numel()] / dist.get_world_size()).view(p.shape)
                start += p.numel()
        self.reset()
    @contextmanager
    def no_sync(self):
        before, self.active = self.active, False
        try:
            yield
        finally:
            self.active = before
== own_context_manager < with_counters
-    @contextmanager
-    def no_sync(self):
-        before, self.active = self.active, False
-        try:
-            yield
-        finally:
-            self.active = before
+    def no_sync(self):
+        reducer = self
+        class Quiet:
+            def __enter__(self):
+                self.before, reducer.active = reducer.active, False
+            def __exit__(self, *error):
+                reducer.active = self.before
+        return Quiet()
== preallocated < with_counters
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in bucket]) >>>         flat = torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype, device=bucket[0].device)\\n        for p, part in zip(bucket, flat.split([p.numel() for p in bucket])):\\n            if p.grad is not None:\\n                part.copy_(p.grad.flatten())
== sent_when_full: size-differs, order < with_counters
-                while len(self.works) < len(self.buckets) and not self.missing[len(self.works)]:
-                    self.launch()
+                if not self.missing[number]:
+                    self.launch(number)

-    def launch(self):
-        bucket = self.buckets[len(self.works)]
+    def launch(self, number):
+        self.missing[number] = -1
+        bucket = self.buckets[number]

-        while len(self.works) < len(self.buckets):
-            self.launch()
+        for number, missing in enumerate(self.missing):
+            if missing >= 0:
+                self.launch(number)
== unused_never_sent: size-differs, unused < with_counters
        while len(self.works) < len(self.buckets):\\n            self.launch()\\n        for >>>         for
== unused_left_alone: size-differs, unused < with_counters
-        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in bucket])
+        bucket = [p for p in bucket if p.grad is not None]
+        flat = torch.cat([p.grad.reshape(-1) for p in bucket])
== counters_not_reset: sent-after-backward, hook < with_counters
-        self.reset()
-    @contextmanager
+        self.works = []
+    @contextmanager
== by_four: number-in-the-code, sum < with_counters
 / dist.get_world_size()).view >>>  / 4).view
== buckets_on_the_class: own-gradient, hook < with_counters
self.buckets = [[trained[i] for i in bucket] for bucket in buckets] >>> Reducer.buckets = [[trained[i] for i in bucket] for bucket in buckets]
== works_on_the_class: shared-between-reducers, hook < with_counters
-        self.active = True
-        self.reset()
+        self.active = True
+        Reducer.works = []
+        self.reset()

-        self.missing = [len(bucket) for bucket in self.buckets]
-        self.works = []
+        self.missing = [len(bucket) for bucket in self.buckets]
+        self.works.clear()
== tensor_hooks: hook-before-accumulation, tensor-hook < with_counters
p.register_post_accumulate_grad_hook(self.hook(number)) >>> p.register_hook(self.hook(number))
== stale_buffer: stale-buffer, unused < with_counters
-        self.active = True
-        self.reset()
+        self.active = True
+        self.flats = [torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype, device=bucket[0].device) for bucket in self.buckets]
+        self.reset()

-        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in bucket])
+        flat, start = self.flats[len(self.works)], 0
+        for p in bucket:
+            if p.grad is not None:
+                flat[start:start + p.numel()] = p.grad.reshape(-1)
+            start += p.numel()
== all_parameters_counted: frozen-counted, frozen < with_counters
        trained = [p for p in module.parameters() if p.requires_grad] >>>         trained = {i: p for i, p in enumerate(module.parameters()) if p.requires_grad}
== works_not_reset: nothing-sent, async < with_counters
-        self.reset()
-    @contextmanager
+        self.missing = [len(bucket) for bucket in self.buckets]
+    @contextmanager
== no_sync_sends: sends-in-no-sync, no_sync < with_counters
before, self.active = self.active, False >>> before = self.active
== quiet_for_ever: no-sync-never-ends, no_sync < with_counters
            self.active = before >>>             pass
== quiet_after_error: no-sync-kept-by-an-error, no_sync < with_counters
-        try:
-            yield
-        finally:
-            self.active = before
+        yield
+        self.active = before
== last_pass_only: what-lay-there-lost, accumulation < with_counters
-        def accumulated(p):
-            if self.active:
+        def accumulated(p, pieces=self.pieces):
+            if self.active:
+                pass

-        self.works = []
-    def hook(self, number):
+        self.works, self.pieces = [], {}
+    def hook(self, number):

-                p.register_post_accumulate_grad_hook(self.hook(number))
+                p.register_hook(lambda g, p=p: self.came(p, g))
+                p.register_post_accumulate_grad_hook(self.hook(number))
+    def came(self, p, gradient):
+        self.pieces[p] = gradient.clone()

-        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in bucket])
+        flat = torch.cat([self.pieces.get(p, torch.zeros_like(p)).reshape(-1) for p in bucket])
== unused_as_zeros: unused-as-zeros, accumulation < with_counters
-        self.works = []
-    def hook(self, number):
+        self.works, self.used = [], set()
+    def hook(self, number):

        def accumulated(p):\\n            if self.active: >>>         def accumulated(p):\\n            self.used.add(p)\\n            if self.active:
p.grad is None else p.grad >>> p not in self.used else p.grad
== all_in_finish: sent-after-backward, buckets < with_counters
        def accumulated(p):\\n            if self.active: >>>         def accumulated(p):\\n            if False:
== next_waits: waited-in-backward, hook < with_counters
self.works.append((bucket, flat, dist.all_reduce(flat, async_op=True))) >>> self.works.append((bucket, flat, dist.all_reduce(flat, async_op=True)));self.works[-1][2].wait()
== not_waited: never-waited, async < with_counters
            work.wait() >>>             pass
== filled_at_the_first: sent-too-early, buckets < with_counters
not self.missing[len(self.works)] >>> self.missing[len(self.works)] < len(self.buckets[len(self.works)])
== each_by_itself: other-bucket-bytes, buckets < with_counters
-        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in bucket])
-        self.works.append((bucket, flat, dist.all_reduce(flat, async_op=True)))
+        parts = [(torch.zeros_like(p) if p.grad is None else p.grad.clone()).reshape(-1) for p in bucket]
+        handles = [dist.all_reduce(part, async_op=True) for part in parts]
+        self.works.append((bucket, parts, handles))

-            work.wait()
-            start = 0
-            for p in bucket:
-                p.grad = (flat[start:start + p.numel()] / dist.get_world_size()).view(p.shape)
-                start += p.numel()
+            for p, part, one in zip(bucket, flat, work):
+                one.wait()
+                p.grad = (part / dist.get_world_size()).view(p.shape)
== sum_left: sum-not-average, sum < with_counters
 / dist.get_world_size()).view >>> ).view
== read_before_the_wait: read-too-soon, async < with_counters
-            work.wait()
-            start = 0
+            start = 0

-                start += p.numel()
+                start += p.numel()
+            work.wait()
== forward_order: other-bucket-bytes, buckets < with_counters
for bucket in buckets] >>> for bucket in buckets[::-1]]
== unused_zeroed_only_there: gradient-missing, unused < with_counters
            for p in bucket:\\n                p.grad = (flat[start:start + p.numel()] / dist.get_world_size()).view(p.shape)\\n >>>             for p in bucket:\\n                if p.grad is not None:\\n                    p.grad = (flat[start:start + p.numel()] / dist.get_world_size()).view(p.shape)\\n
== counted_in_no_sync: no-sync-counted, no_sync < with_counters
            if self.active:\\n                self.missing[number] -= 1\\n                while >>>             self.missing[number].discard(p)\\n            if self.active:\\n                while
[len(bucket) for bucket in self.buckets] >>> [set(bucket) for bucket in self.buckets]
== inner_block_ends_all: inner-block-ends-all, no_sync < with_counters
before, self.active = self.active, False >>> before, self.active = True, False
== no_while: sent-late, order < with_counters
while len(self.works) < len(self.buckets) and not self.missing[len(self.works)]: >>> if len(self.works) < len(self.buckets) and not self.missing[len(self.works)]:
== one_handle_waited: never-waited, async < with_counters
            work.wait() >>>             if work is self.works[-1][2]:\\n                work.wait()
== contiguous_ones: sum-in-a-copy, broadcast < with_counters
p.grad = (flat[start:start + p.numel()] / dist.get_world_size()).view(p.shape) >>> p.grad = torch.zeros_like(p) if p.grad is None else p.grad\\n                p.grad.contiguous().copy_((flat[start:start + p.numel()] / dist.get_world_size()).view(p.shape))
== nothing_to_do_here: call-missing, skipped < with_counters
    def finish(self): >>>     def finish(self):\\n        if all(p.grad is None for bucket in self.buckets for p in bucket):\\n            return
"""
