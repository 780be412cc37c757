"""Right answers to `make_optimizer`, and mistakes that people make."""

ANSWERS = """
import horovod.torch as hvd
import torch
def make_optimizer(model, lr):
== trained_parameters_only
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, hvd.size() * lr, 0.9)
    return hvd.DistributedOptimizer(optimizer, list(model.named_parameters()))
== averaged_by_name
    optimizer = torch.optim.SGD(params=model.parameters(), momentum=0.9, lr=hvd.size() * lr, nesterov=False)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Average)
== grouped < solution
model.named_parameters() >>> model.named_parameters(), groups=1
== two_groups
    names, biases = [], []
    for name, parameter in model.named_parameters():
        (biases if name.endswith("bias") else names).append(parameter)
    groups = [{"params": names}, {"params": biases}]
    optimizer = torch.optim.SGD(groups, lr=lr * hvd.size(), momentum=0.9)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
== not_scaled: lr-not-scaled, why scale < solution
lr * hvd.size() >>> lr
== scaled_by_local_size: lr-scaled-by-local-size, local size < solution
size >>> local_size
== scaled_twice: lr-scaled-twice, learning rate < solution
lr * hvd.size() >>> lr * hvd.size() * hvd.size()
== square_root: another-value, learning rate < solution
size() >>> size() ** 0.5
== not_wrapped: own-gradient-only, not wrapped < solution
return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters()) >>> return optimizer
== wrapper_thrown_away: wrapper-not-used, solver < solution
return hvd >>> hvd
parameters=model.named_parameters()) >>> parameters=model.named_parameters())\\n    return optimizer
== gradients_summed: gradients-summed, sum < solution
model.named_parameters() >>> model.named_parameters(), op=hvd.Sum
== summed_for_scaled: summed-for-scaled, sum < solution
lr * hvd.size() >>> lr
model.named_parameters() >>> model.named_parameters(), op=hvd.Sum
== no_momentum: momentum, learning rate < solution
, momentum=0.9 >>>
== nesterov: sgd-options, learning rate < solution
momentum=0.9 >>> momentum=0.9, nesterov=True
== weight_decay: sgd-options, optimizer options < solution
momentum=0.9 >>> momentum=0.9, weight_decay=1e-2
== no_names: no-parameter-names, noname < solution
, named_parameters=model.named_parameters() >>>
== adam: momentum, learning rate < solution
SGD >>> Adam
, momentum=0.9 >>>
== half_precision: wrong-step, sum < solution
model.named_parameters() >>> model.named_parameters(), compression=hvd.Compression.fp16
== nothing_returned: no-optimizer, not wrapped < solution
return hvd >>> optimizer = hvd
"""
