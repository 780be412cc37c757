"""Right answers to `train`, and mistakes that people make."""

ANSWERS = r"""
== plain
import torch
import torch.distributed as dist
def train(model, loader, optimizer, loss_fn, epochs, every, checkpoint, preemption):
    device, size = next(model.parameters()).device, dist.get_world_size()
    losses, steps = [], 0
    first, consumed = load_checkpoint(checkpoint, model, optimizer)
    for epoch in range(first, epochs):
        loader.sampler.set_position(epoch, consumed)
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
            steps += 1
            consumed += len(inputs) * size
            if preemption.agreed():
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)
                return losses
            if steps % every == 0:
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)
        consumed = 0
    save_checkpoint(checkpoint, model, optimizer, epochs, 0)
    return losses
== by_keywords < plain
load_checkpoint(checkpoint, model, optimizer) >>> load_checkpoint(path=checkpoint, model=model, optimizer=optimizer)
    save_checkpoint(checkpoint, model, optimizer, epochs, 0) >>>     save_checkpoint(path=checkpoint, model=model, optimizer=optimizer, epoch=epochs, consumed=0)
== nothing_more_when_done < plain
    for epoch in range(first, epochs): >>>     if first >= epochs:\n        return losses\n    for epoch in range(first, epochs):
== next_epoch_at_its_end < plain
            if preemption.agreed(): >>>             place = (epoch, consumed) if consumed < len(loader.dataset) else (epoch + 1, 0)\n            if preemption.agreed():
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return >>>                 save_checkpoint(checkpoint, model, optimizer, *place)\n                return
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n        consumed >>>                 save_checkpoint(checkpoint, model, optimizer, *place)\n        consumed
== not_resumed: not-resumed, not resumed < plain
    first, consumed = load_checkpoint(checkpoint, model, optimizer) >>>     load_checkpoint(checkpoint, model, optimizer)\n    first, consumed = 0, 0
== not_loaded: not-resumed, not resumed < plain
first, consumed = load_checkpoint(checkpoint, model, optimizer) >>> first, consumed = 0, 0
== epoch_begun_anew: epoch-begun-anew, epoch begun anew < plain
first, consumed = load >>> consumed = 0\n    first, _ = load
== skipped: skipped-not-dealt, per rank < plain
        loader.sampler.set_position(epoch, consumed)\n        for inputs, targets in loader: >>>         loader.sampler.set_position(epoch, 0)\n        done = consumed // (size * loader.batch_size)\n        for number, (inputs, targets) in enumerate(loader):\n            if number < done:\n                continue
== run_through_the_model: other-samples, restored too early < plain
        for inputs, targets in loader: >>>         model(next(iter(loader))[0].to(device))\n        loader.sampler.set_position(epoch, consumed)\n        for inputs, targets in loader:
== next_epoch_cut: next-epoch-cut, next epoch cut < plain
        loader.sampler.set_position(epoch, consumed) >>>         begin = consumed if epoch == first else begin\n        loader.sampler.set_position(epoch, begin)
== own_samples: own-samples-counted, own samples counted < plain
len(inputs) * size >>> len(inputs)
== never_told: sampler-not-told, seed < plain
        loader.sampler.set_position(epoch, consumed)\n >>>
== as_many_more: epochs-counted-anew, epochs added < plain
range(first, epochs) >>> range(first, first + epochs)
optimizer, epochs, 0) >>> optimizer, first + epochs, 0)
== asked_when_saving: asked-otherwise, leaves alone < plain
            if preemption.agreed(): >>>             if steps % every == 0 and preemption.agreed():
== never_asked: asked-otherwise, leaves alone < plain
            if preemption.agreed():\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return losses\n >>>
== asked_before_the_step: asked-otherwise, leaves alone < never_asked
            inputs, targets = inputs >>>             if preemption.agreed():\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return losses\n            inputs, targets = inputs
== asked_twice: asked-otherwise, leaves alone < plain
            if preemption.agreed(): >>>             preemption.agreed()\n            if preemption.agreed():
== goes_on: goes-on-when-agreed, leaves alone < plain
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return losses >>>                 save_checkpoint(checkpoint, model, optimizer, epoch, consumed)
== leaves_the_epoch_only: goes-on-when-agreed, leaves alone < plain
consumed)\n                return losses >>> consumed)\n                break
== last_step_lost: not-when-leaving, leaves alone < plain
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return >>>                 return
== left_to_every: not-when-leaving, leaves alone < plain
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return >>>                 if steps % every:\n                    save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n                return
== saved_before_the_step: other-saves, mid-epoch < plain
            if steps % every == 0:\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n >>>
            optimizer.step() >>>             if (steps + 1) % every == 0:\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed + len(inputs) * size)\n            optimizer.step()
== counted_in_the_epoch: counted-in-the-epoch, mid-epoch < plain
        loader.sampler.set >>>         steps = 0\n        loader.sampler.set
== after_each_epoch: only-after-epochs, epoch begun anew < plain
            if steps % every == 0:\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n        consumed = 0 >>>         consumed = 0\n        save_checkpoint(checkpoint, model, optimizer, epoch + 1, 0)
== nothing_at_the_end: nothing-at-the-end, no epoch < plain
    save_checkpoint(checkpoint, model, optimizer, epochs, 0)\n >>>
== saved_by_rank_0: save-on-rank-0, barrier on rank 0 < plain
            if steps % every == 0: >>>             if steps % every == 0 and dist.get_rank() == 0:
== not_moved: not-on-device, traps < plain
            inputs, targets = inputs.to(device), targets.to(device)\n >>>
== gradients_kept: gradient-carried-over, traps < plain
            optimizer.zero_grad()\n >>>
== zeroed_after_the_step: gradient-carried-over, traps < plain
            optimizer.zero_grad()\n >>>
            optimizer.step()\n >>>             optimizer.step()\n            optimizer.zero_grad()\n
== consumed_before_it_is_counted: place-before-the-step, mid-epoch < plain
            consumed += len(inputs) * size\n >>>
            if steps % every == 0:\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n >>>             if steps % every == 0:\n                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)\n            consumed += len(inputs) * size\n
== past_the_wrapper: own-gradient-only, traps < plain
model(inputs) >>> model.module(inputs)
== momentum_lost: off-the-path, momentum lost < plain
    for epoch in range >>>     optimizer.state.clear()\n    for epoch in range
== draws_after_loading: off-the-path, restored too early < plain
    for epoch in range >>>     torch.rand(1)\n    for epoch in range
== nothing_returned: another-kind, traps < plain
    save_checkpoint(checkpoint, model, optimizer, epochs, 0)\n    return losses >>>     save_checkpoint(checkpoint, model, optimizer, epochs, 0)
== tensors: another-kind, traps < plain
float(loss) >>> loss.detach()
== last_epoch_only: another-length, traps < plain
        loader.sampler.set >>>         losses = []\n        loader.sampler.set
== losses_of_all: another-value, traps < plain
            losses.append(float(loss)) >>>             mean = loss.detach().clone()\n            dist.all_reduce(mean)\n            losses.append(float(mean) / size)
== consumed_not_reset: next-epoch-cut, next epoch cut < plain
        consumed = 0\n    save >>>     save
"""
