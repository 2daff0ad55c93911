"""Links between pages lead somewhere, also to a heading; links to elsewhere are named, not followed."""

import re
from pathlib import Path

from page_blocks import ROOT, pages

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
EVERY_PAGE = [*pages(), *(path for path in sorted(ROOT.glob("*.md")) if path.name != "README.md")]
EVERY_PAGE += sorted(ROOT.glob("packages/*/README.md"))


def prose(page: Path) -> str:
    """A page without its blocks and without code in lines, where brackets are not links."""
    return re.sub(r"`[^`\n]*`", "code", FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """Of all headings, as GitHub and our site make them; a heading that comes again gets a number."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        while slug in found:
            slug += "-1"
        found.add(slug)
    return found


def links(page: Path) -> list[str]:
    return [first or second for first, second in LINK.findall(prose(page))]


def test_links_inside_the_documentation_lead_somewhere():
    broken = []
    for page in EVERY_PAGE:
        for link in links(page):
            file, _, anchor = link.partition("#")
            if "://" in file or file.startswith("mailto:"):
                continue
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)} -> {link}")
    assert not broken


def test_links_to_elsewhere_are_https_and_few():
    outside = sorted({link for page in EVERY_PAGE for link in links(page) if "://" in link})
    print(*outside, sep="\n")
    assert all(link.startswith("https://") for link in outside)
    assert len(outside) < 20


def test_every_page_is_in_the_navigation_and_says_first_what_it_is_for():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in pages()[1:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert re.search(rf"(- |: ){re.escape(name)}$", navigation, re.MULTILINE), name
        if name == "changelog.md":
            continue
        title, empty, first = page.read_text(encoding="utf-8").splitlines()[:3]
        assert (title[:2], empty) == ("# ", ""), name
        assert re.match(r"[\w*`\[]", first), f"{name}: begins with {first!r} instead of a sentence"


def test_every_guide_is_in_llms_txt():
    listed = set(re.findall(r"\]\(([\w/-]+)\.html\)", (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")))
    guides = {page.stem for page in ROOT.glob("docs/*.md")} - {"index", "changelog"}
    assert listed == guides | {"api/index", "gallery/index", "decisions/index"}
