"""Right answers to `fit_scaling`, and mistakes that people make."""

ANSWERS = """
import itertools
import numpy as np
from scipy.optimize import lsq_linear, nnls
def fit_scaling(ranks, seconds):
    n, t = np.array(ranks, float), np.array(seconds)
    a = np.column_stack([1 / n, np.ones(len(n)), n - 1])
== bounded
    parts = lsq_linear(a, t, (0, np.inf), method="bvls").x
    return float(parts[0]), float(parts[1]), float(parts[2])
== best_of_all_subsets
    found = []
    for number in range(1, 4):
        for kept in itertools.combinations(range(3), number):
            parts = np.zeros(3)
            parts[list(kept)] = np.linalg.lstsq(a[:, kept], t, rcond=None)[0]
            if (parts >= 0).all():
                found.append((((a @ parts - t) ** 2).sum(), *parts.tolist()))
    return min(found)[1:]
== free_fit: negative-part, fit
    return tuple(np.linalg.lstsq(a, t, rcond=None)[0])
== clipped: clipped-after-the-fit, fit
    return tuple(np.linalg.lstsq(a, t, rcond=None)[0].clip(min=0))
== with_n: n-for-n-minus-1, amdahl < bounded
n - 1 >>> n
== seq_first: other-order, amdahl < bounded
float(parts[0]), float(parts[1]), float(parts[2]) >>> float(parts[1]), float(parts[0]), float(parts[2])
== speed_ups: speed-up-fitted, amdahl < bounded
lsq_linear(a, t, >>> lsq_linear(a, t[n.argmin()] / t,
== relative: relative-errors, amdahl < bounded
lsq_linear(a, t, >>> lsq_linear(a / t[:, None], t / t,
== means: means-fitted, timing < bounded
-    parts = lsq_linear(a, t, (0, np.inf), method="bvls").x
+    kept = np.unique(n)
+    t = np.array([t[n == each].mean() for each in kept])
+    a = np.column_stack([1 / kept, np.ones(len(kept)), kept - 1])
+    parts = lsq_linear(a, t, (0, np.inf), method="bvls").x
== first_three: three-points-only, amdahl < bounded
-    parts = lsq_linear(a, t, (0, np.inf), method="bvls").x
+    a, t = a[:3], t[:3]
+    parts = lsq_linear(a, t, (0, np.inf), method="bvls").x
== sorted_each: sorted-apart, amdahl < bounded
    parts = lsq_linear(a, t, >>>     n = np.sort(n)\\n    a = np.column_stack([1 / n, np.ones(len(n)), n - 1])\\n    parts = lsq_linear(a, np.sort(t),
== by_number: numbered, amdahl < bounded
    parts = lsq_linear(a, t, >>>     n = np.arange(1, len(n) + 1)\\n    a = np.column_stack([1 / n, np.ones(len(n)), n - 1])\\n    parts = lsq_linear(a, t,
== two_parts: not-three-floats, amdahl < bounded
, float(parts[2]) >>>
== nothing: not-three-floats, amdahl < bounded
    return float(parts[0]), float(parts[1]), float(parts[2]) >>>     print(parts)
== sorted_in_place: lists-changed, fit < bounded
    parts = lsq_linear >>>     seconds.sort()\\n    parts = lsq_linear
== amdahl_only: wrong-fit, amdahl < bounded
-    parts = lsq_linear(a, t, (0, np.inf), method="bvls").x
+    parts = [*nnls(a[:, :2], t)[0], 0.0]
"""
