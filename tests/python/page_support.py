"""The page of `dequant inspect --html` as tests read it."""

import html.parser
import re

import numpy as np

from support import dequant

VOID = {"meta", "input", "wbr", "br", "path"}


class Page(html.parser.HTMLParser):
    """A page read strictly: every element is closed where it must be, every attribute is known."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.texts, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append([dict(attrs), ""])

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)
            if self.rows and self.rows[-1] and {"td", "th"} & set(self.open):
                self.rows[-1][-1][1] += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def tensor(self, name):
        """The cells of the row of a tensor by the titles of the columns: (data-v, text)."""
        titles = next(r for r in self.rows if r and r[0][1] == "Tensor")
        row = next(r for r in self.rows if len(r) == len(titles) and r[0][1].startswith(name))
        return {t[1]: (c[0].get("data-v"), c[1]) for t, c in zip(titles, row, strict=True)}

    @property
    def text(self):
        return "".join(self.texts)


def page_of(source, *options):
    """The text of the page of a model."""
    target = source.parent / "page.html"
    done = dequant("inspect", source, "--html", target, "--force", *options)
    assert "--json" in options or done.stdout == ""
    return target.read_text(encoding="utf-8")


def charts(text, label):
    """(begin, width, counts) of the large charts of a page."""
    found = re.findall(
        rf"aria-label='{label}: [^']*' data-begin='([^']*)' data-width='([^']*)'( data-log)? "
                       r"data-counts='([^']*)'", text)
    return [(float(b), float(w), np.array(c.split(), int)) for b, w, _, c in found]
