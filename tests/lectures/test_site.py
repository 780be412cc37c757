"""The site of the lectures: run on real ranks, opened from a folder without a network."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from lecture_site import LECTURES, Offline, Site
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.timeout(900)
each_lecture = pytest.mark.parametrize("name", LECTURES)
LARGEST_PAGE, LARGEST_SITE = 1_500_000, 25_000_000  # bytes
LARGEST_FILM = 300_000

# Words of one film that cover each other, or reach out of their picture.
OVERLAPS = """
(film) => {
  const wrong = [];
  film.querySelectorAll('.film-frame').forEach((frame, number) => {
    frame.hidden = false;
    const svg = frame.querySelector('svg').getBoundingClientRect();
    const words = [...frame.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
    words.forEach(([one, a], index) => {
      const out = a.left < svg.left - 1 || a.right > svg.right + 1 || a.top < svg.top - 1 || a.bottom > svg.bottom + 1;
      if (out) wrong.push(`frame ${number}: ${one} is cut off`);
      for (const [other, b] of words.slice(index + 1)) {
        const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
        if (!apart) wrong.push(`frame ${number}: ${one} and ${other}`);
      }
    });
    frame.hidden = number > 0;
  });
  return wrong;
}
"""

# Pictures that are shown larger than they were drawn.
BLOWN_UP = """
() => [...document.querySelectorAll('.cell_output img[width], .cell_output svg[viewBox]')].filter((one) => {
  const drawn = one.viewBox ? one.viewBox.baseVal.width : Number(one.getAttribute('width'));
  return one.getBoundingClientRect().width > drawn + 1;
}).map((one) => one.getAttribute('alt') || one.getAttribute('aria-label'))
"""


@pytest.mark.sample(1)
@each_lecture
def test_a_lecture_runs_on_real_ranks_and_shows_what_they_did(site: Site, name: str) -> None:
    assert re.search(rf"^{name}: ran in \d+ s$", site.output, re.MULTILINE)
    page = (site.html / "course" / "lectures" / f"{name}.html").read_text()
    assert "Timeline of " in page, "the timeline of a run"
    assert "Traceback" not in page and "stderr" not in page


@pytest.mark.sample(1)
@each_lecture
def test_a_page_opens_from_a_folder_and_asks_nobody(site: Site, offline: Offline, name: str) -> None:
    offline.page.goto(site.page(name))
    wait_for_formulas(offline.page)
    assert (offline.asked, offline.failed) == ([], [])


def test_the_first_page_leads_to_lectures_labs_and_terms(site: Site, offline: Offline) -> None:
    offline.page.goto((site.html / "index.html").as_uri())
    offline.page.wait_for_url(re.compile("/course/lectures/"))  # loaded: a page that is left sooner breaks off requests
    expect(offline.page).to_have_title(re.compile("Lockstep"))
    article = offline.page.locator("article")
    for name in LECTURES:
        expect(article.locator(f'a[href="{name}.html"]')).to_have_count(1)
    article.get_by_role("link", name="03").first.click()
    expect(offline.page.get_by_role("heading", level=1)).to_contain_text("03")
    assert (offline.asked, offline.failed) == ([], [])


@pytest.mark.sample(1)
@each_lecture
def test_its_films_go_on_by_keys_and_buttons(site: Site, offline: Offline, name: str) -> None:
    page = offline.page
    page.goto(site.page(name))
    films = page.locator(".film").all()
    assert films
    for film in films:
        frames, slider, caption = (
            film.locator(".film-frame"),
            film.locator(".film-slider"),
            film.locator(".film-caption"),
        )
        last = frames.count() - 1
        seen = [caption.inner_text()]
        slider.focus()
        for number in range(1, last + 1):
            page.keyboard.press("ArrowRight")
            expect(frames.nth(number)).to_be_visible()
            expect(frames.nth(number - 1)).to_be_hidden()
            seen.append(caption.inner_text())
        assert len({*seen}) == last + 1, "each frame has a caption of its own"
        expect(film.locator(".film-on")).to_be_disabled()
        page.keyboard.press("Home")
        expect(frames.first).to_be_visible()
        film.locator(".film-on").click()
        expect(frames.nth(1)).to_be_visible()
        film.locator(".film-back").click()
        expect(frames.first).to_be_visible()
        film.locator(".film-play").click()
        expect(film.locator(".film-play")).to_have_text("Pause")
        film.locator(".film-play").click()
        assert film.evaluate(OVERLAPS) == []
        assert len(film.inner_html()) < LARGEST_FILM


@pytest.mark.sample(1)
@each_lecture
def test_who_wants_less_motion_gets_no_button_that_plays(site: Site, offline: Offline, name: str) -> None:
    offline.page.emulate_media(reduced_motion="reduce")
    offline.page.goto(site.page(name))
    expect(offline.page.locator(".film-on").first).to_be_visible()
    expect(offline.page.locator(".film-play").first).to_be_hidden()


@pytest.mark.sample(1)
@each_lecture
def test_every_picture_says_in_words_what_it_shows(site: Site, offline: Offline, name: str) -> None:
    offline.page.goto(site.page(name))
    pictures = offline.page.locator("article img, article svg[viewBox]:not(mjx-container svg)")
    told = pictures.evaluate_all(
        "all => all.map((one) => one.getAttribute('alt') || one.getAttribute('aria-label') || '')"
    )
    assert len(told) > 5
    assert [words for words in told if len(words.split()) < 5 or not words.endswith(".")] == []


@pytest.mark.sample(1)
@each_lecture
def test_a_narrow_page_does_not_scroll_sideways_and_each_picture_can_be_enlarged(
    site: Site, offline: Offline, name: str
) -> None:
    page = offline.page
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(site.page(name))
    wait_for_formulas(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate(BLOWN_UP) == []
    outputs = page.locator(".cell_output .output.text_html:has(img, svg[viewBox])")
    buttons = page.get_by_role("button", name="Enlarge the picture below")
    expect(buttons).to_have_count(outputs.count())
    for button in buttons.all():
        button.press("Enter")
        dialog = page.get_by_role("dialog")
        assert dialog.locator("> img, > svg").bounding_box()["width"] > 1000
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(button).to_be_focused()


def test_a_narrow_guide_does_not_scroll_sideways(site: Site, offline: Offline) -> None:
    offline.page.set_viewport_size({"width": 400, "height": 800})
    guides = sorted((site.html / "docs").glob("*.html"))
    assert len(guides) > 5
    wide = {}
    for path in guides:
        offline.page.goto(path.as_uri())
        wide[path.stem] = offline.page.evaluate("document.documentElement.scrollWidth")
    assert {name: width for name, width in wide.items() if width > 400} == {}


@pytest.mark.thorough
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400)])
def test_axe_finds_nothing_on_any_page(site: Site, offline: Offline, scheme: str, width: int) -> None:
    page = offline.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    start = site.html / "index.html"  # it leads to the first page at once
    pages = [path for path in sorted(site.html.rglob("*.html")) if "_static" not in path.parts and path != start]
    assert len(pages) > 2 * len(LECTURES), "lectures, labs, and pages for each reader"
    wrong = []
    for path in pages:
        page.goto(path.as_uri())
        wait_for_formulas(page)
        if path.stem in LECTURES:
            expect(page.locator(f"article .on-{scheme}-ground").first).to_be_visible()
        found = Axe().run(page).response["violations"]
        wrong += [(path.name, rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]]
    assert wrong == []


def test_pages_and_site_are_small(site: Site) -> None:
    pages = {path.name: path.stat().st_size for path in (site.html / "course" / "lectures").glob("*.html")}
    assert {name: size for name, size in pages.items() if size > LARGEST_PAGE} == {}
    assert sum(path.stat().st_size for path in site.html.rglob("*") if path.is_file()) < LARGEST_SITE


def test_search_finds_pages_in_a_folder(site: Site, offline: Offline) -> None:
    offline.page.goto(f"{(site.html / 'search.html').as_uri()}?q=dragonfly")
    found = offline.page.locator("#search-results a").first
    expect(found).to_have_attribute("href", re.compile("course/lectures/04_costs.html"))
    assert (offline.asked, offline.failed) == ([], [])


def wait_for_formulas(page: Page) -> None:
    """Each formula is drawn: the last thing that a page does by itself."""
    expect(page.locator("mjx-container svg")).to_have_count(page.locator("span.math, div.math").count())
