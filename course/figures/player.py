"""Films that the reader steps through: frames of HTML with a caption each, in JupyterLab, on slides and on a web page.

A film needs no network and no library. It never starts by itself: buttons, a slider and the arrow keys step through it,
and a button plays it, which is not there for those who asked their system for less motion. Where scripts may not run,
as in a notebook that nobody has trusted yet, its first frame stands there with its caption.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

from course.figures.theme_colours import EDGE, FAINT, INK

SECONDS = 1.2  # that a frame is shown while a film plays

# The class, and nothing else, says what a style is for: several films share a page.
STYLE = f"""<style>
.film {{ margin: 0.5em 0; max-width: 46em; color: {INK}; }}
.film-caption {{ min-height: 3.2em; line-height: 1.45; margin: 0; padding: 0.3em 0; }}
.film-keys {{ display: flex; gap: 0.5em; align-items: center; }}
.film-keys[hidden], .film-frame[hidden] {{ display: none; }}
.film-keys button {{ font: inherit; color: inherit; background: none; border: 1px solid {FAINT}; border-radius: 4px;
  padding: 0.15em 0.7em; cursor: pointer; }}
.film-keys button:disabled {{ opacity: 0.5; border-color: {EDGE}; cursor: default; }}
.film-keys input {{ flex: 1; min-width: 5em; accent-color: {INK}; }}
.film-keys :focus-visible {{ outline: 2px solid currentColor; outline-offset: 2px; }}
@media (prefers-reduced-motion: reduce) {{ .film-keys .film-play {{ display: none; }} }}
</style>"""

SCRIPT = """<script>
(() => {
  const film = document.currentScript.closest('.film'), find = (name) => film.querySelector('.film-' + name);
  const frames = [...film.querySelectorAll('.film-frame')], captions = %(captions)s;
  const slider = find('slider'), back = find('back'), on = find('on'), play = find('play');
  let now = 0, timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = 'Play';
  };
  const show = (frame) => {
    now = Math.max(0, Math.min(frames.length - 1, frame));
    frames.forEach((each, number) => { each.hidden = number !== now; });
    find('caption').textContent = captions[now];
    slider.value = now;
    slider.setAttribute('aria-valuetext', `step ${now + 1} of ${frames.length}`);
    find('count').textContent = `${now + 1} / ${frames.length}`;
    back.disabled = now === 0;
    on.disabled = now === frames.length - 1;
    if (on.disabled) stop();
  };
  const step = (frame) => { stop(); show(frame); };
  back.addEventListener('click', () => step(now - 1));
  on.addEventListener('click', () => step(now + 1));
  slider.addEventListener('input', () => step(Number(slider.value)));
  play.addEventListener('click', () => {
    if (timer) return stop();
    show(now === frames.length - 1 ? 0 : now + 1);
    play.textContent = 'Pause';
    timer = setInterval(() => film.isConnected ? show(now + 1) : stop(), %(milliseconds)d);
  });
  film.addEventListener('keydown', (event) => {
    const to = {ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: frames.length - 1}[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    step(to);
    event.preventDefault();
    event.stopPropagation();
  });
  find('keys').hidden = false;
  show(0);
})();
</script>"""

# JupyterLab leaves the keys alone that are pressed within an element with this attribute.
OWN_KEYS = "data-lm-suppress-shortcuts"


@dataclass(frozen=True)
class Frame:
    """One picture of a film. picture: HTML, with an alternative text of its own. caption: what is seen, a sentence."""

    picture: str
    caption: str


class Film:
    """Frames that the reader steps through. name: what the film shows, in a few words, for those who cannot see it.

    Raises ValueError without frames, or if one of them has no caption.
    """

    def __init__(self, name: str, frames: Sequence[Frame]) -> None:
        if not frames or not all(frame.caption.strip() for frame in frames):
            raise ValueError(f"The film {name!r} has no frames, or one without a caption.")
        self.name, self.frames = name, list(frames)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}, {len(self.frames)} frames>"

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": repr(self)}

    @property
    def html(self) -> str:
        """The film with its keys."""
        captions = [frame.caption for frame in self.frames]
        pictures = "\n".join(
            f'<div class="film-frame"{" hidden" * (number > 0)}>{frame.picture}</div>'
            for number, frame in enumerate(self.frames)
        )
        # `</` would end the script.
        script = SCRIPT % {"captions": json.dumps(captions).replace("</", r"<\/"), "milliseconds": 1000 * SECONDS}
        return f"""{STYLE}<div class="film" role="group" aria-label="Film: {html.escape(self.name)}" {OWN_KEYS}="true">
{pictures}
<p class="film-caption" aria-live="polite">{html.escape(captions[0])}</p>
<div class="film-keys" hidden>
<button type="button" class="film-back" aria-label="Step back">&#9664;</button>
<input type="range" class="film-slider" min="0" max="{len(captions) - 1}" value="0" aria-label="Step of the film">
<button type="button" class="film-on" aria-label="Step on">&#9654;</button>
<button type="button" class="film-play">Play</button>
<span class="film-count" aria-hidden="true"></span>
</div>
{script}</div>"""
