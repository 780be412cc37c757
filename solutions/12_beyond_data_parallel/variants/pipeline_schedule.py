"""Right answers to `pipeline_schedule`, and mistakes that people make."""

ANSWERS = """
def pipeline_schedule(stages, micro_batches):
== by_ticks
    length = 2 * (stages + micro_batches - 1)
    plan = [[None] * length for _ in range(stages)]
    for s in range(stages):
        for i in range(micro_batches):
            plan[s][s + i] = ("F", i)
            plan[s][length // 2 + (stages - 1 - s) + i] = ("B", i)
    return plan
== last_in_first_out < by_ticks
("B", i) >>> ("B", micro_batches - 1 - i)
== one_forward_one_backward
    length = 2 * (stages + micro_batches - 1)
    plan = [[None] * length for _ in range(stages)]
    for s in range(stages):
        ahead = min(stages - s, micro_batches)
        for i in range(micro_batches):
            plan[s][s + i if i < ahead else 2 * i + s] = ("F", i)
            plan[s][2 * stages - 1 - s + 2 * i] = ("B", i)
    return plan
== one_after_the_other: one-pass-at-a-time, gpipe < by_ticks
-    length = 2 * (stages + micro_batches - 1)
+    length = 2 * stages * micro_batches
=    plan = [[None] * length for _ in range(stages)]
=    for s in range(stages):
=        for i in range(micro_batches):
-            plan[s][s + i] = ("F", i)
-            plan[s][length // 2 + (stages - 1 - s) + i] = ("B", i)
+            plan[s][2 * stages * i + s] = ("F", i)
+            plan[s][2 * stages * (i + 1) - 1 - s] = ("B", i)
== start_together: forward-too-early, gpipe < by_ticks
plan[s][s + i] >>> plan[s][i]
== backward_from_stage_0: backward-too-early, gpipe < by_ticks
(stages - 1 - s) + i] >>> s + i]
== a_tick_too_many: too-many-ticks, gpipe < by_ticks
    length = 2 * (stages + micro_batches - 1) >>>     length = 2 * (stages + micro_batches)
== backward_half_filled: too-many-ticks, 1f1b < by_ticks
-    length = 2 * (stages + micro_batches - 1)
+    length = 2 * (stages + micro_batches - 1) + stages - 1
=    plan = [[None] * length for _ in range(stages)]
=    for s in range(stages):
=        for i in range(micro_batches):
=            plan[s][s + i] = ("F", i)
-            plan[s][length // 2 + (stages - 1 - s) + i] = ("B", i)
+            plan[s][2 * stages + micro_batches - 2 + (stages - 1 - s) + i] = ("B", i)
== forward_only: pass-left-out, gpipe < by_ticks
            plan[s][length // 2 + (stages - 1 - s) + i] = ("B", i)\\n >>>
== numbered_from_1: other-entry, gpipe < by_ticks
("B", i) >>> ("B", i + 1)
== rows_cut: rows-differ-in-length, gpipe
    passes = [("F", i) for i in range(micro_batches)], [("B", i) for i in range(micro_batches)]
    gap = lambda s: [None] * (2 * (stages - 1 - s))
    return [[None] * s + passes[0] + gap(s) + passes[1] for s in range(stages)]
== dictionary: no-plan, gpipe
    return {s: [] for s in range(stages)}
== written_as_text: other-entry, gpipe < by_ticks
("F", i) >>> f"F{i}"
== turned_round_in_time: backward-before-forward, gpipe < by_ticks
plan[s][s + i] >>> plan[s][length - 1 - s - i]
plan[s][length // 2 + (stages - 1 - s) + i] >>> plan[s][stages - 1 - s + i]
== backward_overwrites: pass-left-out, 1f1b < by_ticks
length // 2 + (stages - 1 - s) + i >>> min(s + micro_batches, length - 1)
"""
