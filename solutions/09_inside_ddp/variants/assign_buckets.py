"""Right answers to `assign_buckets`, and mistakes that people make."""

ANSWERS = """
def assign_buckets(sizes, limit):
== one_open_bucket
    done, open_bucket, weight = [], [], 0
    for index, size in reversed(list(enumerate(sizes))):
        if open_bucket and weight + size > limit:
            done.append(open_bucket)
            open_bucket, weight = [], 0
        open_bucket.append(index)
        weight += size
    return done + [open_bucket] if open_bucket else done
== by_slices
    buckets, end = [], len(sizes)
    while end:
        start = end - 1
        while start and sum(sizes[start - 1:end]) <= limit:
            start -= 1
        buckets.append(list(range(start, end))[::-1])
        end = start
    return buckets
== recursion
    if not sizes:
        return []
    count = 1
    while count < len(sizes) and sum(sizes[-count - 1:]) <= limit:
        count += 1
    rest = len(sizes) - count
    return [[*range(len(sizes) - 1, rest - 1, -1)]] + assign_buckets(sizes[:rest], limit)
== forwards: first-to-last, buckets < one_open_bucket
reversed(list(enumerate(sizes))) >>> enumerate(sizes)
== forwards_within: ascending-in-buckets, buckets < by_slices
list(range(start, end))[::-1] >>> list(range(start, end))
== last_lost: last-bucket-lost, buckets < one_open_bucket
done + [open_bucket] if open_bucket else done >>> done
== once_reached: closed-when-reached, ddp
    buckets, weight = [], limit
    for index in reversed(range(len(sizes))):
        if weight >= limit:
            buckets.append([])
            weight = 0
        buckets[-1].append(index)
        weight += sizes[index]
    return buckets
== strictly_below: closed-before-the-limit, buckets < one_open_bucket
weight + size > limit >>> weight + size >= limit
== by_size: sorted-by-size, buckets < one_open_bucket
reversed(list(enumerate(sizes))) >>> sorted(enumerate(sizes), key=lambda each: each[1])
== first_that_fits: looks-for-room, buckets
    buckets = []
    for index in reversed(range(len(sizes))):
        for bucket in buckets:
            if sum(sizes[i] for i in bucket) + sizes[index] <= limit:
                bucket.append(index)
                break
        else:
            buckets.append([index])
    return buckets
== three_each: counted-not-weighed, buckets
    order = list(range(len(sizes)))[::-1]
    return [order[start:start + 3] for start in range(0, len(order), 3)]
== one_each: counted-not-weighed, buckets
    return [[index] for index in range(len(sizes))[::-1]]
== large_left_out: large-one-left-out, buckets < one_open_bucket
        if open_bucket and >>>         if size > limit:\\n            continue\\n        if open_bucket and
== empty_first: empty-bucket, buckets < one_open_bucket
if open_bucket and weight >>> if weight
== empty_for_nothing: empty-bucket, buckets < one_open_bucket
done + [open_bucket] if open_bucket else done >>> done + [open_bucket]
== emptied: sizes-altered, buckets
    buckets, weight = [], limit + 1
    while sizes:
        size = sizes.pop()
        if weight + size > limit or not buckets:
            buckets.append([])
            weight = 0
        buckets[-1].append(len(sizes))
        weight += size
    return buckets
== sums_returned: no-buckets, buckets < one_open_bucket
done + [open_bucket] if open_bucket else done >>> len(done)
== begun_from_zero: first-one-not-weighed, buckets < one_open_bucket
            open_bucket, weight = [], 0 >>>             open_bucket, weight = [index], 0\\n            continue
"""
