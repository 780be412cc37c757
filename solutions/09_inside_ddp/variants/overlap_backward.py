"""Right answers to `overlap_backward`, and mistakes that people make."""

ANSWERS = """
import torch
import torch.distributed as dist
def overlap_backward(module):
== dictionary_and_average
    handles = {}
    def begin(p):
        p.grad /= dist.get_world_size()
        handles[p] = dist.all_reduce(p.grad, async_op=True)
    for p in [p for p in module.parameters() if p.requires_grad]:
        p.register_post_accumulate_grad_hook(begin)
    def finish():
        while handles:
            handles.popitem()[1].wait()
    return finish
== class_with_futures
    class Overlap:
        def __init__(self):
            self.works = []
            for p in module.parameters():
                if p.requires_grad:
                    p.register_post_accumulate_grad_hook(self.hook)
        def hook(self, p):
            self.works += [(p, dist.all_reduce(p.grad, op=dist.ReduceOp.SUM, async_op=True))]
        def __call__(self):
            works, self.works = self.works, []
            for p, work in works:
                work.wait()
                p.grad.mul_(1 / dist.get_world_size())
    return Overlap()
== copies_sent
    sent = []
    def hook(p):
        total = p.grad.clone()
        sent.append((p, total, dist.all_reduce(total, async_op=True)))
    for p in module.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        for p, total, work in sent:
            work.wait()
            p.grad = total / dist.get_world_size()
        del sent[:]
    return finish
== hooks_argument: weights-changed, argument < solution
dist.all_reduce(parameter.grad, >>> dist.all_reduce(parameter.detach(),
== by_four: number-in-the-code, sum < copies_sent
p.grad = total / dist.get_world_size() >>> p.grad = total / 4
== tensor_hooks: what-lay-there-lost, tensor-hook
    started = []
    def watch(parameter):
        def start(gradient):
            total = gradient.clone()
            started.append((parameter, total, dist.all_reduce(total, async_op=True)))
        parameter.register_hook(start)
    for parameter in module.parameters():
        if parameter.requires_grad:
            watch(parameter)
    def finish():
        for parameter, total, handle in started:
            handle.wait()
            parameter.grad = total / dist.get_world_size()
        started.clear()
    return finish
== divided_at_once: divided-too-soon, async < solution
started.append((parameter, dist.all_reduce(parameter.grad, async_op=True))) >>> started.append((parameter, dist.all_reduce(parameter.grad, async_op=True)));parameter.grad.div_(size)
parameter.grad /= size >>> pass
== never_cleared: divided-again, async < solution
    started.clear() >>>
== never_cleared_copies: another-value, blind
    started = []
    def hook(p):
        total = p.grad.detach().contiguous()
        started.append((p, total, dist.all_reduce(total, async_op=True)))
    for p in module.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        for p, total, handle in started:
            handle.wait()
            total.div_(dist.get_world_size())
            p.grad.copy_(total)
    return finish
== tensor_hooks_beside_what_lay_there: what-lay-there-not-averaged, blind
    started = []
    def attach(p):
        def hook(gradient):
            before = None if p.grad is None else p.grad.detach().clone()
            total = gradient.detach().clone(memory_format=torch.contiguous_format)
            started.append((p, before, total, dist.all_reduce(total, async_op=True)))
        p.register_hook(hook)
    for p in module.parameters():
        if p.requires_grad:
            attach(p)
    def finish():
        for p, before, total, handle in started:
            handle.wait()
            average = total / dist.get_world_size()
            p.grad.copy_(average if before is None else before + average)
        started.clear()
    return finish
== waited_in_the_hook: waited-in-backward, hook < solution
dist.all_reduce(parameter.grad, async_op=True))) >>> dist.all_reduce(parameter.grad, async_op=True)));started[-1][1].wait()
== synchronous_hook: waited-in-backward, hook
    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad.div_(dist.get_world_size())
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)
    return lambda: None
== all_after_backward: sent-after-backward, ddp
    trained = [p for p in module.parameters() if p.requires_grad]
    def finish():
        for p, work in [(p, dist.all_reduce(p.grad, async_op=True)) for p in trained]:
            work.wait()
            p.grad /= dist.get_world_size()
    return finish
== one_hook_for_all: sent-after-backward, hook
    ready, trained = [], [p for p in module.parameters() if p.requires_grad]
    for p in trained:
        p.register_post_accumulate_grad_hook(ready.append)
    def finish():
        for p in ready:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        ready.clear()
    return finish
== when_all_are_there: sent-late, hook
    ready, works, trained = [], [], [p for p in module.parameters() if p.requires_grad]
    def hook(p):
        ready.append(p)
        if len(ready) == len(trained):
            works.extend(dist.all_reduce(each.grad, async_op=True) for each in ready)
    for p in trained:
        p.register_post_accumulate_grad_hook(hook)
    def finish():
        for p, work in zip(ready, works):
            work.wait()
            p.grad /= dist.get_world_size()
        ready.clear(), works.clear()
    return finish
== never_waited: never-waited, async
    def start(p):
        p.grad /= dist.get_world_size()
        dist.all_reduce(p.grad, async_op=True)
    for p in module.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(start)
    return lambda: None
== last_one_waited: never-waited, async < solution
for parameter, handle in started: >>> for parameter, handle in started[-1:]:
== not_divided: sum-not-average, sum < solution
parameter.grad /= size >>> pass
== first_step_only: nothing-sent, hook < solution
        started.clear() >>>         started.clear()\\n        for each in hooks:\\n            each.remove()
parameter.register_post_accumulate_grad_hook(start) >>> hooks.append(parameter.register_post_accumulate_grad_hook(start))
    started = [] >>>     started, hooks = [], []
== no_function_back: no-function, hook < solution
    return finish >>>     return finish()
== finish_not_returned: no-function, hook < solution
    return finish >>>
== bound_late: one-gradient-again, hook
    size, handles = dist.get_world_size(), []
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trained:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.register_post_accumulate_grad_hook(lambda _: handles.append(dist.all_reduce(parameter.grad, async_op=True)))
    def finish():
        while handles:
            handles.pop().wait()
        for each in trained:
            each.grad /= size
    return finish
== contiguous_ones: sum-in-a-copy, broadcast < solution
dist.all_reduce(parameter.grad, async_op=True) >>> dist.all_reduce(parameter.grad.contiguous(), async_op=True)
"""
