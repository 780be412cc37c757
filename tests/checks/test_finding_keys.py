"""The same mistake has one key, one text and one price: each key is defined in one place of the repository."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from autograde.contract.labs import find_labs, load_checks
from autograde.contract.places import REPOSITORY

LABS = find_labs(REPOSITORY)
TEXT = re.compile(r'Findings\(\s*r?"""(.*?)"""', re.DOTALL)
KEY = re.compile(r"^([a-z0-9][a-z0-9-]*) [\d.]+$", re.MULTILINE)


def defined_keys() -> Counter[str]:
    """How often each key is defined, in the library and in the labs' checks."""
    files = [*REPOSITORY.glob("autograde/**/*.py"), *REPOSITORY.glob("solutions/*/checks/*.py")]
    texts = [text for path in files for text in TEXT.findall(path.read_text(encoding="utf-8"))]
    return Counter(key for text in texts for key in KEY.findall(text))


def test_a_key_is_defined_once():
    defined = defined_keys()
    assert defined
    assert [key for key, times in defined.items() if times > 1] == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_todo_that_charges_another_price_names_a_finding_that_there_is(lab):
    defined = defined_keys()
    for check in load_checks(lab.checks):
        assert [key for key in check.prices if key not in defined] == [], check.todo
