"""English phrases and their Italian translations, made from CLDR (through Babel) and num2words.

Software formats dates, units or country names by CLDR, which speakers of each language write and review:
https://cldr.unicode.org. Both sides of a pair format the same value by the same pattern, so they mean the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from datetime import date, time, timedelta

from babel import Locale, dates, lists, numbers, units
from num2words import num2words

Phrase = Callable[[str], str]  # the text in a language, "en" or "it"
Kind = Callable[[random.Random], Phrase]  # draws values, and returns the phrase that shows them


def codes(text: str) -> tuple[str, ...]:
    """The words of `text`."""
    return tuple(text.split())


COUNTRIES = codes("""
    AR AT AU BE BG BR CA CH CL CN CO CU CZ DE DK EC EE EG ES ET FI FR GB GR HR HU ID IE IL IN IQ IR IS IT JM JO JP
    KE KR LB LT LU LV LY MA MX MY NG NL NO NP NZ PE PH PK PL PT RO RS RU SE SG SI SK SN SY TH TN TR TW UA US UY VE
    VN ZA
""")
LANGUAGES = codes("""
    ar bg ca cs cy da de el en es et eu fa fi fr ga he hi hr hu id is it ja ko la lt lv mt nl no pl pt ro ru sk sl
    sq sr sv sw ta th tr uk ur vi zh
""")
UNITS = codes("""
    length-kilometer length-meter length-centimeter length-millimeter length-mile mass-kilogram mass-gram
    volume-liter volume-deciliter volume-milliliter area-square-meter area-square-kilometer area-hectare
    volume-cubic-meter speed-kilometer-per-hour speed-meter-per-second digital-megabyte digital-gigabyte
    duration-minute duration-hour duration-day duration-week duration-month duration-year temperature-celsius
    energy-kilocalorie power-watt electric-volt frequency-hertz angle-degree graphics-pixel concentr-percent
""")
CURRENCIES = codes("""
    EUR USD GBP CHF JPY CNY SEK CAD AUD BRL INR PLN TRY MXN
""")
ZONES = codes("""
    Europe/Rome Europe/Paris Europe/Athens Europe/Vienna Europe/Oslo Asia/Tokyo Asia/Kolkata Africa/Cairo
    America/Lima America/Bogota Africa/Nairobi Asia/Bangkok
