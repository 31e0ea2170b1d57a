"""The page of `dequant inspect --html` in Chromium, where that is installed: it unfolds, sorts,
filters, and runs no script but its own."""

import base64
import functools
import pathlib
import tempfile

import numpy as np
import pytest

from arithmetic import codes, floats
from browser import CHROMIUM, Browser, Page
from support import dequant, dq, model, save

pytestmark = pytest.mark.skipif(CHROMIUM is None,
                                reason="CHROMIUM IS NOT INSTALLED: no page is tried in a browser")

COUNT = 700
FIRST = "#tensors > tbody:not(.late)"


@pytest.fixture(name="opened", scope="module")
def _opened():
    """Opens a page in the one browser of all tests, as a browser takes seconds to start."""
    with Browser() as browser:
        yield functools.partial(Page, browser)


def page_of(count, folder):
    """A page of that many tensors; w0 has a dead channel, wi the scales (i * 37 % count + 1) /
    1024."""
    rng = np.random.default_rng(1)
    nodes, tensors = [], []
    for i in range(count):
        x = rng.integers(-128, 128, (2, 8))
        if i == 0:
            x[1] = 0
        scale = (i * 37 % count + 1) / 1024
        tensors += [codes("int8", x).tensor(f"x{i}"), floats([scale, scale / 2]).tensor(f"s{i}")]
        nodes.append(dq(f"x{i} s{i}", f"w{i}", f"n{i}", axis=0))
    source = save(model(nodes, [], ["w0"], tensors), folder / "browser.onnx")
    dequant("inspect", source, "--html", folder / "page.html")
    return folder / "page.html"


@pytest.fixture(name="page", scope="module")
def _page(tmp_path_factory):
    return page_of(60, tmp_path_factory.mktemp("browser"))


@pytest.fixture(name="long_page", scope="module")
def _long_page(tmp_path_factory):
    """More tensors than are shown at first. A browser takes seconds to open it."""
    return page_of(COUNT, tmp_path_factory.mktemp("browser"))


def names(page, most=5):
    return page.value(f"[...document.querySelectorAll('{FIRST} > tr:first-child bdi')]"
                      ".filter((e, i) => i % 2 == 0).map(e => e.textContent)")[:most]


def shown(page):
    return page.value(f"document.querySelectorAll('{FIRST}').length")


def title(page, name):
    at = page.value("[...document.querySelectorAll('#tensors thead th')].findIndex("
                    f"e => e.textContent == '{name}')")
    return f"#tensors thead th:nth-child({at + 1}) button"


def test_nothing_goes_wrong_and_all_is_drawn(opened, long_page):
    with opened(long_page) as p:
        assert p.messages == []
        assert names(p, 3) == ["w0", "w1", "w2"]
        chart = p.value("(() => { const r = document.querySelector('svg.s path:last-child')"
                        ".getBoundingClientRect(); return [r.width, r.height]; })()")
        assert chart[0] > 50 and chart[1] > 20


def test_titles_sort_and_sort_back(opened, long_page):
    order = sorted(range(COUNT), key=lambda i: i * 37 % COUNT)
    with opened(long_page) as p:
        button = title(p, "Scale max")
        for expected, state in ((order[:-6:-1], "descending"), (order[:5], "ascending"),
                                (range(5), None)):
            p.click(button)
            assert names(p) == [f"w{i}" for i in expected]
            assert p.value(
                f"document.querySelector('{button}').parentNode.getAttribute('aria-sort')") == state
        assert p.value(f"document.activeElement == document.querySelector('{button}')")
        p.press_enter()  # by the keyboard as well
        assert names(p) == [f"w{i}" for i in order[:-6:-1]]
        p.click(title(p, "Tensor"))
        assert names(p, 3) == ["w0", "w1", "w2"]  # by their numbers


def test_lines_of_rows_are_whole_pixels_in_every_column(opened, page):
    """Otherwise the layer of the sticky column, which has pixels of its own, hides some of them."""
    for width in (1400, 420):
        with opened(page, width=width) as p:
            assert p.value(f"""[...document.querySelectorAll('{FIRST} > tr:first-child')].every(r =>
                [...r.cells].every(c => getComputedStyle(c).borderTopWidth === '1px' &&
                    getComputedStyle(c).borderBottomWidth === '0px') &&
                r.getBoundingClientRect().height % 1 === 0)""")


def test_rows_that_are_data_are_as_those_that_are_written_in_full(opened, tmp_path):
    rng = np.random.default_rng(2)
    nodes, tensors = [], []
    for i in range(1200):
        x = rng.integers(-128, 128, (2, 8))
        if i == 1100:
            x[1] = 0
        tensors += [codes("int8", x).tensor(f"x<b>/{i}"),
                    floats(rng.random(2 if i % 3 else 1)).tensor(f"s{i}")]
        nodes.append(dq(f"x<b>/{i} s{i}", f"w/é/{i}.a", axis=0))

    def rows_of(part, file):
        made = save(model(nodes[part], [], [nodes[part][0].output[0]], tensors), tmp_path / file)
        dequant("inspect", made, "--html", tmp_path / "p.html", "--force")
        with opened(tmp_path / "p.html") as p:
            assert p.messages == []
            assert p.value("document.getElementById('rest')") is None
            return p.value("""[...document.querySelectorAll('#tensors > tbody')].map(b => {
                const row = b.rows[0];
                for (const s of row.querySelectorAll('svg')) s.remove();
                for (const d of row.querySelectorAll('details'))
                    d.replaceWith(...d.firstChild.childNodes);
                return row.outerHTML; })""")
    written = rows_of(slice(300, 1200), "some.onnx")
    both = rows_of(slice(0, 1200), "all.onnx")
    assert len(both) == 1200 and "<em>all values 0 in 1 of 2 channels</em>" in both[1100]
    assert both[300:] == written


