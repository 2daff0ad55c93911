"""The built site: strict, whole, and without a single request to anywhere else."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from page_blocks import ROOT

import fedbary as fb

LINKS_OF_THE_HEAD = ("canonical", "prev", "next", "alternate")


class Page(HTMLParser):
    """What a page refers to: files that it loads, places that it links to, and its own anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors |= {value for name in ("id", "name") if (value := of.get(name))}
        if of.get("href") and (tag == "a" or (tag == "link" and of.get("rel") in LINKS_OF_THE_HEAD)):
            self.links.append(of["href"])
        elif reference := of.get("src") or (of.get("href") if tag == "link" else None):
            self.loads.append(reference)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: mkdocs then counts no warnings, and strict means nothing.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def parsed(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_no_page_loads_anything_from_elsewhere(site, parsed):
    remote = {load for page in parsed.values() for load in page.loads if urlsplit(load).scheme or load[:2] == "//"}
    assert not {load for load in remote if not load.startswith("data:")}
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_every_link_and_file_of_the_site_is_there(site, parsed):
    broken = []
    for path, page in parsed.items():
        # The page for what was not found is shown in any folder; its links begin at the root.
        if path.name == "404.html":
            continue
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (
                parts.fragment and target in parsed and unquote(parts.fragment) not in parsed[target].anchors
            ):
                broken.append(f"{path.relative_to(site)} -> {link}")
    assert not broken


def test_every_public_name_is_in_the_reference(site, parsed):
    anchors = {anchor for path, page in parsed.items() if path.parent.name == "api" for anchor in page.anchors}
    names = {anchor.rsplit(".", 1)[-1] for anchor in anchors if anchor.startswith(("fedbary.", "fedbary_lab."))}
    assert set(fb.__all__) - names == {"__version__"}


def test_a_browser_asks_for_nothing_and_finds_a_word(site, browser):
    page = browser.new_page(color_scheme="light", offline=True)
    asked, problems = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((site / "index.html").as_uri())
    body = page.locator("body")
    assert body.get_attribute("data-md-color-scheme") == "default"
    page.locator("label[for=__palette_1]").click()
    assert body.get_attribute("data-md-color-scheme") == "slate"
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("barycenter")
    page.locator(".md-search-result__item").first.wait_for()
    page.goto((site / "api" / "valuing.html").as_uri())
    assert "read_clients" in page.inner_text("article")
    page.close()
    assert not problems
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in asked), asked
