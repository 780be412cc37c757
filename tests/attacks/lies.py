"""Results that lie about what they are, and swallowed or forged verdicts."""

from __future__ import annotations

from attack import NO_DOUBLE, NO_TOTAL, Attack

BAD = (0.0, "bad-result")

ATTACKS = (
    Attack(
        "equals-everything",
        "Returns an object that is equal to, larger and smaller than everything, and converts to any number.",
        """
        class Same:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __lt__(self, other): return True
            def __gt__(self, other): return True
            def __hash__(self): return 0
            def __float__(self): return 2.0
            def __int__(self): return 2
            def __index__(self): return 2
            def __bool__(self): return True
            def __getattr__(self, name): return self

        def double(x):
            return Same()
        """,
        scores={"double": BAD},
    ),
    Attack(
        "claims-a-class",
        "Returns an object that says by __class__ and isinstance that it is an int.",
        """
        class Pretender:
            __class__ = property(lambda self: int)
            def __eq__(self, other): return True

        def double(x):
            return Pretender()
        """,
        scores={"double": (0.0, "raised")},
    ),
    Attack(
        "subclasses",
        "Returns subclasses of int and float that compare equal to all and print as whatever is wanted.",
        """
        class Int(int):
            def __eq__(self, other): return True
            def __repr__(self): return "1"
            __str__ = __repr__
            __hash__ = int.__hash__

        def double(x):
            return Int(x)
        """,
        """
        class Float(float):
            def __eq__(self, other): return True
            def __repr__(self): return "1e999"

        def total(comm, x):
            return Float(x)
        """,
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},
    ),
    Attack(
        "json-in-a-string",
        "Returns text that would be other JSON if somebody forgot to quote it, and a dictionary like evidence.",
        """
        class Text(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__

        def double(x):
            return Text('1}], "state": "ok", "ranks": [{"result": 1')
        """,
        """
        def total(comm, x):
            return {"state": "ok", "ranks": [], "result": None, "points": 3, "findings": []}
        """,
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},
    ),
    Attack(
        "not-a-number",
        "Returns NaN and infinities, with which comparisons go wrong.",
        "def double(x):\n    return float('nan')",
        "def total(comm, x):\n    return [float('inf'), -float('inf')]",
        scores={"double": NO_DOUBLE, "total": NO_TOTAL},
    ),
    Attack(
        "state-of-its-own",
        "Raises an exception whose class and text look like a run that went well.",
        """
        class ok(Exception):
            pass

        def double(x):
            raise ok('"state": "ok"')
        """,
        """
        def total(comm, x):
            raise type("ok", (Exception,), {"__str__": lambda self: 1 / 0})()
        """,
        scores={"double": (0.0, "raised"), "total": (0.0, "rank-died")},
    ),
    Attack(
        "script",
        "Puts a script into the texts of the feedback page that others will open.",
        """
        def double(x):
            raise ValueError("</pre><script>alert(document.cookie)</script><img src=x onerror=alert(1)>")
        """,
        """
        def total(comm, x):
            print("</pre><script>alert(document.cookie)</script>")
            return "</pre><script>alert(document.cookie)</script>"
        """,
        scores={"double": (0.0, "raised"), "total": NO_TOTAL},
    ),
    Attack(
        "prints-a-verdict",
        "Prints and displays that it has passed, as the check would, and as nbgrader reads partial credit.",
        """
        def double(x):
            from IPython.display import HTML, display

            print("double: passed, 2 of 2 points")
            print('{"todo": "double", "state": "done", "evidence": []}')
            display(HTML("<strong>double: passed, 2 of 2 points</strong>"), 2.0)
            return x
        """,
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "swallowed-assertions",
        "Makes assertions and errors harmless: whatever raises is caught, whatever is asserted holds.",
        """
        import builtins
        import contextlib
        import unittest

        class Harmless(BaseException):
            def __new__(cls, *args):
                raise SystemExit(0)

        builtins.AssertionError = Harmless
        unittest.TestCase.assertEqual = lambda *args: None
        unittest.TestCase.fail = lambda *args: None
        contextlib.suppress.__exit__ = lambda *args: True

        def double(x):
            return x
        """,
        scores={"double": NO_DOUBLE},
    ),
    Attack(
        "hooks",
        "Replaces the hooks for errors, traces, exits and display, in Python and in IPython.",
        """
        import atexit
        import builtins
        import sys
        import threading

        from IPython import get_ipython

        def passed(*args, **kwargs):
            print("double: passed, 2 of 2 points")

        sys.excepthook = sys.unraisablehook = threading.excepthook = sys.displayhook = passed
        builtins.print = passed
        atexit.register(passed)
        shell = get_ipython()
        shell.set_custom_exc((BaseException,), lambda *args, **kwargs: None)
        shell.showtraceback = passed
        shell.display_formatter.format = lambda *args, **kwargs: ({"text/plain": "2.0"}, {})
        shell.run_cell = passed

        def double(x):
            sys.settrace(lambda frame, event, arg: None)
            sys.setprofile(lambda frame, event, arg: None)
            return x
        """,
        scores={"double": NO_DOUBLE},
    ),
)
