"""Right answers to `images_per_second`, and mistakes that people make."""

ANSWERS = """
== with_a_barrier
import time
import torch
from torch import distributed as dist
def images_per_second(step, wait, images, device, warmup=2, steps=5):
    alone = not dist.is_initialized()
    def run(count):
        for _ in range(count):
            step()
        wait()
    run(warmup)
    alone or dist.barrier()
    start = time.monotonic()
    run(steps)
    took = torch.tensor([time.monotonic() - start], dtype=torch.float64, device=device)
    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return (1 if alone else dist.get_world_size()) * images * steps / float(took)
== everyones_times < with_a_barrier
-    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)
-    return (1 if alone else dist.get_world_size()) * images * steps / float(took)
+    if alone:
+        return images * steps / took.item()
+    all_of_them = [torch.zeros_like(took) for _ in range(dist.get_world_size())]
+    dist.all_gather(all_of_them, took)
+    return len(all_of_them) * images * steps / max(each.item() for each in all_of_them)
== not_waited: clock-before-device, clock < solution
    wait()\\n    seconds >>>     seconds
== never_waits: clock-before-device, clocks < with_a_barrier
        wait()\\n >>>
== warm_up_goes_on: warm-up-still-running, clocks < with_a_barrier
-    run(warmup)
+    for _ in range(warmup):
+        step()
== no_warm_up: no-warm-up, warm-up < with_a_barrier
    run(warmup)\\n >>>
== one_warm_up: steps-not-made, warm-up < with_a_barrier
    run(warmup) >>>     run(1)
== warm_up_timed: warm-up-timed, warm-up < with_a_barrier
-    run(warmup)
-    alone or dist.barrier()
-    start = time.monotonic()
+    alone or dist.barrier()
+    start = time.monotonic()
+    run(warmup)
== own_clock: own-clock-times-ranks, timing < with_a_barrier
    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)\\n >>>
== sum_of_rates: sum-of-rates, timing < with_a_barrier
-    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)
-    return (1 if alone else dist.get_world_size()) * images * steps / float(took)
+    took = images * steps / took
+    alone or dist.all_reduce(took)
+    return took.item()
== mean_of_times: mean-of-times, timing < with_a_barrier
-    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)
-    return (1 if alone else dist.get_world_size()) * images * steps / float(took)
+    alone or dist.all_reduce(took)
+    return (1 if alone else dist.get_world_size()) ** 2 * images * steps / float(took)
== fastest: fastest-rank, timing < with_a_barrier
ReduceOp.MAX >>> ReduceOp.MIN
== rank_0_only: one-ranks-images, timing < with_a_barrier
(1 if alone else dist.get_world_size()) * >>>
== one_step: one-steps-images, timing < with_a_barrier
images * steps / >>> images /
== a_time: seconds-returned, timing < with_a_barrier
(1 if alone else dist.get_world_size()) * images * steps / float(took) >>> float(took) / steps
== waits_for_each_step: waits-between-steps, timing < with_a_barrier
            step()\\n        wait() >>>             step()\\n            wait()
== clock_before_barrier: clock-before-the-others, timing < with_a_barrier
    alone or dist.barrier()\\n    start = time.monotonic() >>>     start = time.monotonic()\\n    alone or dist.barrier()
== first_start_to_last_end: clocks-compared, timing < with_a_barrier
-    took = torch.tensor([time.monotonic() - start], dtype=torch.float64, device=device)
-    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)
+    ends = torch.tensor([-start, time.monotonic()], dtype=torch.float64, device=device)
+    alone or dist.all_reduce(ends, op=dist.ReduceOp.MAX)
+    took = ends.sum()
== process_time: waiting-not-counted, timing < with_a_barrier
    start = time.monotonic() >>>     start = time.process_time()
[time.monotonic() - start] >>> [time.process_time() - start]
== hard_coded: steps-not-made, warm-up < with_a_barrier
    run(warmup) >>>     run(2)
    run(steps)\\n >>>     run(5)\\n
== no_meeting: not-together, timing < with_a_barrier
    alone or dist.barrier()\\n >>>
== met_too_early: not-together, timing < with_a_barrier
-    run(warmup)
-    alone or dist.barrier()
+    for _ in range(warmup):
+        step()
+    alone or dist.barrier()
+    wait()
== barrier_in_each_step: communicates-between-steps, timing < with_a_barrier
            step()\\n >>>             step()\\n            alone or dist.barrier()\\n
== never_alone: group-needed, ddp < with_a_barrier
    alone = not dist.is_initialized() >>>     alone = False
== ended_by_a_barrier: rates-differ, timing < with_a_barrier
    run(steps)\\n >>>     run(steps)\\n    alone or dist.barrier()\\n
    alone or dist.all_reduce(took, op=dist.ReduceOp.MAX)\\n >>>
== on_the_cpu: not-on-device, ddp < with_a_barrier
dtype=torch.float64, device=device >>> dtype=torch.float64
== a_tensor: not-a-float, ddp < with_a_barrier
float(took) >>> took
"""
