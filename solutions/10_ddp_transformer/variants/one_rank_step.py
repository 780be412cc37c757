"""Right answers to `one_rank_step`, and mistakes that people make."""

ANSWERS = r"""
import torch
def one_rank_step(model, batch, optimizer, loss_fn):
== plain
    src, tgt_in, tgt_out = (tensor.to(next(model.parameters()).device) for tensor in batch)
    model.train()
    optimizer.zero_grad()
    loss = loss_fn(model(src, tgt_in), tgt_out) / (tgt_out != PAD).sum()
    loss.backward()
    optimizer.step()
    return loss.item()
== gradients_divided_afterwards
    device = next(model.parameters()).device
    src, tgt_in, tgt_out = batch
    tokens = int((tgt_out != 0).sum())
    model.train()
    loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
    model.zero_grad(set_to_none=False)
    loss.backward()
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= tokens
    optimizer.step()
    return float(loss) / tokens
== a_closure_in_the_step
    device = next(model.parameters()).device
    src, tgt_in, tgt_out = (each.to(device) for each in batch)
    model.train()

    def closure():
        optimizer.zero_grad()
        mean = loss_fn(model(src, tgt_in), tgt_out) / (tgt_out != PAD).sum()
        mean.backward()
        return mean

    return float(optimizer.step(closure).detach())
== tokens_of_tgt_in_and_logits_back < plain
(tgt_out != PAD).sum() >>> torch.count_nonzero(tgt_in)
== without_backward < plain
loss.backward() >>> parameters = [each for each in model.parameters() if each.requires_grad]\n    gradients = torch.autograd.grad(loss, parameters)\n    for parameter, gradient in zip(parameters, gradients):\n        parameter.grad = gradient
== not_divided: sum-not-mean, normalisation < plain
 / (tgt_out != PAD).sum() >>>
return loss.item() >>> return loss.item() / int((tgt_out != PAD).sum())
== padding_counted: padding-counted, tokens of all micro-batches < plain
(tgt_out != PAD).sum() >>> tgt_out.numel()
== per_sentence: wrong-weights, normalisation < plain
(tgt_out != PAD).sum() >>> len(tgt_out)
== clipped: wrong-weights, clipping < plain
loss.backward() >>> loss.backward()\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
== clipped_at_10: wrong-weights, clipping < plain
loss.backward() >>> loss.backward()\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 9.9)
== rate_scaled: sum-not-mean, normalisation < plain
 / (tgt_out != PAD).sum() >>>
optimizer.step() >>> tokens = int((tgt_out != PAD).sum())\n    for group in optimizer.param_groups:\n        group["lr"] /= tokens\n    optimizer.step()\n    for group in optimizer.param_groups:\n        group["lr"] *= tokens
return loss.item() >>> return loss.item() / tokens
== divided_after_the_step: scaled-too-late, normalisation < plain
 / (tgt_out != PAD).sum() >>>
optimizer.step() >>> optimizer.step()\n    tokens = int((tgt_out != PAD).sum())\n    for parameter in model.parameters():\n        if parameter.grad is not None:\n            parameter.grad /= tokens
return loss.item() >>> return loss.item() / tokens
== zero_grad_missing: gradient-carried-over, not by accumulation < plain
\n    optimizer.zero_grad() >>>
== zero_grad_before_the_step: no-step, not by accumulation < plain
optimizer.step() >>> optimizer.zero_grad()\n    optimizer.step()
== no_step: no-step, not by accumulation < plain
\n    optimizer.step() >>>
== eval_mode: not-train-mode, docs < plain
\n    model.train() >>>
== stays_on_the_cpu: not-on-device, not moved < plain
(tensor.to(next(model.parameters()).device) for tensor in batch) >>> batch
== target_stays_on_the_cpu: not-on-device, not moved < plain
src, tgt_in, tgt_out = (tensor.to(next(model.parameters()).device) for tensor in batch) >>> src, tgt_in = (tensor.to(next(model.parameters()).device) for tensor in batch[:2])\n    tgt_out = batch[2]
== wrong_sign: wrong-sign, normalisation < plain
loss.backward() >>> (-loss).backward()
== sum_returned: loss-not-divided, normalisation < plain
return loss.item() >>> return loss.item() * int((tgt_out != PAD).sum())
== loss_with_padding: loss-with-padding, tokens of all micro-batches < sum_returned
* int((tgt_out != PAD).sum()) >>> * int((tgt_out != PAD).sum()) / tgt_out.numel()
== loss_afterwards: loss-after-step, normalisation < plain
return loss.item() >>> return (loss_fn(model(src, tgt_in), tgt_out) / (tgt_out != PAD).sum()).item()
== tensor_returned: not-a-float, normalisation < plain
loss.item() >>> loss.detach()
== nothing_returned: no-number, normalisation < plain
\n    return loss.item() >>>
"""
