"""The picture of ranks on nodes: how they are numbered, through all nodes and on each."""

from __future__ import annotations

from course.figures.ranks.places import places_picture

FIGURES = {
    "2 nodes with 2 ranks": places_picture,
    "2 nodes with 4 ranks": lambda: places_picture(2, 4),
    "one rank": lambda: places_picture(1, 1),
}


def test_ranks_are_numbered_through_all_nodes_and_from_0_on_each() -> None:
    figure = places_picture(2, 2)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [text for text in texts if text.startswith("rank")] == ["rank 0", "rank 1", "rank 2", "rank 3"]
    assert [text for text in texts if text.startswith("local")] == ["local rank 0", "local rank 1"] * 2
    assert [text for text in texts if text.startswith("cuda")] == ["cuda:0", "cuda:1"] * 2
    assert "rank 2 on node 1 is local rank 0, on cuda:0" in figure.alt
