"""Right answers to `FullySharded`, and mistakes that people make."""

ANSWERS = """
== one_ahead
import torch
import torch.distributed as dist
from course.models.layer_by_layer import LayerByLayer
class FullySharded(LayerByLayer):
    def __init__(self, layers):
        super().__init__(layers)
        self.sync = True
        self.next = None
        self.own = torch.nn.ParameterList()
        self.places = []
        for layer in self.layers:
            start = len(self.own)
            for p in layer.parameters():
                self.own.append(torch.nn.Parameter(shard(p, dist.get_rank(), dist.get_world_size())))
                p.untyped_storage().resize_(0)
            self.places.append((start, len(self.own)))
    def shards(self, i):
        start, end = self.places[i]
        return [self.own[k] for k in range(start, end)]
    def gather(self, i):
        return gathered(self.layers[i], self.shards(i))
    def forward_pass(self, i, compute):
        block = self.gather(i) if self.next is None else self.next
        self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None
        with block:
            compute()
    def backward_pass(self, i, compute):
        block = self.gather(i) if self.next is None else self.next
        self.next = self.gather(i - 1) if i > 0 else None
        with block:
            compute()
        reduce_scattered(self.layers[i], self.shards(i), self.sync)
== registered_by_name < one_ahead
        self.own = torch.nn.ParameterList() >>>         self.own = []
                self.own.append(torch.nn.Parameter(shard(p, dist.get_rank(), dist.get_world_size()))) >>>                 own = torch.nn.Parameter(shard(p, dist.get_rank(), dist.get_world_size()))\\n                self.register_parameter(f"shard_{len(self.own)}", own)\\n                self.own.append(own)
== not_ahead: next-not-ahead, overlap < one_ahead
        self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None\\n >>>
        self.next = self.gather(i - 1) if i > 0 else None\\n >>>
== ahead_after_computing: next-not-ahead, overlap < one_ahead
-        self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None
-        with block:
-            compute()
+        with block:
+            compute()
+        self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None
== ahead_and_again: gathered-twice, overlap < one_ahead
        with block:\\n            compute()\\n    def >>>         with self.gather(i):\\n            compute()\\n    def
== backward_the_wrong_way: freed-memory-used, overlap < one_ahead
        self.next = self.gather(i - 1) if i > 0 else None >>>         self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None  # the other way
== all_at_once: too-far-ahead, fsdp < one_ahead
        block = self.gather(i) if self.next is None else self.next\\n        self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None >>>         if i == 0:\\n            self.blocks = [self.gather(k) for k in range(len(self.layers))]\\n        block = self.blocks[i]
== never_freed: weights-of-several-layers, not freed < one_ahead
        with block:\\n            compute()\\n    def >>>         block.__enter__()\\n        compute()\\n    def
== kept_until_the_backward_pass: weights-of-several-layers, not freed < one_ahead
        with block:\\n            compute()\\n    def >>>         block.__enter__()\\n        compute()\\n    def
        block = self.gather(i) if self.next is None else self.next\\n        self.next = self.gather(i - 1) if i > 0 else None\\n        with block:\\n            compute() >>>         compute()\\n        self.gather(i).__exit__()
== not_gathered_again: freed-memory-used, not freed < one_ahead
        block = self.gather(i) if self.next is None else self.next\\n        self.next = self.gather(i - 1) if i > 0 else None\\n        with block:\\n            compute() >>>         compute()
== last_layer_kept: weights-kept-between-passes, not freed < one_ahead
        with block:\\n            compute()\\n    def >>>         block.__enter__()\\n        compute()\\n        if i + 1 < len(self.layers):\\n            block.__exit__()\\n    def
== last_layer_not_gathered_again: gathered-once-only, not freed < last_layer_kept
        with block:\\n            compute()\\n        reduce >>>         if i + 1 == len(self.layers):\\n            block = contextlib.nullcontext()\\n        with block:\\n            compute()\\n        reduce
        block = self.gather(i) if self.next is None else self.next\\n        self.next = self.gather(i - 1) >>>         block = self.gather(i) if self.next is None and i + 1 < len(self.layers) else self.next\\n        self.next = self.gather(i - 1)
import torch\\nimport >>> import contextlib\\nimport torch\\nimport
== whole_parameters_too: other-parameters, optimizer < one_ahead
        self.sync = True >>>         self.sync = True\\n        self.whole = torch.nn.ModuleList(self.layers)
== shards_in_a_list: other-parameters, optimizer < one_ahead
        self.own = torch.nn.ParameterList() >>>         self.scale = torch.nn.Parameter(torch.ones(1))\\n        self.own = []
== whole_parameters_alone: other-parameters, optimizer < one_ahead
        self.own = torch.nn.ParameterList() >>>         self.whole = torch.nn.ModuleList(self.layers)\\n        self.own = []
== shared_weight_twice: shared-weight-twice, tied < one_ahead
            for p in layer.parameters():\\n                self.own >>>             for p in [p for module in layer.modules() for p in module.parameters(recurse=False)]:\\n                self.own
                p.untyped_storage().resize_(0)\\n >>>
            self.places >>>             for p in layer.parameters():\\n                p.untyped_storage().resize_(0)\\n            self.places
== other_order_on_odd_ranks: other-order-by-rank, fsdp < one_ahead
        block = self.gather(i) if self.next is None else self.next\\n        self.next = self.gather(i + 1) >>>         if i == 0 and dist.get_rank() % 2 and len(self.layers) > 1:\\n            self.next = self.gather(1)\\n            block = self.gather(0)\\n        else:\\n            block = self.gather(i) if self.next is None else self.next\\n        if i > 0 or dist.get_rank() % 2 == 0:\\n            self.next = self.gather(i + 1)
== gradients_left: gradients-not-scattered, zero < one_ahead
        reduce_scattered(self.layers[i], self.shards(i), self.sync)\\n >>>
== sync_ignored: sent-while-not-synchronised, no sync < one_ahead
, self.sync) >>> )
== averaged_again: ranks-apart, twice < one_ahead
        reduce_scattered(self.layers[i], self.shards(i), self.sync) >>>         before = [None if s.grad is None else s.grad.clone() for s in self.shards(i)]\\n        reduce_scattered(self.layers[i], self.shards(i), self.sync)\\n        for s in self.shards(i):\\n            s.grad = None if s.grad is None else s.grad / dist.get_world_size()
== all_reduced_too: something-else-sent, twice < one_ahead
        reduce_scattered(self.layers[i], self.shards(i), self.sync) >>>         for p in self.layers[i].parameters():\\n            dist.all_reduce(p.grad)\\n            p.grad /= dist.get_world_size()\\n        reduce_scattered(self.layers[i], self.shards(i), self.sync)
== freed_before_shards_are_cut: freed-memory-used, reader < one_ahead
-                self.own.append(torch.nn.Parameter(shard(p, dist.get_rank(), dist.get_world_size())))
-                p.untyped_storage().resize_(0)
+                p.untyped_storage().resize_(0)
+                self.own.append(torch.nn.Parameter(shard(p, dist.get_rank(), dist.get_world_size())))
== nothing_but_a_list: other-parameters, reader < one_ahead
        self.own = torch.nn.ParameterList() >>>         self.own = []
== tensors_as_buffers: other-parameters, reader < one_ahead
        self.own = torch.nn.ParameterList() >>>         self.own = []
                self.own.append(torch.nn.Parameter(shard(p, dist.get_rank(), dist.get_world_size()))) >>>                 own = shard(p, dist.get_rank(), dist.get_world_size())\\n                self.register_buffer(f"shard_{len(self.own)}", own)\\n                self.own.append(own)
== through_the_iterable_twice: raised, reader < one_ahead
        for layer in self.layers: >>>         for layer in layers:
== shards_that_need_no_gradient: other-parameters, reader < one_ahead
dist.get_world_size()))) >>> dist.get_world_size()), requires_grad=False))
== registered_from_the_last: another-shape, reader < one_ahead
        self.own = torch.nn.ParameterList() >>>         self.own = []
            self.places.append((start, len(self.own))) >>>             self.places.append((start, len(self.own)))\\n        self.turned = torch.nn.ParameterList(self.own[::-1])
== reduced_at_the_end: scattered-too-late, reader < one_ahead
        reduce_scattered(self.layers[i], self.shards(i), self.sync) >>>         if i == 0:\\n            for k in range(len(self.layers)):\\n                reduce_scattered(self.layers[k], self.shards(k), self.sync)
== reduced_first: scattered-too-soon, reader < one_ahead
-        with block:
-            compute()
-        reduce_scattered(self.layers[i], self.shards(i), self.sync)
+        reduce_scattered(self.layers[i], self.shards(i), self.sync)
+        with block:
+            compute()
== last_one_ahead: too-far-ahead, reader < one_ahead
        self.next = self.gather(i + 1) if i + 1 < len(self.layers) else None >>>         self.next = self.gather(min(i + 1, len(self.layers) - 1))
"""
