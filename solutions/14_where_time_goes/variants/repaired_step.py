"""Right answers to `repaired_step`, and mistakes that people make."""

ANSWERS = r"""
import torch
import torch.distributed as dist
def repaired_step(model, micro_batches, loss_fn):
== flattened_by_torch
    from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
    model.zero_grad()
    losses = []
    for x, y in micro_batches:
        loss = loss_fn(model(x), y)
        (loss / len(micro_batches)).backward()
        losses.append(loss.detach())
    grads = [each.grad for each in model.parameters() if each.grad is not None]
    flat = _flatten_dense_tensors(grads) / dist.get_world_size()
    dist.all_reduce(flat)
    for grad, mean in zip(grads, _unflatten_dense_tensors(flat, grads)):
        grad.copy_(mean)
    total = torch.stack(losses).mean()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()
== gradients_of_the_sum
    trained = [each for each in model.parameters() if each.requires_grad]
    losses = [loss_fn(model(x), y) for x, y in micro_batches]
    loss = sum(losses) / len(losses)
    grads = torch.autograd.grad(loss, trained)
    row = torch.cat([each.reshape(-1) for each in grads] + [loss.detach().reshape(1)])
    dist.all_reduce(row, op=dist.ReduceOp.SUM)
    row = row / dist.get_world_size()
    place = 0
    for each in trained:
        each.grad = row[place : place + each.numel()].view(each.shape).clone()
        place += each.numel()
    return float(row[-1])
== copied_as_it_was: waits-too-often, item
    model.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        with torch.no_grad():
            total += loss_fn(model(x), y).item() / len(micro_batches)
    for parameter in model.parameters():
        if parameter.requires_grad:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    mean = torch.tensor(total)
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
== item_in_each: waits-too-often, item < solution
total = total + loss.detach() >>> total = total + loss.item()
== printed: waits-too-often, logged anyhow < solution
total = total + loss.detach() >>> total = total + loss.detach()\n        log.append(f"loss {loss}")
total = torch.zeros(()) >>> total, log = torch.zeros(()), []
== checked_for_nan: waits-too-often, logged anyhow < solution
        loss.backward() >>>         if torch.isnan(loss):\n            continue\n        loss.backward()
== second_forward_pass: second-forward-pass, logged anyhow < solution
        total = total + loss.detach() >>>         with torch.no_grad():\n            total = total + loss_fn(model(x), y) / len(micro_batches)
== for_each_parameter: all-reduce-for-each-parameter, per parameter
    model.zero_grad()
    total = torch.zeros(())
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        total = total + loss.detach()
    for parameter in model.parameters():
        if parameter.requires_grad:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()
== started_at_once: all-reduce-for-each-parameter, per parameter < for_each_parameter
dist.all_reduce(parameter.grad)\n            parameter.grad /= dist.get_world_size() >>> parameter.grad /= dist.get_world_size()\n            handles.append(dist.all_reduce(parameter.grad, async_op=True))
    dist.all_reduce(total) >>>     for handle in handles:\n        handle.wait()\n    dist.all_reduce(total)
total = torch.zeros(()) >>> total, handles = torch.zeros(()), []
== for_each_micro_batch: all-reduce-for-each-micro-batch, each micro-batch
    trained = [each for each in model.parameters() if each.requires_grad]
    mean, total = 0.0, 0.0
    for x, y in micro_batches:
        model.zero_grad()
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        row = torch.cat([each.grad.flatten() for each in trained] + [loss.detach().view(1)])
        dist.all_reduce(row)
        mean = mean + row / dist.get_world_size()
    parts = mean.split([each.numel() for each in trained] + [1])
    for parameter, part in zip(trained, parts):
        parameter.grad = part.view_as(parameter)
    return parts[-1].item()
== wrapped: not-in-the-record, each micro-batch
    from torch.nn.parallel import DistributedDataParallel
    model.zero_grad()
    wrapper = DistributedDataParallel(model)
    total = torch.zeros(())
    for x, y in micro_batches:
        wrapper.require_backward_grad_sync = x is micro_batches[-1][0]
        loss = loss_fn(wrapper(x), y) / len(micro_batches)
        loss.backward()
        total = total + loss.detach()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()
== summed: ranks-summed, own part < solution
    row /= dist.get_world_size()\n >>>
parts[-1].item() >>> parts[-1].item() / dist.get_world_size()
== averaged_twice: averaged-twice, own part < solution
part.view_as(parameter) >>> part.view_as(parameter) / dist.get_world_size()
== targets_first: arguments-swapped, order < solution
loss_fn(model(x), y) >>> loss_fn(y, model(x))
== never_sent: own-gradient-only, own part < flattened_by_torch
        grad.copy_(mean) >>>         pass
_flatten_dense_tensors(grads) / dist.get_world_size() >>> _flatten_dense_tensors(grads)
== micro_batches_summed: micro-batches-summed, own part < flattened_by_torch
(loss / len(micro_batches)).backward() >>> loss.backward()
== last_alone: last-micro-batch-only, own part < solution
        loss = loss_fn >>>         model.zero_grad()\n        loss = loss_fn
== old_ones_kept: carried-over, own part < solution
    model.zero_grad()\n >>>
== own_loss: own-loss, own part < flattened_by_torch
    dist.all_reduce(total)\n    return total.item() / dist.get_world_size() >>>     return total.item()
== losses_summed: losses-summed, own part < flattened_by_torch
total.item() / dist.get_world_size() >>> total.item()
== micro_batch_losses_summed: micro-batch-losses-summed, own part < flattened_by_torch
torch.stack(losses).mean() >>> torch.stack(losses).sum()
== last_loss: last-loss-only, own part < flattened_by_torch
torch.stack(losses).mean() >>> losses[-1].clone()
"""
