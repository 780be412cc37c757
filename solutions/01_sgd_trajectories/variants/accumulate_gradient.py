"""Right answers to `accumulate_gradient`, and mistakes that people make."""

ANSWERS = r"""
import torch
def accumulate_gradient(model, loss_fn, micro_batches):
== divided_at_the_end
def accumulate_gradient(model, loss_fn, micro_batches):
    for p in model.parameters():
        p.grad = None
    total = 0
    for inputs, targets in micro_batches:
        (loss_fn(model(inputs), targets) * inputs.shape[0]).backward()
        total += inputs.shape[0]
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= total
== with_autograd_grad
    params = [p for p in model.parameters() if p.requires_grad]
    for p in params:
        p.grad = torch.zeros_like(p)
    for inputs, targets in micro_batches:
        share = len(inputs) / sum(len(x) for x, _ in micro_batches)
        grads = torch.autograd.grad(loss_fn(model(inputs), targets), params, materialize_grads=True)
        for p, grad in zip(params, grads):
            p.grad.add_(grad, alpha=share)
== one_backward_of_the_weighted_sum
    model.zero_grad(set_to_none=False)
    sizes = torch.tensor([float(len(x)) for x, _ in micro_batches])
    losses = torch.stack([loss_fn(model(x), t) for x, t in micro_batches])
    (losses * sizes / sizes.sum()).sum().backward()
== with_hooks
def accumulate_gradient(model, loss_fn, micro_batches):
    total, share = sum(len(x) for x, _ in micro_batches), [0.0]
    trained = [p for p in model.parameters() if p.requires_grad]
    handles = [p.register_hook(lambda grad: grad * share[0]) for p in trained]
    for p in trained:
        p.grad = None
    for x, t in micro_batches:
        share[0] = len(x) / total
        loss_fn(model(x), t).backward()
    for handle in handles:
        handle.remove()
== hooks_left: backward-changed, docs pytorch org 11 < with_hooks
\n    for handle in handles:\n        handle.remove() >>>
== mean_of_means: mean-of-micro-batch-means, huggingface co blog < solution
* len(inputs) / total >>> / len(micro_batches)
== loss_not_divided: micro-batches-not-averaged, nanoGPT 206 < solution
(loss * len(inputs) / total).backward() >>> loss.backward()
== sum_not_mean: sum-not-mean, pytorch s tutorial < solution
 / total >>>
== uphill: wrong-sign, error target output < solution
(loss * len >>> (-loss * len
== gradient_carried_over: gradient-carried-over, stackoverflow 48001598 < solution
model.zero_grad() >>> pass
== carried_over_where_there_is_one: gradient-carried-over, stackoverflow 48001598 < solution
model.zero_grad() >>> len(micro_batches) > 1 and model.zero_grad()
== only_one_part: one-micro-batch-only, docs pytorch org 7 < solution
loss = >>> model.zero_grad()\n        loss =
== wrong_weights: wrong-weights, keras 20241 < solution
len(inputs) / total >>> len(micro_batches[0][0]) / total
== parameters_moved: parameters-moved, docs pytorch org 8 < solution
.backward() >>> .backward()\n        [p.data.sub_(p.grad, alpha=0.1) for p in model.parameters() if p.grad is not None]
== no_gradient: no-gradient, a loss that < solution
(loss * len(inputs) / total).backward() >>> loss.item()
== arguments_changed: argument-changed, pop on a < solution
for inputs, targets in micro_batches: >>> while micro_batches:\n        inputs, targets = micro_batches.pop(0)
== frozen_has_gradient: frozen-has-gradient, discuss pytorch org 2 < solution
model.zero_grad() >>> model.zero_grad()\n    model.requires_grad_(True)
== all_at_once: all-at-once, discuss pytorch org 3 < solution
inputs, targets in micro_batches >>> inputs, targets in [map(torch.cat, zip(*micro_batches))]
== wrong_gradient: wrong-gradient, docs pytorch org 9 < solution
.backward() >>> .backward()\n        [p.grad.clamp_(-0.05, 0.05) for p in model.parameters() if p.grad is not None]
== raised: none-gradient, docs pytorch org 10 < divided_at_the_end
p.grad is not None >>> True
== raised_in_place: none-gradient, docs pytorch org 10 < divided_at_the_end
        if p.grad is not None:\n            p.grad /= total >>>         p.grad.div_(total)
== in_train_mode: mode-changed, docs pytorch org 8 < solution
    model.zero_grad() >>>     model.train()\n    model.zero_grad()
== eval_meanwhile: mode-changed, blind < solution
model.zero_grad() >>> model.zero_grad()\n    mode = model.training\n    model.eval()
(loss * len(inputs) / total).backward() >>> (loss * len(inputs) / total).backward()\n    model.train(mode)
== weight_alone: no-gradient, blind < solution
(loss * len(inputs) / total).backward() >>> (loss * len(inputs) / total).backward()\n        model.bias.grad = None
"""
