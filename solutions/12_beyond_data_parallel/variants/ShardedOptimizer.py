"""Right answers to `ShardedOptimizer`, and mistakes that people make."""

ANSWERS = """
== with_lists
import math
import torch
import torch.distributed as dist
class ShardedOptimizer:
    def __init__(self, parameters, make):
        self.ps = list(parameters)
        self.n = dist.get_world_size()
        self.r = dist.get_rank()
        self.P = sum(p.numel() for p in self.ps)
        self.c = math.ceil(self.P / self.n)
        self.own = self.cut(self.row([p.detach() for p in self.ps]))[self.r].clone()
        self.opt = make([self.own])
    def row(self, ts):
        row = torch.zeros(self.n * self.c, dtype=self.ps[0].dtype, device=self.ps[0].device)
        row[:self.P] = torch.cat([t.flatten() for t in ts])
        return row
    def cut(self, row):
        return list(row.view(self.n, self.c))
    def step(self):
        grads = self.row([p.new_zeros(p.shape) if p.grad is None else p.grad for p in self.ps])
        mine = torch.zeros_like(self.own)
        dist.reduce_scatter(mine, self.cut(grads), op=dist.ReduceOp.SUM)
        mine = mine / self.n
        self.own.grad = mine
        self.opt.step()
        shares = [torch.zeros_like(self.own) for _ in range(self.n)]
        dist.all_gather(shares, self.own)
        row = torch.cat(shares)
        start = 0
        for p in self.ps:
            p.data.copy_(row[start:start + p.numel()].reshape(p.shape))
            start += p.numel()
== gone_through_twice: iterable-gone-through, optimizer < solution
        self.parameters = [*parameters] >>>         self.count = sum(each.numel() for each in parameters)\\n        self.parameters = [*parameters]
== leaves_changed_in_place: raised, autograd < with_lists
            p.data.copy_( >>>             p.copy_(
== average_by_torch < with_lists
op=dist.ReduceOp.SUM >>> op=dist.ReduceOp.AVG
        mine = mine / self.n\\n >>>
== with_padding_of_torch < with_lists
-        row = torch.zeros(self.n * self.c, dtype=self.ps[0].dtype, device=self.ps[0].device)
-        row[:self.P] = torch.cat([t.flatten() for t in ts])
-        return row
+        row = torch.cat([t.reshape(-1) for t in ts])
+        return torch.nn.functional.pad(row, (0, self.n * self.c - self.P))
== sum_for_mean: sum-for-the-mean, zero < with_lists
        mine = mine / self.n\\n >>>
== divided_twice: averaged-over-ranks-twice, zero < with_lists
op=dist.ReduceOp.SUM >>> op=dist.ReduceOp.AVG
== all_reduce_and_cut: all-reduce-and-cut, reduce < with_lists
-        mine = torch.zeros_like(self.own)
-        dist.reduce_scatter(mine, self.cut(grads), op=dist.ReduceOp.SUM)
+        dist.all_reduce(grads)
+        mine = self.cut(grads)[self.r].clone()
== no_padding: only-equal-shares, padding < with_lists
        self.c = math.ceil(self.P / self.n) >>>         self.c = self.P // self.n
== rounded_up_only_last: share-of-other-length, padding < with_lists
        self.opt = make([self.own]) >>>         self.part = self.own[:max(0, self.P - self.r * self.c)]\\n        self.opt = make([self.part])
        self.own.grad = mine >>>         self.part.grad = mine[:len(self.part)]
== a_view: share-is-a-view, zero < with_lists
[self.r].clone() >>> [self.r]
== made_anew: optimizer-made-anew, optimizer < with_lists
-        self.opt = make([self.own])
+        self.opt = make([self.own])
+        self.make = make

        self.opt.step() >>>         self.opt = self.make([self.own])\\n        self.opt.step()
== not_gathered: shares-not-gathered, zero < with_lists
-        shares = [torch.zeros_like(self.own) for _ in range(self.n)]
-        dist.all_gather(shares, self.own)
-        row = torch.cat(shares)
+        row = self.row([p.detach() for p in self.ps])
+        row[self.r * self.c:(self.r + 1) * self.c] = self.own
== state_of_all: state-for-everything, zero < with_lists
-        self.own = self.cut(self.row([p.detach() for p in self.ps]))[self.r].clone()
-        self.opt = make([self.own])
+        self.whole = self.row([p.detach() for p in self.ps])
+        self.own = self.cut(self.whole)[self.r]
+        self.opt = make([self.whole])

        self.own.grad = mine >>>         self.whole.grad = torch.zeros_like(self.whole)\\n        self.cut(self.whole.grad)[self.r].copy_(mine)
== whole_parameters: made-for-many-tensors, zero < with_lists
        self.opt = make([self.own]) >>>         self.opt = make(self.ps)
== no_gradient_forgotten: missing-gradient, zero < with_lists
p.new_zeros(p.shape) if p.grad is None else p.grad >>> p.grad
== gradients_skipped: gradients-left-out, blind < with_lists
-        row = torch.zeros(self.n * self.c, dtype=self.ps[0].dtype, device=self.ps[0].device)
-        row[:self.P] = torch.cat([t.flatten() for t in ts])
-        return row
+        row = torch.cat([t.flatten() for t in ts])
+        return torch.cat([row, row.new_zeros(-len(row) % self.n)])

p.new_zeros(p.shape) if p.grad is None else p.grad for p in self.ps >>> p.grad for p in self.ps if p.grad is not None
== left_out_of_the_row: gradients-moved-up, zero < with_lists
-        grads = self.row([p.new_zeros(p.shape) if p.grad is None else p.grad for p in self.ps])
+        grads = torch.zeros(self.n * self.c, dtype=self.own.dtype, device=self.own.device)
+        given = torch.cat([p.grad.flatten() for p in self.ps if p.grad is not None] + [grads[:0]])
+        grads[:len(given)] = given
== own_gradient: own-gradients, zero < with_lists
        dist.reduce_scatter(mine, self.cut(grads), op=dist.ReduceOp.SUM)\\n        mine = mine / self.n >>>         mine = self.cut(grads)[self.r].clone()
== no_step: no-step-made, optimizer < with_lists
        self.opt.step()\\n >>>
== parameters_replaced: parameters-in-other-memory, optimizer < with_lists
            p.data.copy_(row[start:start + p.numel()].reshape(p.shape)) >>>             p.data = row[start:start + p.numel()].reshape(p.shape)
== gradients_averaged_in_place: gradients-changed, zero < with_lists
        self.own.grad = mine >>>         self.own.grad = mine\\n        for p in self.ps: p.grad = None if p.grad is None else p.grad / self.n
== broadcast_first: sharded-setup-communicates, zero < with_lists
        self.ps = list(parameters) >>>         self.ps = list(parameters)\\n        for p in self.ps: dist.broadcast(p.data, 0)
== each_by_itself: other-collectives-in-step, zero < with_lists
-        shares = [torch.zeros_like(self.own) for _ in range(self.n)]
-        dist.all_gather(shares, self.own)
+        shares = [torch.zeros_like(self.own) for _ in range(self.n)]
+        shares[self.r] = self.own.clone()
+        for r in range(self.n):
+            dist.broadcast(shares[r], r)
== an_iterator_used_up: raised, optimizer < with_lists
        self.ps = list(parameters) >>>         self.ps = parameters
        self.own = self.cut(self.row([p.detach() for p in self.ps])) >>>         self.own = self.cut(self.row(list(self.ps)))
== added_up: gradients-kept, optimizer < with_lists
        self.own.grad = mine\\n >>>         self.own.grad = mine if self.own.grad is None else self.own.grad + mine\\n
"""
