"""Right answers to `train_epoch`, and mistakes that people make."""

ANSWERS = r"""
import horovod.torch as hvd
import torch
from torch.nn.functional import cross_entropy
def train_epoch(model, loader, optimizer, epoch, device):
== plain
    model.train()
    loader.sampler.set_epoch(epoch)
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        loss = cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(labels), len(labels)])
    total = hvd.allreduce(total)
    return (total[0] / total[1]).item()
== float32_reduced_every_batch < plain
model.train()\n    loader.sampler.set_epoch(epoch) >>> loader.sampler.set_epoch(epoch)\n    model.train()
, dtype=torch.float64 >>>
\n        inputs, labels = inputs.to(device), labels.to(device) >>>
cross_entropy(model(inputs), labels) >>> torch.nn.CrossEntropyLoss()(model(inputs.to(device)), labels.to(device))
torch.tensor([loss.item() * len(labels), len(labels)]) >>> hvd.allreduce(torch.tensor([loss.item() * len(labels), len(labels)]), op=hvd.Sum)
\n    total = hvd.allreduce(total) >>>
== zeroed_afterwards
    loader.sampler.set_epoch(epoch)
    model.train()
    total, number = 0.0, 0
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        loss = cross_entropy(model(inputs), labels, reduction="sum")
        optimizer.zero_grad()
        (loss / len(labels)).backward()
        optimizer.step()
        total, number = total + loss.item(), number + len(labels)
    total = hvd.allreduce(torch.tensor(total, dtype=torch.float64), op=hvd.Sum)
    number = hvd.allreduce(torch.tensor(number), op=hvd.Sum)
    return total.item() / number.item()
== averages_of_both
    model.train()
    loader.sampler.set_epoch(epoch)
    optimizer.zero_grad()
    losses = []
    for inputs, labels in loader:
        each = cross_entropy(model(inputs.to(device)), labels.to(device), reduction="none")
        each.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(each.detach())
    losses = torch.cat(losses)
    mean = hvd.allreduce(torch.stack([losses.sum(), torch.tensor(float(len(losses)), device=device)]))
    return float(mean[0] / mean[1])
== gathered
    loader.sampler.set_epoch(epoch)
    model.train(True)
    losses = []
    for inputs, labels in loader:
        optimizer.zero_grad()
        each = cross_entropy(model(inputs.to(device)), labels.to(device), reduction="none")
        each.mean().backward()
        optimizer.synchronize()
        with optimizer.skip_synchronize():
            optimizer.step()
        losses += each.tolist()
    return hvd.allgather(torch.tensor(losses, dtype=torch.float64)).mean().item()
== mean_of_batches: mean-of-means, last batch < plain
[loss.item() * len(labels), len(labels)] >>> [loss.item(), 1.0]
== mean_of_ranks: mean-of-means, mean of means < plain
allreduce(total) >>> allreduce(total[0] / total[1])
(total[0] / total[1]).item() >>> total.item()
== own_loss: own-part-only, metrics < plain
\n    total = hvd.allreduce(total) >>>
== rank_0s_loss: one-ranks-part, metrics on rank 0 < plain
allreduce(total) >>> broadcast_object(total)
== sum_of_ranks: sum-for-mean, average < mean_of_ranks
total[0] / total[1] >>> total[0] / total[1], op=hvd.Sum
== no_set_epoch: epoch-not-told, set_epoch missing < plain
\n    loader.sampler.set_epoch(epoch) >>>
== set_epoch_afterwards: epoch-told-late, set_epoch missing < no_set_epoch
total = hvd >>> loader.sampler.set_epoch(epoch)\n    total = hvd
== set_epoch_0: epoch-not-told, set_epoch < plain
set_epoch(epoch) >>> set_epoch(0)
== eval_mode: not-train-mode, modes < plain
\n    model.train() >>>
== no_zero_grad: gradient-carried-over, zero_grad < plain
\n        optimizer.zero_grad() >>>
== zeroed_before_the_step: no-step, zero_grad < no_zero_grad
loss.backward() >>> loss.backward()\n        optimizer.zero_grad()
== no_step: no-step, zero_grad < plain
\n        optimizer.step() >>>
== loss_after_the_step: shown-twice, last batch < plain
-        loss = cross_entropy(model(inputs), labels)
=        optimizer.zero_grad()
-        loss.backward()
+        cross_entropy(model(inputs), labels).backward()
=        optimizer.step()
+        loss = cross_entropy(model(inputs), labels)
== one_step_an_epoch: wrong-training, zero_grad < no_zero_grad
total = torch.zeros >>> optimizer.zero_grad()\n    total = torch.zeros
\n        optimizer.step() >>>
total = hvd >>> optimizer.step()\n    total = hvd
== loss_summed_over_the_batch: sum-not-mean, last batch < plain
(inputs), labels >>> (inputs), labels, reduction="sum"
 * len(labels) >>>
== only_rank_0: call-missing, subset of ranks < plain
total = hvd.allreduce >>> if hvd.rank() == 0: total = hvd.allreduce
== divided_by_the_set: wrong-divisor, mean of means < mean_of_ranks
total[0] / total[1] >>> total[0], op=hvd.Sum
total.item() >>> total.item() / len(loader.dataset)
== last_batch_only: wrong-value, last batch < mean_of_ranks
total[0] / total[1] >>> loss.detach()
== labels_on_the_cpu: not-on-device, devices < plain
inputs, labels = inputs.to(device), labels.to(device) >>> inputs = inputs.to(device)
== inputs_on_the_cpu: not-on-device, devices < solution
inputs.to(device) >>> inputs
== nothing_moved: not-on-device, devices < plain
\n        inputs, labels = inputs.to(device), labels.to(device) >>>
== total_on_two_devices: not-on-device, devices < solution
loss.item() * len(labels), len(labels)]) >>> loss.item() * len(labels), len(labels)], device=device)
== tensor_returned: not-a-float, metrics < plain
(total[0] / total[1]).item() >>> total[0] / total[1]
"""
