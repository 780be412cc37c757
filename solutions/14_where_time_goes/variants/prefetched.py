"""Right answers to `prefetched`, and mistakes that people make."""

ANSWERS = r"""
import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
def prefetched(loader, depth):
== thread_and_semaphore
    ready, room, over = queue.SimpleQueue(), threading.Semaphore(depth), threading.Event()
    def fetch():
        try:
            for batch in loader:
                ready.put((batch, None))
                room.acquire()
                if over.is_set():
                    return
            ready.put((None, StopIteration()))
        except Exception as error:
            ready.put((None, error))
    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    try:
        while True:
            batch, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield batch
            room.release()
    finally:
        over.set()
        room.release()
        thread.join()
== queue_with_timeouts
    ready, over, end = queue.Queue(depth), threading.Event(), object()
    def put(item):
        while not over.is_set():
            try:
                return ready.put(item, timeout=0.05)
            except queue.Full:
                pass
    def fetch():
        try:
            for batch in loader:
                put((batch, None))
                if over.is_set():
                    return
            put((end, None))
        except Exception as error:
            put((end, error))
    threading.Thread(target=fetch).start()
    try:
        while True:
            batch, error = ready.get()
            if error is not None:
                raise error
            if batch is end:
                break
            yield batch
    finally:
        over.set()
== stop_iteration_caught
    batches = iter(loader)
    pool = ThreadPoolExecutor(max_workers=1)
    ahead = [pool.submit(next, batches) for _ in range(depth + 1)]
    try:
        while True:
            batch = ahead.pop(0).result()
            yield batch
            ahead.append(pool.submit(next, batches))
    except StopIteration:
        return
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
== queue_alone: error-lost, error in a thread
    ready, end = queue.Queue(depth), object()
    def fetch():
        for batch in loader:
            ready.put(batch)
        ready.put(end)
    threading.Thread(target=fetch, daemon=True).start()
    while (batch := ready.get()) is not end:
        yield batch
== errors_passed_on_thread_stays: thread-left-behind, queue full
    ready, end = queue.Queue(depth), object()
    def fetch():
        try:
            for batch in loader:
                ready.put((batch, None))
            ready.put((end, None))
        except Exception as error:
            ready.put((end, error))
    threading.Thread(target=fetch, daemon=True).start()
    while True:
        batch, error = ready.get()
        if error is not None:
            raise error
        if batch is end:
            return
        yield batch
== told_to_stop_but_waiting: close-waits-forever, queue full
    ready, over, end = queue.Queue(depth), threading.Event(), object()
    def fetch():
        try:
            for batch in loader:
                ready.put((batch, None))
                if over.is_set():
                    return
            ready.put((end, None))
        except Exception as error:
            ready.put((end, error))
    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    try:
        while True:
            batch, error = ready.get()
            if error is not None:
                raise error
            if batch is end:
                return
            yield batch
    finally:
        over.set()
        thread.join()
== pool_left_open: thread-left-behind, executor stays < stop_iteration_caught
        pool.shutdown(wait=True, cancel_futures=True) >>>         pass
    pool = ThreadPoolExecutor(max_workers=1) >>>     pool = ThreadPoolExecutor(max_workers=1)\n    pools.append(pool)
def prefetched(loader, depth): >>> pools = []\ndef prefetched(loader, depth):
== error_ends_the_thread: error-lost, error in a thread < thread_and_semaphore
        except Exception as error:\n            ready.put((None, error)) >>>         finally:\n            pass
== error_taken_for_the_end: error-lost, error in a thread < thread_and_semaphore
ready.put((None, error)) >>> ready.put((None, StopIteration()))
== error_at_once: error-too-early, error in a thread < thread_and_semaphore
            ready.put((None, error)) >>>             failed.append(error)\n            ready.put((None, error))
            batch, error = ready.get() >>>             batch, error = ready.get()\n            error = failed[0] if failed else error
    ready, room, over = >>>     failed = []\n    ready, room, over =
== error_wrapped: another-error, error in a thread < thread_and_semaphore
                raise error >>>                 raise RuntimeError("the loader failed") from error
== looks_ahead_in_turn: fetched-by-the-consumer, window
    import itertools
    batches = iter(loader)
    window = deque(itertools.islice(batches, depth + 1))
    while window:
        yield window.popleft()
        window.extend(itertools.islice(batches, 1))
== plain_loop: fetched-by-the-consumer, window
    yield from loader
== everything_first: fetched-by-the-consumer, all of a generator
    yield from list(loader)
== unbounded_queue: too-far, background generator < thread_and_semaphore
                room.acquire()\n >>>
== one_ahead: not-far-enough, window < solution
for _ in range(depth) >>> for _ in range(1)
== one_too_few: not-far-enough, window < solution
            ahead.append(pool.submit(next, batches, end))\n            yield batch >>>             yield batch\n            ahead.append(pool.submit(next, batches, end))
== twice_as_far: too-far, window < solution
for _ in range(depth) >>> for _ in range(2 * depth)
== several_threads: two-threads-in-next, background generator < solution
ThreadPoolExecutor(1) >>> ThreadPoolExecutor(depth)
== last_ones_dropped: another-length, window < stop_iteration_caught
            batch = ahead.pop(0).result()\n            yield batch\n            ahead.append(pool.submit(next, batches)) >>>             ahead.append(pool.submit(next, batches))\n            ahead[-2].result() if len(ahead) > 1 else None\n            yield ahead.pop(0).result()
"""
