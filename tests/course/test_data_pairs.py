"""The sentence pairs that labs train on: made from CLDR, else opus_books from real `datasets` folders."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import datasets
import pytest

from course.data import DataError, Pairs, sentence_pairs
from course.data.cldr_pairs import made_pairs, spelled

FIRST = [(f"The {i}th sentence of the book.", f"La frase numero {i} del libro.") for i in range(300)]


@pytest.fixture(autouse=True)
def no_books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, and no cache of the person who runs the tests."""
    monkeypatch.delenv("LOCKSTEP_DATA", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_DATASETS_CACHE", raising=False)


def saved(
    folder: Path, rows: list[tuple], languages: tuple[str, str] = ("en", "it"), split: str | None = "train"
) -> Path:
    """A folder as `save_to_disk` writes it, in the form of the hub's opus_books."""
    features = datasets.Features({"id": datasets.Value("string"), "translation": datasets.Translation(list(languages))})
    columns = {
        "id": [str(i) for i in range(len(rows))],
        "translation": [dict(zip(languages, row, strict=True)) for row in rows],
    }
    books = datasets.Dataset.from_dict(columns, features)
    place = folder / "opus_books"
    (datasets.DatasetDict({split: books}) if split else books).save_to_disk(place)
    return place


def assert_disjoint(pairs: Pairs) -> None:
    """No sentence twice, in training and held-out pairs together, in either language."""
    everything = pairs.train + pairs.held_out
    for side in zip(*everything, strict=True):
        assert len(set(side)) == len(everything)


def test_made_pairs_are_as_many_as_asked_for_and_none_is_there_twice() -> None:
    pairs = sentence_pairs(4000, 400)
    assert len(pairs.train) == 4000 and len(pairs.held_out) == 400
    assert_disjoint(pairs)
    assert pairs.source == "CLDR and num2words: 4000 pairs for training, 400 held out"


def test_fewer_pairs_are_the_first_of_more_and_those_held_out_stay() -> None:
    few, many = sentence_pairs(100, 50), sentence_pairs(1000, 50)
    assert few.held_out == many.held_out and few.train == many.train[:100]
    assert few.fingerprint != many.fingerprint and few.fingerprint == sentence_pairs(100, 50).fingerprint


def test_made_pairs_are_of_very_different_lengths_and_tidy() -> None:
    pairs = sentence_pairs()
    for sentences in zip(*pairs.train, strict=True):
        lengths = sorted(len(sentence.split()) for sentence in sentences)
        assert lengths[0] == 1 and 18 <= lengths[-1] <= 24
        assert lengths[len(lengths) // 10] <= 2 and lengths[-len(lengths) // 10] >= 10
        assert all(sentence == " ".join(sentence.split()) and sentence.isprintable() for sentence in sentences)


def test_nearly_all_words_of_the_held_out_pairs_occur_often_in_training() -> None:
    pairs = sentence_pairs()
    for train, held_out in zip(zip(*pairs.train, strict=True), zip(*pairs.held_out, strict=True), strict=True):
        seen = re.findall(r"[^\W\d]+", " ".join(train))
        words = set(re.findall(r"[^\W\d]+", " ".join(held_out)))
        # Italian spells a number as one word: a tokenizer has to take it apart.
        simple = {word for word in words if not re.search("cento|mil|anta|enti|esim", word)}
        rare = {word for word in simple if seen.count(word) < 3}
        assert len(rare) <= 0.02 * len(simple), rare


@pytest.mark.thorough
def test_held_out_pairs_are_of_the_kinds_that_training_has() -> None:
    pairs = sentence_pairs()
    for mark in (" ago", " and ", " or ", "AM", "hundred", "(", "–", " Time", "Monday", "euros", "kilometers"):
        train, held_out = (sum(mark in english for english, _ in part) / len(part) for part in pairs[:2])
        assert train > 0.005 and held_out > 0 and 0.3 < held_out / train < 3, mark


KNOWN = {
    "Monday": "lunedì",
    "Friday": "venerdì",
    "France": "Francia",
    "United Kingdom": "Regno Unito",
    "Greek": "greco",
    "July": "luglio",
    "12:30 AM": "00:30",
    "first": "primo",
    "twenty-third": "ventitreesimo",
}


@pytest.mark.thorough
def test_translations_are_right_as_far_as_we_know_them() -> None:
    pairs = dict(islice(made_pairs(), 20_000))
    assert {english: pairs.get(english) for english in KNOWN} == KNOWN


SMALL = """
    zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici
    diciassette diciotto diciannove
"""


def units(number: int) -> str:
    """Italian for 0 to 99, by hand."""
    small = SMALL.split()
    if number < 20:
        return small[number]
    tens = ["venti", "trenta", "quaranta", "cinquanta", "sessanta", "settanta", "ottanta", "novanta"][number // 10 - 2]
    one = number % 10
    if one in (1, 8):
        tens = tens[:-1]
    return tens + {0: "", 3: "tré"}.get(one, small[one])


def test_italian_numbers_in_words_follow_the_rules_of_the_language() -> None:
    for number in range(1000):
        hundreds, rest = divmod(number, 100)
        expected = units(rest) if not hundreds else "cento" if hundreds == 1 else units(hundreds) + "cento"
        if hundreds and rest:
            expected += "tré" if rest == 3 else units(rest)
        # "centotto" and "centoottanta" are right with one o and with two.
        assert spelled(number, "it") in (expected, expected.replace("cento" + "ott", "centott")), number
    assert spelled(1803, "it", "year") == "milleottocentotré" and spelled(1618, "it", "year") == "milleseicentodiciotto"


@pytest.mark.parametrize("split", ["train", None])
def test_opus_books_is_taken_from_the_folder_that_save_to_disk_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: str | None
) -> None:
    place = saved(tmp_path, FIRST, split=split)
    monkeypatch.setenv("LOCKSTEP_DATA", str(tmp_path))
    pairs = sentence_pairs(250, 50)
    assert sorted(pairs.train + pairs.held_out) == sorted(FIRST)
    assert pairs.held_out != FIRST[:50]
    assert pairs.source.startswith(f"opus_books from {place}, without 0 pairs")
    assert sentence_pairs(100, 50).train == pairs.train[:100]


def test_opus_books_that_datasets_keeps_of_the_hub_is_used_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"translation": {"en": en, "it": it}}) for en, it in FIRST))
    datasets.load_dataset("json", data_files=str(rows), cache_dir=str(tmp_path / "cache"))
    kept = next((tmp_path / "cache").glob("json/*/*/*/dataset_info.json")).parent
    shutil.copytree(kept, tmp_path / "hf/datasets/Helsinki-NLP___opus_books/en-it/0.0.0" / kept.name)
    pairs = sentence_pairs(200, 50)
    assert set(pairs.train) <= set(FIRST) and "opus_books" in pairs.source


