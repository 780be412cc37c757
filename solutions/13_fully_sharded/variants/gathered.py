"""Right answers to `gathered`, and mistakes that people make."""

ANSWERS = """
== with_a_list
import torch
import torch.distributed as dist
class gathered:
    def __init__(self, layer, shards):
        self.ps, self.shards = list(layer.parameters()), list(shards)
        own = torch.cat([s.reshape(-1) for s in self.shards])
        self.rows = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        self.work = dist.all_gather(self.rows, own, async_op=True)
    def __enter__(self):
        self.work.wait()
        start = 0
        for p, s in zip(self.ps, self.shards):
            end = start + s.numel()
            whole = torch.cat([row[start:end].view(s.shape) for row in self.rows])
            p.untyped_storage().resize_(p.numel() * p.element_size())
            p.data.copy_(whole[: p.shape[0]])
            start = end
        self.rows = None
        return self
    def __exit__(self, kind, value, trace):
        for p in self.ps:
            p.untyped_storage().resize_(0)
        return False
== with_tensor_data < with_a_list
            p.data.copy_(whole[: p.shape[0]]) >>>             p.detach().data.copy_(whole[: p.shape[0]])
== with_a_generator < with_a_list
    def __enter__(self): >>>     def filled(self):
        return self\\n >>>         try:\\n            yield\\n        finally:\\n            self.free()\\n    def __enter__(self):\\n        self.running = self.filled()\\n        next(self.running)\\n
    def __exit__(self, kind, value, trace): >>>     def __exit__(self, kind, value, trace):\\n        self.running.close()\\n    def free(self):
        return False\\n >>>
== version_counter_preserved < with_a_list
            p.data.copy_(whole[: p.shape[0]]) >>>             with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(p):\\n                p.copy_(whole[: p.shape[0]])
== not_freed: never-freed, not freed < with_a_list
            p.untyped_storage().resize_(0) >>>             pass
== freed_without_errors: kept-after-an-error, not freed < with_a_list
        for p in self.ps:\\n            p.untyped_storage().resize_(0) >>>         for p in self.ps if kind is None else []:\\n            p.untyped_storage().resize_(0)
== swallowed: error-swallowed, fsdp < with_a_list
        return False >>>         return True
== cut_by_rank: rows-cut-by-rank, stages differ < with_a_list
            end = start + s.numel() >>>             end = start + len(self.rows) * s.numel()
            whole = torch.cat([row[start:end].view(s.shape) for row in self.rows]) >>>             whole = torch.cat(self.rows)[start:end].view(-1, *s.shape[1:])
== in_enter: gathered-too-late, overlap < with_a_list
        self.work = dist.all_gather(self.rows, own, async_op=True) >>>         self.own = own
        self.work.wait() >>>         dist.all_gather(self.rows, self.own)
== synchronous: waited-for-at-once, overlap < with_a_list
        self.work = dist.all_gather(self.rows, own, async_op=True) >>>         dist.all_gather(self.rows, own)
        self.work.wait()\\n >>>
== waits_in_init: waited-for-at-once, overlap < with_a_list
        self.work = dist.all_gather(self.rows, own, async_op=True) >>>         dist.all_gather(self.rows, own, async_op=True).wait()
        self.work.wait()\\n >>>
== one_each: one-row-would-do, fsdp
import torch
import torch.distributed as dist
class gathered:
    def __init__(self, layer, shards):
        self.ps = list(layer.parameters())
        self.rows = [torch.empty(dist.get_world_size() * s.shape[0], *s.shape[1:], dtype=s.dtype) for s in shards]
        self.work = [dist.all_gather_into_tensor(r, s, async_op=True) for r, s in zip(self.rows, shards)]
    def __enter__(self):
        for p, r, w in zip(self.ps, self.rows, self.work):
            w.wait()
            p.untyped_storage().resize_(p.nbytes)
            p.data.copy_(r[: len(p)])
        self.rows = r = None
    def __exit__(self, *error):
        for p in self.ps:
            p.untyped_storage().resize_(0)
== objects: other-collectives, zero < with_a_list
        self.work = dist.all_gather(self.rows, own, async_op=True) >>>         for r, row in enumerate(self.rows):\\n            row.copy_(own)\\n            dist.broadcast(row, r)
        self.work.wait()\\n >>>
== copied_under_no_grad: taken-for-a-change, version < with_a_list
            p.data.copy_(whole[: p.shape[0]]) >>>             with torch.no_grad():\\n                p.copy_(whole[: p.shape[0]])
== memory_replaced: other-parameters, not freed < with_a_list
-            p.untyped_storage().resize_(p.numel() * p.element_size())
-            p.data.copy_(whole[: p.shape[0]])
+            p.data = whole[: p.shape[0]].clone()
== memory_of_the_padding: other-memory-than-weights, not freed < with_a_list
-            p.untyped_storage().resize_(p.numel() * p.element_size())
-            p.data.copy_(whole[: p.shape[0]])
+            p.data = whole[: p.shape[0]]
== own_shards: another-value, zero < with_a_list
            whole = torch.cat([row[start:end].view(s.shape) for row in self.rows]) >>>             whole = torch.cat([s for row in self.rows])
== not_resized: freed-memory-used, fsdp < with_a_list
            p.untyped_storage().resize_(p.numel() * p.element_size())\\n >>>
== padding_kept: raised, chunks < with_a_list
whole[: p.shape[0]] >>> whole
== row_kept: row-kept, reader < with_a_list
        self.rows = None\\n >>>
== row_kept_by_its_views: row-kept, reader < with_a_list
        own = torch.cat([s.reshape(-1) for s in self.shards])\\n        self.rows = [torch.empty_like(own) for _ in range(dist.get_world_size())] >>>         own = torch.cat([s.reshape(-1) for s in self.shards])\\n        self.rows = [*torch.empty(dist.get_world_size(), own.numel(), dtype=own.dtype)]\\n        self.first = self.rows[0]
== nobody_waits: not-waited-for, reader < with_a_list
        self.work.wait()\\n >>>
== waits_at_the_end: not-waited-for, reader < with_a_list
        self.work.wait()\\n >>>
        return False >>>         self.work.wait()\\n        return False
== memory_when_it_is_made: filled-too-soon, reader < with_a_list
        own = torch.cat( >>>         for p in self.ps:\\n            p.untyped_storage().resize_(p.nbytes)\\n        own = torch.cat(
== in_double: other-bytes-in-the-row, reader < with_a_list
for s in self.shards])\\n >>> for s in self.shards]).double()\\n
== shared_weight_twice: raised, tied < with_a_list
list(layer.parameters()), >>> [p for m in layer.modules() for p in m.parameters(recurse=False)],
zip(self.ps, self.shards) >>> zip(self.ps, self.shards, strict=True)
== as_many_bytes_as_numbers: freed-memory-used, reader < with_a_list
p.numel() * p.element_size() >>> p.numel()
"""
