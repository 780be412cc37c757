"""Right answers to `broadcast_state`, and mistakes that people make."""

ANSWERS = """
import torch
import torch.distributed as dist
def broadcast_state(module):
== on_data
    for tensor in list(module.parameters()) + list(module.buffers()):
        dist.broadcast(tensor.data, 0)
== asynchronous
    pending = [dist.broadcast(each.detach(), src=0, async_op=True) for each in module.buffers()]
    pending += [dist.broadcast(each.detach(), src=0, async_op=True) for each in module.parameters()]
    for work in pending:
        work.wait()
== by_submodules
    seen = set()
    for part in module.modules():
        for tensor in [*part._parameters.values(), *part._buffers.values()]:
            if tensor is not None and id(tensor) not in seen:
                seen.add(id(tensor))
                dist.broadcast(tensor.detach(), src=0)
== copied_back
    for tensor in [*module.parameters(), *module.buffers()]:
        values = tensor.detach().clone().contiguous()
        dist.broadcast(values, src=0)
        with torch.no_grad():
            tensor.copy_(values)
== nothing_done: nothing-broadcast, ddp
    pass
== copies: copies-broadcast, broadcast
    for tensor in [*module.parameters(), *module.buffers()]:
        dist.broadcast(tensor.detach().clone(), src=0)
== not_waited_for: never-waited, broadcast < solution
dist.broadcast(tensor, src=0) >>> dist.broadcast(tensor, src=0, async_op=True)
== own_order: size-differs, order < solution
[*module.parameters(), *module.buffers()] >>> [*[*module.parameters()][:2][:: 1 if dist.get_rank() % 2 else -1], *[*module.parameters()][2:], *module.buffers()]
== without_buffers: buffers-left, buffers < solution
[*module.parameters(), *module.buffers()] >>> module.parameters()
== trained_only: frozen-left, frozen < solution
[*module.parameters(), *module.buffers()] >>> [*(p for p in module.parameters() if p.requires_grad), *module.buffers()]
== trained_parameters_only: frozen-left, frozen < solution
[*module.parameters(), *module.buffers()] >>> [p for p in module.parameters() if p.requires_grad]
== state_dict: unsaved-buffers-left, state < solution
[*module.parameters(), *module.buffers()] >>> module.state_dict().values()
== state_dict_twice: tensor-sent-twice, state < solution
[*module.parameters(), *module.buffers()] >>> [*module.state_dict().values(), module.table]
== state_dict_object: not-one-for-each, state
    states = [module.state_dict()]
    dist.broadcast_object_list(states, src=0)
    module.load_state_dict(states[0])
== all_in_one: not-one-for-each, ddp
    tensors = [*module.parameters(), *module.buffers()]
    flat = torch.cat([each.detach().double().flatten() for each in tensors])
    dist.broadcast(flat, src=0)
    with torch.no_grad():
        for tensor, part in zip(tensors, flat.split([each.numel() for each in tensors])):
            tensor.copy_(part.view_as(tensor))
== averaged: averaged, weights
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if tensor.is_floating_point():
                dist.all_reduce(tensor)
                tensor /= dist.get_world_size()
== last_rank: of-another-rank, broadcast < solution
src=0 >>> src=dist.get_world_size() - 1
== all_trained: requires-grad-changed, ddp
    for tensor in [*module.parameters(), *module.buffers()]:
        tensor.requires_grad_(False)
        dist.broadcast(tensor, src=0)
        if tensor.is_floating_point():
            tensor.requires_grad_(True)
== new_parameters: other-tensors, ddp
    for tensor in module.buffers():
        dist.broadcast(tensor, src=0)
    for parameter in module.parameters():
        values = parameter.detach().clone().contiguous()
        dist.broadcast(values, src=0)
        parameter.data = values
== contiguous_ones: sent-from-a-copy, broadcast < solution
dist.broadcast(tensor, src=0) >>> dist.broadcast(tensor.contiguous(), src=0)
== rank_0_only: call-missing, broadcast < solution
    with torch.no_grad() >>>     if dist.get_rank():\\n        return\\n    with torch.no_grad()
== in_single_precision: float32, broadcast < copied_back
tensor.detach().clone().contiguous() >>> tensor.detach().float().clone().contiguous()
"""
