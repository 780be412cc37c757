"""Right answers to `exposed`, and mistakes that people make."""

ANSWERS = """
def length(spans):
    seconds, reached = 0, None
    for span in sorted(spans, key=lambda span: span.start):
        if reached is None or span.end > reached:
            seconds += span.end - (span.start if reached is None else max(span.start, reached))
            reached = span.end
    return seconds
def of(spans, *kinds):
    return [span for span in spans if span.kind in kinds]
def joined(spans):
    result = []
    for span in sorted(spans, key=lambda span: span.start):
        if result and span.start <= result[-1][1]:
            result[-1][1] = span.end
        else:
            result.append([span.start, span.end])
    return result
def exposed(spans):
== by_length
    computing = length(of(spans, "compute"))
    sending = length(of(spans, "communication"))
    either = length(of(spans, "compute", "communication"))
    whole = max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0)
    hidden = computing + sending - either
    return {"computing": computing, "hidden": hidden, "exposed": sending - hidden, "idle": whole - either}
== by_moments
def exposed(spans):
    result = dict.fromkeys(("computing", "hidden", "exposed", "idle"), 0.0)
    moments = sorted({moment for span in spans for moment in (span.start, span.end)})
    for start, end in zip(moments, moments[1:]):
        kinds = {span.kind for span in spans if span.start <= start and span.end >= end}
        computes, communicates = "compute" in kinds, "communication" in kinds
        name = "computing" if computes else "exposed" if communicates else "idle"
        result[name] += end - start
        if computes and communicates:
            result["hidden"] += end - start
    return result
== by_counting
def exposed(spans):
    changes = sorted((moment, change, span.kind) for span in spans for moment, change in ((span.start, 1), (span.end, -1)))
    open_now, before = {}, None
    result = {"computing": 0, "hidden": 0, "exposed": 0, "idle": 0}
    for moment, change, kind in changes:
        if before is not None:
            computes, sends = open_now.get("compute", 0) > 0, open_now.get("communication", 0) > 0
            result["computing"] += (moment - before) * computes
            result["hidden"] += (moment - before) * (computes and sends)
            result["exposed"] += (moment - before) * (sends and not computes)
            result["idle"] += (moment - before) * (not sends and not computes)
        open_now[kind] = open_now.get(kind, 0) + change
        before = moment
    return result
== by_numpy
import numpy as np
def exposed(spans):
    edges = np.unique([[span.start, span.end] for span in spans])
    def busy(kind):
        on = np.zeros(max(0, len(edges) - 1), dtype=bool)
        for span in spans:
            if span.kind == kind:
                on |= (span.start <= edges[:-1]) & (edges[1:] <= span.end)
        return on
    computes, sends, width = busy("compute"), busy("communication"), np.diff(edges)
    return {
        "computing": width[computes].sum(),
        "hidden": width[computes & sends].sum(),
        "exposed": width[sends & ~computes].sum(),
        "idle": width[~(computes | sends)].sum(),
    }
== durations_added: counted-twice, union
    busy, sending = of(spans, "compute"), of(spans, "communication")
    computing = sum(span.end - span.start for span in busy)
    hidden = sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in busy for b in sending)
    shown = sum(span.end - span.start for span in sending) - hidden
    whole = max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0)
    return {"computing": computing, "hidden": hidden, "exposed": shown, "idle": whole - computing - shown}
== joined_by_the_last: end-of-the-last-begun, nested
    busy, sending = joined(of(spans, "compute")), joined(of(spans, "communication"))
    computing = sum(end - start for start, end in busy)
    hidden = sum(max(0, min(b, d) - max(a, c)) for a, b in busy for c, d in sending)
    shown = sum(end - start for start, end in sending) - hidden
    whole = max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0)
    return {"computing": computing, "hidden": hidden, "exposed": shown, "idle": whole - computing - shown}
== all_but_communication: others-taken-for-computing, sync < by_moments
computes, communicates = "compute" in kinds >>> computes, communicates = bool(kinds - {"communication"})
== steps_left_out: others-taken-for-computing, sync < by_moments
computes, communicates = "compute" in kinds >>> computes, communicates = bool(kinds - {"communication", "step"})
== launches_compute: others-taken-for-computing, sync < by_moments
computes, communicates = "compute" in kinds >>> computes, communicates = bool(kinds & {"compute", "launch"})
== launches_communicate: launches-taken-for-communication, sync < by_moments
"communication" in kinds >>> bool(kinds & {"communication", "launch"})
== all_communication: nothing-hidden, overlap < by_length
sending - hidden, "idle" >>> sending, "idle"
== without_computing: less-all-computing, overlap < by_length
sending - hidden, "idle" >>> max(0, sending - computing), "idle"
== from_zero: begins-at-zero, trace < by_length
 - min((span.start for span in spans), default=0) >>>
== of_work_alone: only-what-is-done, idle < by_length
    whole = max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0) >>>     work = of(spans, "compute", "communication")\\n    whole = max((span.end for span in work), default=0) - min((span.start for span in work), default=0)
== last_in_the_list: ends-as-listed, nested < by_length
max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0) >>> spans[-1].end - spans[0].start if spans else 0
== last_begun: ends-as-listed, nested < by_length
    whole = max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0) >>>     row = sorted(spans, key=lambda span: span.start)\\n    whole = row[-1].end - row[0].start if row else 0
== both_taken_off: hidden-taken-off-twice, overlap < by_length
whole - either >>> whole - computing - sending
== parts_of_the_whole: another-value, overlap < by_moments
    return result >>>     return {name: seconds / max(1.0, sum(result.values())) for name, seconds in result.items()}
== only_hidden: another-kind, overlap < by_length
"computing": computing, "hidden": hidden, >>> "hidden": hidden,
== a_tuple: another-kind, overlap < by_length
    return {"computing": computing, "hidden": hidden, "exposed": sending - hidden, "idle": whole - either} >>>     return computing, hidden, sending - hidden, whole - either
== fails_without_spans: raised, trace < by_length
    whole = max((span.end for span in spans), default=0) >>>     whole = max(span.end for span in spans)
== joined_as_listed: not-sorted, blind
    def merged(spans):
        result = []
        for span in spans:
            if result and span.start <= result[-1][1]:
                result[-1][1] = max(result[-1][1], span.end)
            else:
                result.append([span.start, span.end])
        return result
    busy, sending = merged(of(spans, "compute")), merged(of(spans, "communication"))
    computing = sum(end - start for start, end in busy)
    hidden = sum(max(0, min(b, d) - max(a, c)) for a, b in busy for c, d in sending)
    shown = sum(end - start for start, end in sending) - hidden
    whole = max((span.end for span in spans), default=0) - min((span.start for span in spans), default=0)
    return {"computing": computing, "hidden": hidden, "exposed": shown, "idle": whole - computing - shown}
== waits_not_idle: others-not-idle, blind < by_length
whole - either >>> whole - length([span for span in spans if span.kind != "step"])
"""
