"""Right answers to `average_gradients`, and mistakes that people make."""

ANSWERS = """
import torch
import torch.distributed as dist
def average_gradients(module):
== operation_average
    for p in filter(lambda p: p.requires_grad, module.parameters()):
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
== divided_before
    size = dist.get_world_size()
    trained = [p for p in module.parameters() if p.requires_grad]
    for p in reversed(trained):
        mean = torch.zeros_like(p) if p.grad is None else p.grad / size
        dist.all_reduce(mean)
        p.grad = mean
== all_started_first
    trained = [p for p in module.parameters() if p.requires_grad]
    handles = []
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        handles.append(dist.all_reduce(p.grad, async_op=True))
    for p, handle in zip(trained, handles):
        handle.wait()
        p.grad.div_(dist.get_world_size())
== nothing_sent: nothing-sent, ddp
    pass
== only_with_gradient: size-differs, none
    for parameter in module.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
== sum_only: sum-not-average, sum < solution
parameter.grad /= size >>> pass
== rank_0s: rank-0-gradient, broadcast
    for parameter in module.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.broadcast(parameter.grad, src=0)
== weights_averaged: weights-changed, weights
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter)
                parameter /= dist.get_world_size()
== weights_summed: weights-changed, weights
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter)
== by_four: number-in-the-code, sum < solution
parameter.grad /= size >>> parameter.grad /= 4
== contiguous_ones: sum-in-a-copy, broadcast < solution
dist.all_reduce(parameter.grad) >>> dist.all_reduce(parameter.grad.contiguous())
== nothing_to_do_here: call-missing, skipped < solution
    for parameter in module.parameters(): >>>     for parameter in module.parameters() if any(p.grad is not None for p in module.parameters()) else ():
== zeros_of_the_default_type: dtype-differs, none
    for parameter in module.parameters():
        if parameter.requires_grad:
            total = torch.zeros(parameter.shape) if parameter.grad is None else parameter.grad.clone()
            dist.all_reduce(total)
            parameter.grad = total.to(parameter.dtype) / dist.get_world_size()
== own_order: size-differs, order < solution
module.parameters(): >>> list(module.parameters())[:: 1 if dist.get_rank() % 2 else -1]:
== used_ones_first: size-differs, order < solution
module.parameters(): >>> sorted(module.parameters(), key=lambda p: p.grad is None):
== in_one: other-sizes, buckets
    trained = [p for p in module.parameters() if p.requires_grad]
    flat = torch.cat([torch.zeros(p.numel(), dtype=p.dtype, device=p.device) if p.grad is None else p.grad.flatten() for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, part in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = part.view_as(p)
== frozen_too: frozen-averaged, frozen < solution
if parameter.requires_grad: >>> if True:
== not_waited: never-waited, async < solution
dist.all_reduce(parameter.grad) >>> dist.all_reduce(parameter.grad, async_op=True)
== waited_after_dividing: divided-too-soon, async
    handles = []
    for parameter in module.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            handles.append(dist.all_reduce(parameter.grad, async_op=True))
            parameter.grad /= dist.get_world_size()
    for handle in handles:
        handle.wait()
== none_stays: gradient-missing, tape
    for parameter in module.parameters():
        if parameter.requires_grad:
            total = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
            dist.all_reduce(total)
            if parameter.grad is not None:
                parameter.grad = total / dist.get_world_size()
== by_users: users-only, skipped
    for parameter in module.parameters():
        if parameter.requires_grad:
            has = torch.tensor([parameter.grad is not None], dtype=torch.float64, device=parameter.device)
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
            dist.all_reduce(has)
            parameter.grad /= has
== copy_reduced: own-gradient-divided, async < solution
dist.all_reduce(parameter.grad) >>> dist.all_reduce(parameter.grad.clone())
== gathered: averages-otherwise, sum
    for parameter in module.parameters():
        if parameter.requires_grad:
            own = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            parts = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
            dist.all_gather(parts, own)
            parameter.grad = sum(parts) / len(parts)
"""
