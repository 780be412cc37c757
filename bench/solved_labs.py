"""How long each lab's solved notebook takes from top to bottom, and its picture for the map of the course.

    python bench/solved_labs.py [LAB ...] [--pictures]

The lab's lab.toml names a cell, in its table `picture`. With --pictures, the last image that this cell shows, on its
light ground and of a film the last frame, becomes the lab's picture.png; look at it before you commit it. The seconds
go there, too: run it where nothing else runs. `./lockstep build` puts both into labs/README.md.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import tempfile
import time
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image, ImageChops, ImageOps
from tqdm import tqdm

from autograde.labs.description import read_description
from autograde.labs.folder import Lab, find_lab, find_labs
from autograde.labs.places import REPOSITORY
from autograde.making.build import instructor_notebook
from autograde.making.course_map import PICTURE
from autograde.making.solved import write_solved

WIDTH = 900  # pixels
MARGIN = 0.02  # of the width, at each side
COLOURS = 256
PAPER = "white"  # also behind what is drawn without a ground, so that it can be read on a dark page
LIGHT = re.compile(r'<span class="on-light-ground">(.*?)</span>', re.DOTALL)
IMAGE = re.compile(r'src="data:image/\w+;base64,([^"]+)"')


def run(lab: Lab) -> tuple[NotebookNode, float]:
    """The solved notebook with its outputs, and the seconds that it took, start of the kernel included."""
    notebook = instructor_notebook(lab)
    with tempfile.TemporaryDirectory() as folder:
        write_solved(lab, Path(folder))
        where = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=600, startup_timeout=300, kernel_name="python3", resources=where)
        began = time.monotonic()
        client.execute()
    return notebook, time.monotonic() - began


def last_image(cell: NotebookNode) -> Image.Image:
    """The last image that a cell shows on a light ground. Raises ValueError if it shows none."""
    pages = [output.data.get("text/html", "") for output in cell.outputs if "data" in output]
    images = [data for page in pages for part in LIGHT.findall(page) or [page] for data in IMAGE.findall(part)]
    if not images:
        raise ValueError(f"cell {cell.id} shows no picture")
    image = Image.open(io.BytesIO(base64.b64decode(images[-1])))
    image.seek(getattr(image, "n_frames", 1) - 1)
    return image.convert("RGBA")


def write_picture(image: Image.Image, path: Path) -> None:
    """Write an image as a small PNG, on paper of which only a narrow margin is left."""
    paper = Image.new("RGBA", image.size, PAPER)
    paper.alpha_composite(image)
    whole = paper.convert("RGB")
    drawn = whole.crop(ImageChops.difference(whole, Image.new("RGB", image.size, PAPER)).getbbox())
    cut = ImageOps.expand(drawn, int(drawn.width * MARGIN), PAPER)
    small = cut.resize((WIDTH, WIDTH * cut.height // cut.width), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, 2, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Run the labs one after another, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("labs", nargs="*", metavar="LAB")
    parser.add_argument("--pictures", action="store_true", help="write each lab's picture.png")
    options = parser.parse_args()
    labs = [find_lab(REPOSITORY, name) for name in options.labs] or find_labs(REPOSITORY)
    for lab in (bar := tqdm(labs, unit="lab")):
        bar.set_description(lab.name)
        notebook, seconds = run(lab)
        tqdm.write(f"{lab.name}: {seconds:.0f} s")
        if options.pictures:
            described = read_description(lab.folder)
            if described is None or described.picture is None:
                raise SystemExit(f"{lab.folder}/lab.toml has no table `picture`")
            cell = next(cell for cell in notebook.cells if cell.id == described.picture.cell)
            write_picture(last_image(cell), lab.folder / PICTURE)


if __name__ == "__main__":
    main()