def test_long_repeated_and_empty_sentences_are_left_out_and_counted(tmp_path: Path) -> None:
    long = " ".join(["word"] * 31)
    odd = [(long, "parola"), ("word", long), FIRST[0], (FIRST[1][0], "altro"), ("other", FIRST[1][1]), ("", "vuoto")]
    saved(tmp_path, odd[:2] + FIRST + odd[2:])
    pairs = sentence_pairs(250, 50, tmp_path)
    assert_disjoint(pairs)
    assert set(pairs.train + pairs.held_out) == set(FIRST) and "without 6 pairs" in pairs.source


def test_spaces_are_tidied(tmp_path: Path) -> None:
    saved(tmp_path, [(" One\ttwo\xa0three\n", "uno  due tre"), ("Four", "Quattro")])
    assert ("One two three", "uno due tre") in sentence_pairs(1, 1, tmp_path).train + sentence_pairs(
        1, 1, tmp_path
    ).held_out


def half_a_file(place: Path) -> None:
    arrow = next(place.glob("train/*.arrow"))
    arrow.write_bytes(arrow.read_bytes()[: arrow.stat().st_size // 2])


def no_file(place: Path) -> None:
    next(place.glob("train/*.arrow")).unlink()


def half_a_state(place: Path) -> None:
    state = place / "train/state.json"
    state.write_text(state.read_text()[:20])


def only_an_empty_folder(place: Path) -> None:
    shutil.rmtree(place)
    place.mkdir()


def a_file_instead(place: Path) -> None:
    shutil.rmtree(place)
    place.write_text("not a folder")


@pytest.mark.parametrize("damage", [half_a_file, no_file, half_a_state, only_an_empty_folder, a_file_instead])
def test_a_damaged_opus_books_is_one_error_that_names_it_and_the_next_step(tmp_path: Path, damage) -> None:
    place = saved(tmp_path, FIRST)
    damage(place)
    with pytest.raises(DataError, match="cannot be read by `datasets`") as raised:
        sentence_pairs(100, 50, tmp_path)
    assert str(place) in str(raised.value) and "lockstep data" in str(raised.value)


def without_the_language(folder: Path) -> None:
    saved(folder, FIRST, languages=("en", "fr"))


def without_translations(folder: Path) -> None:
    datasets.Dataset.from_dict({"text": ["a", "b"]}).save_to_disk(folder / "opus_books")


def without_a_row(folder: Path) -> None:
    saved(folder, [])


def with_another_split(folder: Path) -> None:
    saved(folder, FIRST, split="test")


def with_empty_sentences(folder: Path) -> None:
    saved(folder, [*FIRST, *[("one", ""), (None, "due"), ("  ", "tre"), ("", "")]])


def with_too_few(folder: Path) -> None:
    saved(folder, FIRST[:100])


OTHERWISE = {
    without_the_language: r"holds en and fr, but English \(en\) and Italian \(it\) are needed",
    without_translations: "has the columns text, but no `translation`: it is not opus_books",
    without_a_row: "cannot be read by `datasets`",
    with_another_split: "KeyError: 'train'",
    with_empty_sentences: "4 of 304 pairs have an empty sentence, the first is number 300",
    with_too_few: r"has 100 pairs for use, but 100 \+ 50 are asked for",
}


@pytest.mark.parametrize("make", OTHERWISE, ids=lambda make: make.__name__)
def test_a_datasets_folder_that_is_not_opus_books_is_said_to_be_none(tmp_path: Path, make) -> None:
    make(tmp_path)
    with pytest.raises(DataError, match=OTHERWISE[make]) as raised:
        sentence_pairs(100, 50, tmp_path)
    assert str(tmp_path / "opus_books") in str(raised.value)


@pytest.mark.thorough
def test_datasets_is_not_imported_where_there_is_no_such_folder_and_is_silent_where_there_is(tmp_path: Path) -> None:
    saved(tmp_path, FIRST)
    program = """
import sys
from course.data import sentence_pairs
sentence_pairs(10, 10)
assert "datasets" not in sys.modules
print(sentence_pairs(10, 10, sys.argv[1]).source)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("opus_books from ")
