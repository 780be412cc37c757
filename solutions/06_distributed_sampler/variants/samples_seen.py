"""Right answers to `samples_seen`, and mistakes that people make."""

ANSWERS = r"""
import torch
import torch.distributed as dist
def samples_seen(loader, epochs):
== one_tensor_an_epoch
    seen = []
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        seen.append(torch.cat(list(loader)).tolist())
    return seen
== in_one_expression
    return [
        [int(sample) for batch in loader for sample in batch]
        for epoch in range(epochs)
        if loader.sampler.set_epoch(epoch) is None
    ]
== batch_by_batch
    seen = [[] for _ in range(epochs)]
    for epoch, own in enumerate(seen):
        loader.batch_sampler.sampler.set_epoch(epoch)
        batches = iter(loader)
        for _ in range(len(loader)):
            own += next(batches).numpy().tolist()
    return seen
== no_set_epoch: no-set-epoch, set_epoch
    return [torch.cat(list(loader)).tolist() for _ in range(epochs)]
== epoch_as_an_attribute: no-set-epoch, set_epoch < one_tensor_an_epoch
set_epoch(epoch) >>> epoch = epoch
== positive_only: ids-missing, tail < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> [each for each in torch.cat(list(loader)).tolist() if each > 0]
== set_epoch_after_the_loop: set-epoch-too-late, set_epoch, again < one_tensor_an_epoch
\n        loader.sampler.set_epoch(epoch) >>>
tolist()) >>> tolist())\n        loader.sampler.set_epoch(epoch)
== set_epoch_before_all: constant-epoch, set_epoch
    loader.sampler.set_epoch(0)
    return [torch.cat(list(loader)).tolist() for _ in range(epochs)]
== a_constant: constant-epoch, set_epoch, again < one_tensor_an_epoch
set_epoch(epoch) >>> set_epoch(epochs)
== from_one: epochs-from-1, set_epoch < one_tensor_an_epoch
range(epochs) >>> range(1, epochs + 1)
== epoch_by_rank: epoch-differs-by-rank, epoch by worker < one_tensor_an_epoch
seen = [] >>> import os\n    seen = []
set_epoch(epoch >>> set_epoch(epoch + int(os.environ["RANK"]) % 2
== one_iterator: empty-epoch, set_epoch, again < one_tensor_an_epoch
seen = [] >>> seen, batches = [], iter(loader)
torch.cat(list(loader)).tolist() >>> [int(sample) for batch in batches for sample in batch]
== the_sampler_itself: indices-not-ids, set_epoch < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> list(loader.sampler)
== whole_batches: batches-not-flattened, set_epoch < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> [batch.tolist() for batch in loader]
== through_float: ids-through-float, float32 < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> torch.cat(list(loader)).double().long().tolist()
== tensors: not-ints, numpy scalar < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> [sample for batch in loader for sample in batch]
== one_list_for_all: not-per-epoch, set_epoch < one_tensor_an_epoch
seen.append(torch.cat(list(loader)).tolist()) >>> seen += torch.cat(list(loader)).tolist()
== run_together: epochs-run-together, set_epoch < one_tensor_an_epoch
seen = [] >>> seen, own = [], []
seen.append( >>> for batch in loader:\n            own += batch.tolist()\n        seen.append(
torch.cat(list(loader)).tolist() >>> list(own)
== smaller_batch_dropped: smaller-batch-dropped, tail < one_tensor_an_epoch
-        seen.append(torch.cat(list(loader)).tolist())
+        batches = [batch.tolist() for batch in loader]
+        seen.append([sample for batch in batches if len(batch) == loader.batch_size for sample in batch])
== sorted_ids: order-lost, set_epoch < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> sorted(torch.cat(list(loader)).tolist())
== backwards: other-epochs, set_epoch < one_tensor_an_epoch
range(epochs) >>> reversed(range(epochs))
== of_all_ranks: other-ranks-samples, own part < one_tensor_an_epoch
seen = [] >>> from mpi4py import MPI\n    seen = []
seen.append(torch.cat(list(loader)).tolist()) >>> seen.append(sum(MPI.COMM_WORLD.allgather(torch.cat(list(loader)).tolist()), []))
== first_of_each_batch: ids-missing, tail < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> [batch[0].item() for batch in loader]
== first_batch: first-batch-alone, blind < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> next(iter(loader)).tolist()
== returns_in_the_loop: first-batch-alone, blind < one_tensor_an_epoch
seen.append(torch.cat(list(loader)).tolist()) >>> for batch in loader:\n            seen.append(batch.tolist())\n            break
== all_but_the_first_batch: ids-missing, blind < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> torch.cat(list(loader)[1:]).tolist()
== last_batch: ids-missing, blind < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> [batch.tolist() for batch in loader][-1]
== all_but_the_last_id: ids-missing, tail < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> torch.cat(list(loader)).tolist()[:-1]
== each_id_twice: ids-more-than-once, blind < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> torch.cat([each for batch in loader for each in (batch, batch)]).tolist()
== ids_doubled: another-value, blind < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> (torch.cat(list(loader)) * 2).tolist()
== through_float32: ids-through-float, blind < one_tensor_an_epoch
torch.cat(list(loader)).tolist() >>> [int(each) for each in torch.cat(list(loader)).float()]
== one_list_filled_anew: one-list-for-all, blind < one_tensor_an_epoch
seen = [] >>> seen, own = [], []
seen.append(torch.cat(list(loader)).tolist()) >>> own.clear()\n        own += torch.cat(list(loader)).tolist()\n        seen.append(own)
== one_list_that_grows: one-list-for-all, blind < one_tensor_an_epoch
seen = [] >>> seen, own = [], []
seen.append(torch.cat(list(loader)).tolist()) >>> own += torch.cat(list(loader)).tolist()\n        seen.append(own)
== one_list_times_epochs: one-list-for-all, blind < one_tensor_an_epoch
seen = [] >>> seen = [[]] * epochs
seen.append(torch.cat(list(loader)).tolist()) >>> seen[epoch] += torch.cat(list(loader)).tolist()
== epochs_far_on: other-epochs, blind < one_tensor_an_epoch
set_epoch(epoch) >>> set_epoch(1000 + epoch)
== epoch_minus_1: other-epochs, blind < one_tensor_an_epoch
set_epoch(epoch) >>> set_epoch(epoch - 1)
== a_dictionary: not-a-list, set_epoch < one_tensor_an_epoch
[] >>> {}
seen.append(torch.cat(list(loader)).tolist()) >>> seen[epoch] = torch.cat(list(loader)).tolist()
== one_epoch_too_many: wrong-number-of-epochs, set_epoch < one_tensor_an_epoch
range(epochs) >>> range(epochs + 1)
"""
