"""Right answers to `batch_run`, and mistakes that people make."""

ANSWERS = """
import horovod.torch as hvd
def batch_run(train_set, test_set, epochs, checkpoint):
== by_keywords
    ranks = hvd.size()
    return train(
        model=digit_model(seed=hvd.rank()), train_set=train_set, test_set=test_set, epochs=epochs,
        batch_size=int(64 / ranks), lr=0.06 / ranks, seed=0, checkpoint=checkpoint,
    )
== one_model_for_all
    history = train(digit_model(0), train_set, test_set, epochs, 64 // hvd.size(), 0.06 / hvd.size(), 0, checkpoint)
    return list(history)
== plain
    size = hvd.size()
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
== imported
    from course.models.digits import digit_model
    size = hvd.size()
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
== other_models < plain
digit_model(hvd.rank()) >>> digit_model(17 * hvd.rank())
== rate_by_local_size: lr-by-local-size, local size < plain
0.06 / size >>> 0.06 / hvd.local_size()
== whole_batch_on_each_rank: batch-per-rank, whole batch
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64, 0.06 / hvd.size(), 0, checkpoint)
== longer_steps: lr-per-rank, same batch
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // hvd.size(), 0.06, 0, checkpoint)
== one_process_s_settings: batch-per-rank, effective batch
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64, 0.06, 0, checkpoint)
== for_four_ranks: another-batch-size, effective batch
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 16, 0.015, 0, checkpoint)
== scaled_up: lr-scaled-up, learning rate < plain
0.06 / size >>> 0.06 * size
== local_size: batch-by-local-size, local size
    size = hvd.local_size()
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / hvd.size(), 0, checkpoint)
== a_float: another-batch-size, batch size < plain
64 // >>> 64 /
== a_seed_of_its_own: another-value, set_epoch differs
    size, rank = hvd.size(), hvd.rank()
    return train(digit_model(rank), train_set, test_set, epochs, 64 // size, 0.06 / size, rank, checkpoint)
== another_model: model-to-train, no broadcast < plain
digit_model(hvd.rank()) >>> digit_model(size - 1)
== a_model_of_its_own: model-to-train, no broadcast < plain
digit_model(hvd.rank()) >>> torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    size >>>     import torch\\n    size
== by_images: another-rate, learning rate < plain
0.06 / size >>> 0.06 * (64 // size) / 64
== sets_swapped: another-value, modes < plain
train_set, test_set, epochs, 64 >>> test_set, train_set, epochs, 64
== one_epoch_less: another-value, same batch < plain
epochs, 64 >>> epochs - 1, 64
== another_file: another-value, checkpoint < plain
0, checkpoint >>> 0, "digits.pt"
== history_on_rank_0: other-history, metrics on rank 0
    size = hvd.size()
    history = train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
    return history if hvd.rank() == 0 else None
== nothing_returned: other-history, metrics < plain
return train >>> train
== only_rank_0: train-not-called, rank 0 only < plain
-    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
+    if hvd.rank() == 0:
+        return train(digit_model(0), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
"""
