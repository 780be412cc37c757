"""Right answers to `memory_per_rank`, and mistakes that people make."""

ANSWERS = """
== with_a_table
def memory_per_rank(parameters, ranks, stage):
    table = [("weights", 2, 3), ("gradients", 2, 2), ("optimizer", 8, 1), ("master weights", 4, 1)]
    return {name: parameters * size / (ranks if stage >= first else 1) for name, size, first in table}
== in_steps
def memory_per_rank(parameters, ranks, stage):
    kept = {"weights": 2 * parameters, "gradients": 2 * parameters}
    kept["optimizer"], kept["master weights"] = 8 * parameters, 4 * parameters
    if stage > 0:
        kept["optimizer"] /= ranks
        kept["master weights"] /= ranks
    if stage > 1:
        kept["gradients"] /= ranks
    if stage > 2:
        kept["weights"] /= ranks
    return kept
== single_precision: weights-in-single-precision, mixed < with_a_table
("weights", 2, 3), ("gradients", 2, 2) >>> ("weights", 4, 3), ("gradients", 4, 2)
== gradients_in_single_precision: weights-in-single-precision, mixed < with_a_table
("gradients", 2, 2) >>> ("gradients", 4, 2)
== one_number: one-number-for-adam, zero < with_a_table
("optimizer", 8, 1) >>> ("optimizer", 4, 1)
== no_master: no-master-weights, mixed < with_a_table
("master weights", 4, 1) >>> ("master weights", 0, 1)
== master_twice: master-weights-counted-twice, zero < with_a_table
("optimizer", 8, 1) >>> ("optimizer", 12, 1)
== master_whole: master-weights-kept-whole, zero < with_a_table
("master weights", 4, 1) >>> ("master weights", 4, 9)
== early: a-stage-early, zero < with_a_table
stage >= first >>> stage + 1 >= first
== late: a-stage-late, zero < with_a_table
stage >= first >>> stage > first
== weights_first: weights-before-gradients, zero < with_a_table
("weights", 2, 3), ("gradients", 2, 2) >>> ("weights", 2, 2), ("gradients", 2, 3)
== only_new: only-what-is-new, zero < with_a_table
stage >= first >>> stage == first
== whole_bytes: share-rounded, zero < with_a_table
 / (ranks >>>  // (ranks
== whole_parameters: share-rounded, zero < with_a_table
    return {name: parameters * size / (ranks if stage >= first else 1) for name, size, first in table} >>>     return {name: (-(-parameters // ranks) if stage >= first else parameters) * size for name, size, first in table}
== a_number: another-kind, zero < with_a_table
    return {name: parameters * size / (ranks if stage >= first else 1) for name, size, first in table} >>>     return sum(parameters * size / (ranks if stage >= first else 1) for name, size, first in table)
== without_master: another-kind, zero < with_a_table
, ("master weights", 4, 1) >>>
== in_words: another-kind, zero < with_a_table
parameters * size / (ranks if stage >= first else 1) for >>> f"{parameters * size / (ranks if stage >= first else 1)} B" for
== three_bytes: another-value, zero < with_a_table
("weights", 2, 3) >>> ("weights", 3, 3)
== master_in_the_optimizer: master-weights-in-the-optimizer, reader < with_a_table
("optimizer", 8, 1), ("master weights", 4, 1) >>> ("optimizer", 12, 1), ("master weights", 0, 1)
== rounded_bytes: share-rounded, reader < with_a_table
parameters * size / (ranks if stage >= first else 1) >>> round(parameters * size / (ranks if stage >= first else 1))
== stage_two_again: a-stage-late, reader < with_a_table
stage >= first >>> min(stage, 2) >= first
"""
