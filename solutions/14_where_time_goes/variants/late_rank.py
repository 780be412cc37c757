"""Right answers to `late_rank`, and mistakes that people make."""

ANSWERS = """
from statistics import fmean, median
def ahead_of(first, own):
    return median(b.end - a.end for a, b in zip(first, own))
def answer(rows):
    return [(starts.index(max(starts)), [max(starts) - each for each in starts]) for starts in map(list, zip(*rows))]
def late_rank(traces):
== in_two_steps
    ahead = [ahead_of(traces[0], own) for own in traces]
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])
== by_numpy
import numpy as np
def late_rank(traces):
    times = np.array([[(span.start, span.end) for span in own] for own in traces])
    ahead = np.median(times[:, :, 1] - times[:1, :, 1], axis=1, keepdims=True)
    starts = times[:, :, 0] - ahead
    waits = starts.max(axis=0) - starts
    return [(int(rank), column) for rank, column in zip(starts.argmax(axis=0), waits.T)]
== by_the_most_common: aligned-by-one-end, blind
    from collections import Counter
    rows = []
    for own in traces:
        [(ahead, _)] = Counter(b.end - a.end for a, b in zip(traces[0], own)).most_common(1)
        rows.append([span.start - ahead for span in own])
    return answer(rows)
== to_the_last_rank
from statistics import median_low
def late_rank(traces):
    result = []
    for number in range(len(traces[0])):
        starts = {}
        for rank, own in enumerate(traces):
            ahead = median_low([b.end - a.end for a, b in zip(traces[-1], own)])
            starts[rank] = own[number].start - ahead
        last = max(starts, key=starts.get)
        result.append([last, [starts[last] - each for each in starts.values()]])
    return result
== as_they_are: clocks-not-aligned, clocks
    return answer([[span.start for span in own] for own in traces])
== by_the_first_end: aligned-by-one-end, barrier
    return answer([[span.start - own[0].end for span in own] for own in traces])
== by_the_last_end: aligned-by-one-end, barrier
    return answer([[span.start - own[-1].end for span in own] for own in traces])
== by_the_middle_end: aligned-by-one-end, barrier
    return answer([[span.start - own[len(own) // 2].end for span in own] for own in traces])
== medians_apart: difference-of-medians, blind
    ahead = [median(span.end for span in own) - median(span.end for span in traces[0]) for own in traces]
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])
== by_the_mean: aligned-by-the-mean, mean
    ahead = [fmean(b.end - a.end for a, b in zip(traces[0], own)) for own in traces]
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])
== by_starts: aligned-by-starts, barrier < in_two_steps
    ahead = [ahead_of(traces[0], own) for own in traces] >>>     ahead = [median(b.start - a.start for a, b in zip(traces[0], own)) for own in traces]
== by_the_first_start: aligned-by-starts, barrier
    return answer([[span.start - own[0].start for span in own] for own in traces])
== moved_the_wrong_way: wrong-way, clocks < in_two_steps
span.start - off >>> span.start + off
== shortest_is_late: by-durations, arrival
    result = []
    for spans in zip(*traces):
        durations = [span.end - span.start for span in spans]
        result.append((durations.index(min(durations)), [each - min(durations) for each in durations]))
    return result
== longest_is_late: first-taken-for-last, latency < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     result = answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])\\n    return [(waits.index(max(waits)), waits) for _, waits in result]
== first_is_late: first-taken-for-last, latency
    rows = [[span.start - ahead_of(traces[0], own) for span in own] for own in traces]
    return [(starts.index(min(starts)), [min(starts) - each for each in starts]) for starts in map(list, zip(*rows))]
== whole_collectives: whole-collective-waited, arrival < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     result = answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])\\n    return [(last, [own[n].end - own[n].start for own in traces]) for n, (last, _) in enumerate(result)]
== since_the_first_came: since-the-first, latency
    rows = [[span.start - ahead_of(traces[0], own) for span in own] for own in traces]
    return [(starts.index(max(starts)), [each - min(starts) for each in starts]) for starts in map(list, zip(*rows))]
== since_rank_0_came: since-rank-0, rank 0 alone
    rows = [[span.start - ahead_of(traces[0], own) for span in own] for own in traces]
    return [(starts.index(max(starts)), [each - starts[0] for each in starts]) for starts in map(list, zip(*rows))]
== as_rank_0_waits: rank-0-alone, rank 0 alone < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     result = answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])\\n    return [(last, waits[:1] * len(waits)) for last, waits in result]
== turned_round: negative-waits, latency
    rows = [[span.start - ahead_of(traces[0], own) for span in own] for own in traces]
    return [(starts.index(max(starts)), [each - max(starts) for each in starts]) for starts in map(list, zip(*rows))]
== counted_from_one: another-value, arrival < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     result = answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])\\n    return [(last + 1, waits) for last, waits in result]
== of_the_first_collective: another-length, arrival < in_two_steps
for own, off in zip(traces, ahead)]) >>> for own, off in zip(traces, ahead)])[:1]
== ranks_alone: another-kind, arrival < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     return [last for last, _ in answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])]
== a_dict: another-kind, arrival < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     return dict(enumerate(answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])))
== by_the_most_common_millisecond: aligned-by-one-end, blind
    from statistics import mode
    ahead = [mode(round(b.end - a.end, 3) for a, b in zip(traces[0], own)) for own in traces]
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])
== by_the_least_difference: aligned-by-one-end, blind
    ahead = [min(b.end - a.end for a, b in zip(traces[0], own)) for own in traces]
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])
== without_the_last: no-wait-of-the-last, blind < in_two_steps
    return answer([[span.start - off for span in own] for own, off in zip(traces, ahead)]) >>>     result = answer([[span.start - off for span in own] for own, off in zip(traces, ahead)])\\n    return [(last, [each for each in waits if each]) for last, waits in result]
== by_a_lower_third: another-value, blind < in_two_steps
median(b.end - a.end for a, b in zip(first, own)) >>> sorted(b.end - a.end for a, b in zip(first, own))[len(own) // 3]
"""
