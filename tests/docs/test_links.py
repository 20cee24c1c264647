"""Links between the pages lead somewhere."""

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_points_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    broken = [link for link in links(page) if not _leads_somewhere(page, link)]
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = {ROOT / "README.md"}
    new = set(reached)
    while new:
        targets = {(page.parent / link.partition("#")[0]).resolve() for page in new for link in links(page)}
        new = {target for target in targets if target.suffix == ".md"} - reached
        reached |= new
    assert set(pages()) <= reached


def test_a_link_to_nothing_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here\n\n[there](there.md) [here](#here) [nowhere](#nowhere)\n", "utf-8")
    assert [link for link in links(page) if not _leads_somewhere(page, link)] == ["there.md", "#nowhere"]


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)