""")


def a_day(rng: random.Random) -> date:
    """A day from 1950 to 2029."""
    return date(1950, 1, 1) + timedelta(days=rng.randrange(80 * 365))


def a_date(rng: random.Random) -> Phrase:
    """Like "March 3, 1999"."""
    day, form = a_day(rng), rng.choice(("full", "long", "medium"))
    return lambda language: dates.format_date(day, form, language)


def part_of_a_date(rng: random.Random) -> Phrase:
    """Like "March 1999", "3rd quarter 1999"."""
    day, skeleton = a_day(rng), rng.choice(("yMMMM", "MMMMd", "yMMMEd", "MMMEd", "yQQQQ", "MMMMW", "yw"))
    return lambda language: dates.format_skeleton(skeleton, day, locale=language)


def period(rng: random.Random) -> Phrase:
    """Like "March 1999 – July 2000"."""
    begin, skeleton = a_day(rng), rng.choice(("yMMMM", "yMMMd"))
    end = begin + timedelta(days=rng.randrange(35, 700))
    return lambda language: dates.format_interval(begin, end, skeleton, locale=language)


def clock(rng: random.Random) -> Phrase:
    """Like "5:30 PM"."""
    moment = time(rng.randrange(24), rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)))
    return lambda language: dates.format_time(moment, "short", locale=language)


def moment(rng: random.Random) -> Phrase:
    """A date with a time of day."""
    day, hour, form = a_date(rng), clock(rng), rng.choice(("full", "medium"))

    def text(language: str) -> str:
        pattern = dates.get_datetime_format(form, locale=language)
        return pattern.replace("'", "").replace("{1}", day(language)).replace("{0}", hour(language))

    return text


def from_now(rng: random.Random) -> Phrase:
    """Like "in 3 days", "3 weeks ago"."""
    unit, seconds = rng.choice((("hour", 3600), ("day", 86400), ("week", 604800), ("year", 31536000)))
    delta = timedelta(seconds=seconds * rng.choice((-1, 1)) * rng.randint(1, 99))
    return lambda language: dates.format_timedelta(delta, unit, 10**9, True, locale=language)


def amount(rng: random.Random) -> float:
    """A small whole number, a large one or a decimal fraction."""
    return rng.choice((rng.randint(1, 99), rng.randint(1, 99) * 100, rng.randint(1, 199) / 10))


def measure(rng: random.Random) -> Phrase:
    """Like "3.5 kilometers"."""
    value, unit = amount(rng), rng.choice(UNITS)
    return lambda language: units.format_unit(value, unit, locale=language)


def money(rng: random.Random) -> Phrase:
    """Like "5 euros"."""
    value, currency = amount(rng), rng.choice(CURRENCIES)
    return lambda language: numbers.format_currency(value, currency, locale=language, format_type="name")


def large_number(rng: random.Random) -> Phrase:
    """Like "35 million"."""
    value = rng.randint(11, 999) * 10 ** rng.choice((2, 5, 8))
    return lambda language: numbers.format_compact_decimal(
        value, format_type="long", locale=language, fraction_digits=1
    )


def spelled(value: int, language: str, to: str = "cardinal") -> str:
    """A number in words, by num2words 0.5.14, with its mistakes in Italian corrected."""
    words = num2words(value, lang=language, to=to)
    if language == "it":
        words = words.replace("dicotto", "diciotto")  # 118 comes as "centodicotto"
        words = re.sub(r"(?<=\w)tre$", "tré", words)  # 123 comes without its accent
    return words


def in_words(rng: random.Random) -> Phrase:
    """Like "forty-two"."""
    value = rng.choice((rng.randint(0, 999), rng.randint(1, 99) * 1000))
    return lambda language: spelled(value, language)


def ordinal(rng: random.Random) -> Phrase:
    """Like "forty-second"."""
    value = rng.randint(1, 99)  # num2words gets 110th wrong in Italian
    return lambda language: spelled(value, language, "ordinal")


def year_in_words(rng: random.Random) -> Phrase:
    """Like "nineteen ninety-nine"."""
    value = rng.randint(1400, 2099)
    return lambda language: spelled(value, language, "year")


def country(rng: random.Random) -> Phrase:
    """The name of a country."""
    code = rng.choice(COUNTRIES)
    return lambda language: Locale.parse(language).territories[code]


def tongue(rng: random.Random) -> Phrase:
    """The name of a language."""
    code = rng.choice(LANGUAGES)
    return lambda language: Locale.parse(language).languages[code]


def dialect(rng: random.Random) -> Phrase:
    """Like "Spanish (Peru)"."""
    speech, place = tongue(rng), country(rng)
    return lambda language: f"{speech(language)} ({place(language)})"  # as in Locale.get_display_name


def weekday(rng: random.Random) -> Phrase:
    """The name of a day of the week."""
    number = rng.randrange(7)
    return lambda language: dates.get_day_names(locale=language)[number]


def month(rng: random.Random) -> Phrase:
    """The name of a month."""
    number = rng.randint(1, 12)
    return lambda language: dates.get_month_names(locale=language)[number]


def local_time(rng: random.Random) -> Phrase:
    """A time of day with a time zone."""
    hour, zone = clock(rng), rng.choice(ZONES)
    return lambda language: f"{hour(language)} {dates.get_timezone_location(zone, locale=language)}"


SHORT: tuple[Kind, ...] = (
    part_of_a_date, clock, from_now, measure, money, large_number, in_words, ordinal, year_in_words, country, tongue,
    dialect, weekday, month, local_time,
)  # fmt: skip
LONG: tuple[Kind, ...] = (a_date, period, moment)


def several(rng: random.Random) -> Phrase:
    """A list of several things of one kind: "Chad, Peru, and Spain", "3 hours or 5 days"."""
    kind = rng.choice(SHORT + LONG)
    count = rng.randint(2, 5 if kind in SHORT else 3)
    style = rng.choice(("standard", "or"))
    things: dict[str, Phrase] = {}
    while len(things) < count:
        thing = kind(rng)
        things.setdefault(thing("en"), thing)
    return lambda language: lists.format_list([thing(language) for thing in things.values()], style, language)


def made_pairs(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Endlessly many pairs (English, Italian), without a repeated text in either language; a seed fixes them all.

    Half of them show one value, some in a single word; the others list several, in up to about 20 words.
    """
    rng = random.Random(seed)
    met: set[tuple[int, str]] = set()
    while True:
        phrase = rng.choice((rng.choice(SHORT + LONG), several))(rng)
        # CLDR uses several kinds of spaces.
        pair = tuple(" ".join(phrase(language).split()) for language in ("en", "it"))
        if met.isdisjoint(enumerate(pair)):
            met.update(enumerate(pair))
            yield pair
