"""Calls of the ranks that do not belong together, told with a question of the lab's."""

from dataclasses import replace

from autograde.rubric import in_step, of_record, why_it_broke_off


def asked(wrong, questions):
    """What is wrong, with the question that belongs to its key; None for another key."""
    if wrong is None or wrong.key not in questions:
        return None
    return replace(wrong, message=f"{wrong.message} {questions[wrong.key]}")


def together(questions):
    """Judge of calls that came to their end."""

    def judge(call):
        wrong = in_step(call)
        return asked(wrong, questions) or wrong

    return of_record(judge)


def apart(questions):
    """For `CallCheck.of(broke_off=...)`."""
    return lambda run: asked(why_it_broke_off(run), questions)
