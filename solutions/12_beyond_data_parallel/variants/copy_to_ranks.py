"""Right answers to `copy_to_ranks` and `sum_over_ranks`, and mistakes that people make."""

ANSWERS = """
== with_classes
import torch
import torch.distributed as dist
def total(x, group):
    x = x.contiguous().clone()
    dist.all_reduce(x, op=dist.ReduceOp.SUM, group=group)
    return x
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        return total(gradient, ctx.group), None
class G(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.size = dist.get_world_size(group)
        return total(x, group)
    @staticmethod
    def backward(ctx, gradient):
        return gradient, None
def copy_to_ranks(x, group=None):
    return F.apply(x, group)
def sum_over_ranks(x, group=None):
    return G.apply(x, group)
== by_a_hook < with_classes
-    return F.apply(x, group)
+    y = x.view_as(x)
+    if y.requires_grad:
+        y.register_hook(lambda gradient: total(gradient, group))
+    return y
== around_the_graph < with_classes
-    return G.apply(x, group)
+    with torch.no_grad():
+        others = total(x, group) - x
+    return x + others
== library_sum_for_g: summed-gradient-summed, library-sum < with_classes
-    return G.apply(x, group)
+    from torch.distributed.nn.functional import all_reduce
+    return all_reduce(x.contiguous(), group=group or dist.group.WORLD)
== library_sum_for_g_right_away: summed-gradient-summed, why-not < with_classes
        return gradient, None >>>         return total(gradient, None), None
    return G.apply(x, group) >>>     return G.apply(x, None)
== f_does_nothing: copied-gradient-own, f-left-out < with_classes
    return F.apply(x, group) >>>     return x
== f_without_sum: copied-gradient-own, f-without-sum < with_classes
        return total(gradient, ctx.group), None >>>         return gradient, None
== f_averages: copied-gradient-average, f-without-sum < with_classes
total(gradient, ctx.group), None >>> total(gradient, ctx.group) / dist.get_world_size(ctx.group), None
== f_sums_forward: copied-value-summed, megatron < with_classes
        return x.clone() >>>         return total(x, group)
== copy_reduced_original_returned: summed-value-layout, copy-reduced < with_classes
-        return total(x, group)
+        x = x.clone()
+        dist.all_reduce(x.contiguous(), group=group)
+        return x
== gradient_copy_reduced: copied-gradient-layout, copy-reduced < with_classes
-        return total(gradient, ctx.group), None
+        gradient = gradient.clone()
+        dist.all_reduce(gradient.contiguous(), group=ctx.group)
+        return gradient, None
== clone_keeps_the_order: summed-value-memory-order, copy-reduced < with_classes
    x = x.contiguous().clone() >>>     x = x.clone()
== clone_of_the_gradient: copied-gradient-memory-order, copy-reduced < with_classes
        return total(gradient, ctx.group), None >>>         gradient = gradient.clone()\\n        dist.all_reduce(gradient, group=ctx.group)\\n        return gradient, None
== x_reduced_in_place: argument-changed, autograd < with_classes
-        return total(x, group)
+        dist.all_reduce(x, group=group)
+        return x.clone()
== gradient_reduced_in_place: argument-changed, autograd < with_classes
-        return total(gradient, ctx.group), None
+        dist.all_reduce(gradient, group=ctx.group)
+        return gradient, None
== default_group: group-left-out, groups < with_classes
    dist.all_reduce(x, op=dist.ReduceOp.SUM, group=group) >>>     dist.all_reduce(x, op=dist.ReduceOp.SUM)
== group_lost_going_back: group-left-out, groups < with_classes
        return total(gradient, ctx.group), None >>>         return total(gradient, None), None
== all_reduce_in_the_graph: gradient-by-luck, autograd < with_classes
-    return G.apply(x, group)
+    y = x.clone(memory_format=torch.contiguous_format)
+    dist.all_reduce(y, group=group)
+    return y
== graph_cut: graph-lost, autograd < with_classes
    return G.apply(x, group) >>>     return total(x.detach(), group)
== g_averages: summed-value-average, megatron < with_classes
        return total(x, group) >>>         return total(x, group) / ctx.size
== g_divides_going_back: summed-gradient-average, megatron < with_classes
        return gradient, None >>>         return gradient / ctx.size, None
== gathered_and_summed: not-one-all-reduce, megatron < with_classes
-        return total(x, group)
+        parts = [torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(ctx.size)]
+        dist.all_gather(parts, x.contiguous(), group=group)
+        return sum(parts)
== f_meets_forward: communicates-needlessly, megatron < with_classes
        return x.clone() >>>         dist.barrier(group)\\n        return x.clone()
"""
