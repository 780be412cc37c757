"""Right answers to `ParallelMLP`, and mistakes that people make."""

ANSWERS = """
== with_clones
import torch
import torch.distributed as dist
from torch import nn
class ParallelMLP(nn.Module):
    def __init__(self, mlp, group=None):
        super().__init__()
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        self.act, self.group = mlp[1], group
        parts = [torch.tensor_split(t, size, dim)[rank] for t, dim in
                 ((mlp[0].weight, 0), (mlp[0].bias, 0), (mlp[2].weight, 1))]
        parts.append(mlp[2].bias)
        for name, part in zip(("w1", "b1", "w2", "b2"), parts):
            self.register_parameter(name, nn.Parameter(part.detach().clone()))
    def forward(self, x):
        x = copy_to_ranks(x, self.group)
        hidden = self.act(x @ self.w1.T + self.b1)
        y = sum_over_ranks(hidden @ self.w2.T, self.group)
        return y + self.b2
== own_functions < with_clones
-class ParallelMLP(nn.Module):
+class Both(torch.autograd.Function):
+    @staticmethod
+    def forward(ctx, x, group, first):
+        ctx.group, ctx.first = group, first
+        if first:
+            return x.view_as(x)
+        x = x.clone(memory_format=torch.contiguous_format)
+        dist.all_reduce(x, group=group)
+        return x
+    @staticmethod
+    def backward(ctx, g):
+        if ctx.first:
+            g = g.clone(memory_format=torch.contiguous_format)
+            dist.all_reduce(g, group=ctx.group)
+        return g, None, None
+class ParallelMLP(nn.Module):

        x = copy_to_ranks(x, self.group) >>>         x = Both.apply(x, self.group, True)
sum_over_ranks(hidden @ self.w2.T, self.group) >>> Both.apply(hidden @ self.w2.T, self.group, False)
== rows_of_the_second: cut-in-another-dimension, chunk < solution
second.weight.detach()[:, own] >>> second.weight.detach()[own]
== library_sum_for_g: gradients-times-ranks, library-sum < with_clones
-        y = sum_over_ranks(hidden @ self.w2.T, self.group)
+        from torch.distributed.nn.functional import all_reduce
+        y = all_reduce(hidden @ self.w2.T, group=self.group or dist.group.WORLD)
== all_reduce_in_the_graph: gradient-by-luck, autograd < with_clones
-        y = sum_over_ranks(hidden @ self.w2.T, self.group)
+        y = hidden @ self.w2.T
+        dist.all_reduce(y, group=self.group)
== f_left_out: gradient-of-x-own-part, f-left-out < with_clones
        x = copy_to_ranks(x, self.group)\\n >>>
== g_left_out: part-not-summed, megatron < with_clones
sum_over_ranks(hidden @ self.w2.T, self.group) >>> hidden @ self.w2.T
== bias_on_every_rank: bias-on-every-rank, bias < with_clones
hidden @ self.w2.T, self.group) >>> hidden @ self.w2.T + self.b2, self.group)
        return y + self.b2 >>>         return y
== bias_on_rank_0: bias-on-one-rank, biases < with_clones
-        y = sum_over_ranks(hidden @ self.w2.T, self.group)
-        return y + self.b2
+        y = hidden @ self.w2.T
+        if dist.get_rank(self.group) == 0:
+            y = y + self.b2
+        return sum_over_ranks(y, self.group)
== bias_divided: bias-gradient-divided, bias-divided < with_clones
-        y = sum_over_ranks(hidden @ self.w2.T, self.group)
-        return y + self.b2
+        b = self.b2 / dist.get_world_size(self.group)
+        return sum_over_ranks(hidden @ self.w2.T + b, self.group)
== no_bias: bias-left-out, bias < with_clones
        return y + self.b2 >>>         return y
== by_chunk: too-few-shares, chunk < with_clones
torch.tensor_split(t, size, dim)[rank] >>> torch.chunk(t, size, dim)[rank]
== rounded_down: hidden-units-cut-otherwise, chunk < with_clones
-        parts = [torch.tensor_split(t, size, dim)[rank] for t, dim in
+        cut = lambda t, dim: t.split([t.shape[dim] // size] * (size - 1) + [t.shape[dim] // size + t.shape[dim] % size], dim)
+        parts = [cut(t, dim)[rank] for t, dim in
== every_nth_unit: other-units, chunk < with_clones
torch.tensor_split(t, size, dim)[rank] >>> t.index_select(dim, torch.arange(rank, t.shape[dim], size))
== views: more-memory-held, view < with_clones
nn.Parameter(part.detach().clone()) >>> nn.Parameter(part.detach())
== contiguous_is_no_copy: more-memory-held, view < with_clones
nn.Parameter(part.detach().clone()) >>> nn.Parameter(part.detach().contiguous())
== bias_shared: memory-of-mlp, view < with_clones
nn.Parameter(part.detach().clone()) >>> nn.Parameter(part.detach().clone() if name != "b2" else part.detach())
== keeps_the_whole: more-memory-held, view < with_clones
        self.act, self.group = mlp[1], group >>>         self.act, self.group, self.whole = mlp[1], group, [mlp]
== mlp_as_a_module: parameters-of-other-names, view < with_clones
        self.act, self.group = mlp[1], group >>>         self.act, self.group, self.mlp = mlp[1], group, mlp
== bias_not_cut: bias-of-all-units, bias-whole < with_clones
        parts.append(mlp[2].bias) >>>         parts[1] = mlp[0].bias\\n        parts.append(mlp[2].bias)
== second_not_cut: another-shape, megatron < with_clones
        parts.append(mlp[2].bias) >>>         parts[2] = mlp[2].weight\\n        parts.append(mlp[2].bias)
== activation_after_the_sum: activation-at-the-end, megatron < with_clones
self.act(x @ self.w1.T + self.b1) >>> x @ self.w1.T + self.b1
        return y + self.b2 >>>         return self.act(y) + self.b2
== no_activation: activation-left-out, megatron < with_clones
self.act(x @ self.w1.T + self.b1) >>> x @ self.w1.T + self.b1
== hidden_gathered: another-shape, megatron
import torch
import torch.distributed as dist
from torch import nn
class ParallelMLP(nn.Module):
    def __init__(self, mlp, group=None):
        super().__init__()
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        self.act, self.group, self.rank = mlp[1], group, rank
        self.shares = [len(each) for each in mlp[0].weight.tensor_split(size)]
        self.w1 = nn.Parameter(mlp[0].weight.detach().tensor_split(size)[rank].clone())
        self.b1 = nn.Parameter(mlp[0].bias.detach().tensor_split(size)[rank].clone())
        self.w2 = nn.Parameter(mlp[2].weight.detach().clone())
        self.b2 = nn.Parameter(mlp[2].bias.detach().clone())
    def forward(self, x):
        own = self.act(copy_to_ranks(x, self.group) @ self.w1.T + self.b1)
        parts = [own if r == self.rank else own.new_zeros(*own.shape[:-1], n) for r, n in enumerate(self.shares)]
        hidden = sum_over_ranks(torch.cat(parts, -1), self.group)
        return hidden @ self.w2.T + self.b2
== hidden_reduced: not-one-all-reduce, megatron < with_clones
        y = sum_over_ranks(hidden @ self.w2.T, self.group) >>>         dist.barrier(self.group)\\n        y = sum_over_ranks(hidden @ self.w2.T, self.group)
== bias_reduced_too: other-sizes-reduced, megatron < with_clones
-        y = sum_over_ranks(hidden @ self.w2.T, self.group)
-        return y + self.b2
+        y = hidden @ self.w2.T
+        y = torch.cat([y, torch.zeros_like(y)], -1)
+        return sum_over_ranks(y, self.group)[..., :len(self.b2)] + self.b2
== rank_of_the_world: rank-of-another-group, groups < with_clones
dist.get_rank(group) >>> dist.get_rank()
== default_group: group-left-out, groups < with_clones
sum_over_ranks(hidden @ self.w2.T, self.group) >>> sum_over_ranks(hidden @ self.w2.T)
== mlp_used_up: mlp-changed, view < with_clones
        parts.append(mlp[2].bias) >>>         parts.append(mlp[2].bias)\\n        mlp[2].bias.data = torch.zeros_like(mlp[2].bias)
"""