def test_filter_and_remarks_choose_rows(opened, long_page):
    with opened(long_page) as p:
        assert shown(p) == 500
        p.click("#next")
        assert shown(p) == COUNT
        p.value("(() => { const f = document.getElementById('filter'); f.value = 'W69 int8';"
                "f.dispatchEvent(new Event('input')); })()")
        assert shown(p) == 11  # w69 and w690 to w699
        assert p.value("document.getElementById('shown').textContent") == "11 of 700 shown"
        p.value("document.getElementById('filter').value = ''")
        p.click("#only")
        assert names(p) == ["w0"]


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_rows_unfold(opened, script, page):
    with opened(page, script=script) as p:
        more = f"document.querySelector('{FIRST} > tr.more')" if script else \
            "document.querySelector('#tensors > tbody > tr.more')"

        def height():
            # Scripts of the page may be off: these are ours, by the protocol.
            p.call("Emulation.setScriptExecutionDisabled", value=False)
            found = p.value(f"{more}.getBoundingClientRect().height")
            p.call("Emulation.setScriptExecutionDisabled", value=not script)
            return found
        assert height() == 0
        p.click("#tensors > tbody summary")
        assert height() > 150
        p.click("#tensors > tbody summary")
        assert height() == 0


def test_without_script_all_rows_are_there(opened, page):
    with opened(page, script=False) as p:
        assert p.value("[...document.querySelectorAll('#tensors > tbody')].every(b => "
                       "b.offsetHeight > 0)")
        assert p.value("document.getElementById('tools').offsetHeight") == 0


def test_bar_under_the_pointer_is_told(opened, page):
    with opened(page) as p:
        p.click("#tensors > tbody summary")
        x, y, name, count = p.value("""(() => {
            const chart = document.querySelector('svg.c[data-names]');
            chart.scrollIntoView({block: 'center'});
            const box = chart.querySelector('svg.b').getBoundingClientRect();
            const counts = chart.dataset.counts.split(' ').map(Number);
            const at = counts.indexOf(Math.max(...counts));
            return [box.x + box.width * (at + .5) / counts.length, box.y + box.height - 3,
                    chart.dataset.names.split(' ')[at], counts[at]]; })()""")
        p.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        told = p.value("document.querySelector('svg.c[data-names]').parentNode"
                       ".querySelector('output').textContent")
        assert told.startswith(f"{name}: {count} (")


def test_dark_is_dark_and_narrow_fits(opened, page):
    def brightness(p):
        rgb = p.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        return sum(rgb) / 3
    with opened(page) as p:
        assert brightness(p) > 200
    with opened(page, width=400, scheme="dark") as p:
        assert brightness(p) < 60
        assert p.value("document.documentElement.scrollWidth <= innerWidth")


def test_a_name_of_any_length_scrolls_within_its_cell(opened, tmp_path):
    long = "very_long_" * 10_000
    proto = model([dq("x s", long, long)], [], [long],
                  [codes("int8", [1]).tensor("x"), floats(1).tensor("s")])
    source = save(proto, tmp_path / "long.onnx")
    dequant("inspect", source, "--html", tmp_path / "long.html")
    with opened(tmp_path / "long.html") as p:
        assert names(p, 1) == [long]
        p.click("#tensors > tbody summary")
        heights = p.value("[...document.querySelectorAll('#tensors > tbody > tr')]"
                          ".map(e => e.getBoundingClientRect().height)")
        assert heights[0] < 300 and 150 < heights[1] < 1500


def test_printing_cut_the_last_columns_of_the_wide_table(opened, page):
    letter = 11 * 96 - 2 * 8 / 25.4 * 96  # pixels of a landscape page between its margins
    with opened(page, width=int(letter)) as p:
        p.click("#tensors > tbody summary")  # also with the details of a tensor
        p.call("Emulation.setEmulatedMedia", media="print")
        ends = p.value("[...document.querySelectorAll('.scroll > table')]"
                       ".map(e => e.getBoundingClientRect().right)")
        assert len(ends) > 1 and 0.8 * letter < max(ends) < letter, ends
        printed = base64.b64decode(p.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert b"/MediaBox [0 0 792 612]" in printed


def test_browser_leaves_nothing_behind(page, monkeypatch):
    with tempfile.TemporaryDirectory() as short:  # sockets within have short paths
        monkeypatch.setattr(tempfile, "tempdir", short)
        with Browser() as browser, Page(browser, page):
            [folder] = pathlib.Path(short).iterdir()
            assert any(name.name.startswith("org.chromium") for name in folder.iterdir())
        assert not list(pathlib.Path(short).iterdir())


def test_no_other_script_runs(opened, page, tmp_path):
    """Even if a name became markup, the policy of the page would not let it run."""
    text = page.read_text().replace("<h1>", "<script>document.title = 'stolen'</script>"
                                    "<img src=x onerror=\"document.title = 'stolen'\"><h1>", 1)
    target = pathlib.Path(tmp_path) / "stolen.html"
    target.write_text(text)
    with opened(target) as p:
        assert p.value("document.title").startswith("browser.onnx")
        assert len(p.messages) >= 2
