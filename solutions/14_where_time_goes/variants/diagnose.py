"""Right answers to `diagnose`, and mistakes that people make."""

ANSWERS = r"""
== by_ranks
def diagnose(trace):
    loading, waiting, computing, again, sent, done = [], [], [], [], [], []
    for spans in trace:
        names = set()
        loading.append(sum(s.seconds for s in spans if s.kind == "loading"))
        waiting.append(sum(s.seconds for s in spans if s.kind == "wait"))
        computing.append(sum(s.seconds for s in spans if s.kind == "compute"))
        again.append(0.0)
        for s in spans:
            if s.kind == "compute":
                if s.name in names:
                    again[-1] += s.seconds
                names.add(s.name)
        sent.append([s for s in spans if s.kind == "communication"])
        done.append(max(s.end for s in spans if s.name == "backward"))
    tail = max([s.end for s in sent[0]], default=0.0) - max(done)
    layers = sum(name.startswith("backward ") for name in names)
    costs = [(max(loading), "loader"), (max(waiting), "synchronisation"), (max(again), "recomputation")]
    costs.append((max(computing) - min(computing), "imbalance"))
    costs.append((tail, "late bucket" if len(sent[0]) <= layers else "small all-reduces"))
    return max(costs)[1]
== by_a_share_of_the_step
def diagnose(trace):
    from collections import Counter
    step = max(span.end for spans in trace for span in spans)
    def share(seconds):
        return seconds / step > 0.075
    def of(spans, *kinds):
        return sum(span.end - span.start for span in spans if span.kind in kinds)
    if any(share(of(spans, "loading")) for spans in trace):
        return "loader"
    if any(share(of(spans, "wait")) for spans in trace):
        return "synchronisation"
    computing = sorted(of(spans, "compute") for spans in trace)
    if share(computing[-1] - computing[0]):
        return "imbalance"
    counts = Counter(span.name for span in trace[0] if span.kind == "compute")
    if share(sum((span.end - span.start) / 2 for span in trace[0] if span.kind == "compute" and counts[span.name] > 1)):
        return "recomputation"
    kinds = [span.kind for span in trace[0]]
    return "late bucket" if kinds.count("communication") <= len(counts) / 2 else "small all-reduces"
== by_exposed_communication < solution
network: max(sent, default=0.0) - last, >>> network: min(map(alone, trace)),

-    computed = [seconds(spans, "compute") for spans in trace]
+    def alone(spans):
+        kinds = {"communication", "compute"}
+        moments = sorted({each for span in spans if span.kind in kinds for each in (span.start, span.end)})
+        total = 0.0
+        for start, end in zip(moments, moments[1:]):
+            on = {span.kind for span in spans if span.start <= start and end <= span.end}
+            total += end - start if "communication" in on and "compute" not in on else 0
+        return total
+    computed = [seconds(spans, "compute") for spans in trace]
== first_rank_alone: one-rank-alone, rank 0 alone < solution
"loader": max(seconds(spans, "loading") for spans in trace) >>> "loader": seconds(trace[0], "loading")
"synchronisation": max(seconds(spans, "wait") for spans in trace) >>> "synchronisation": seconds(trace[0], "wait")
== not_hidden_on_the_first_rank: waiting-for-a-rank-counted, rank 0 alone < by_exposed_communication
min(map(alone, trace)) >>> alone(trace[0])
max(seconds(spans, "loading") for spans in trace) >>> seconds(trace[0], "loading")
max(seconds(spans, "wait") for spans in trace) >>> seconds(trace[0], "wait")
max(computed) - min(computed) >>> 0.0
== unequal_communication: late-for-another-reason, imbalance < solution
    computed = [ >>>     times = [seconds(spans, "communication") for spans in trace]\n    computed = [
max(computed) - min(computed) >>> max(times) - min(times)
== unequal_communication_first: late-for-another-reason, imbalance < by_a_share_of_the_step
    computing = sorted(of(spans, "compute") for spans in trace)\n >>>
    if share(computing[-1] - computing[0]): >>>     if share(max(times) - min(times)):
    if any(share(of(spans, "loading")) for spans in trace):\n        return "loader"\n >>>     times = [of(spans, "communication") for spans in trace]\n    if share(max(times) - min(times)):\n        return "imbalance"\n    if any(share(of(spans, "loading")) for spans in trace):\n        return "loader"\n
== all_communication: hidden-communication-counted, straggler < solution
max(sent, default=0.0) - last >>> seconds(trace[0], "communication")
== least_communication: hidden-communication-counted, imbalance < solution
max(sent, default=0.0) - last >>> min(seconds(spans, "communication") for spans in trace)
== waiting_for_the_last_rank: waiting-for-a-rank-counted, straggler < by_exposed_communication
min(map(alone, trace)) >>> max(map(alone, trace))
== waiting_on_rank_0: waiting-for-a-rank-counted, rank 0 alone < by_exposed_communication
min(map(alone, trace)) >>> alone(trace[0])
== up_to_the_optimizer: optimizer-taken-for-the-end, blind < solution
if own.name == "backward 0") >>> if own.kind == "compute")
== latest_rank: late-for-another-reason, imbalance < solution
"imbalance": max(computed) - min(computed) >>> "imbalance": 1.01 * (max(ends) - min(ends))
    computed = [ >>>     ends = [max(span.end for span in spans if span.name == "backward") for spans in trace]\n    computed = [
== always_buckets: one-or-many, last bucket < solution
"small all-reduces" if len(sent) > layers else "late bucket" >>> "late bucket"
== always_small: one-or-many, bucketing < solution
"small all-reduces" if len(sent) > layers else "late bucket" >>> "small all-reduces"
== any_mark: another-cause, straggler
def diagnose(trace):
    own = [span for span in trace[0] if span.kind == "compute"]
    kinds = {span.kind for spans in trace for span in spans}
    if "loading" in kinds:
        return "loader"
    if "wait" in kinds:
        return "synchronisation"
    if len({span.name for span in own}) < len(own):
        return "recomputation"
    computed = [sum(span.seconds for span in spans if span.kind == "compute") for spans in trace]
    if max(computed) > 1.05 * min(computed):
        return "imbalance"
    return "late bucket" if sum(span.kind == "communication" for span in trace[0]) < 10 else "small all-reduces"
== in_other_words: no-cause, straggler < solution
return max(costs, key=costs.get) >>> return max(costs, key=costs.get).title()
== the_seconds: no-cause, straggler < solution
return max(costs, key=costs.get) >>> return max(costs.values())
== always_the_loader: another-cause, straggler
def diagnose(trace):
    return "loader"
== added_over_ranks: added-over-ranks, blind < solution
"loader": max(seconds(spans, "loading") for spans in trace) >>> "loader": sum(seconds(spans, "loading") for spans in trace)
"synchronisation": max(seconds(spans, "wait") for spans in trace) >>> "synchronisation": sum(seconds(spans, "wait") for spans in trace)
"""
