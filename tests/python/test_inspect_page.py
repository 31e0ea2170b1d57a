"""`dequant inspect --html`: the page is whole, stands alone, says what numpy says, and shows no
name as anything but text."""

import base64
import hashlib
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import hostile_support as hostile
from arithmetic import codes, dequantized, floats
from page_support import Page, charts, page_of
from support import EXAMPLES, TENSORS, dequant, dq, linear, model, node, save, value

@pytest.fixture(name="model_with_all", scope="module")
def _model_with_all(tmp_path_factory):
    """Every kind of row and remark."""
    rng = np.random.default_rng(1)
    nodes, tensors, outputs = [], [], []

    def add(name, x, scale, zero=None, **attributes):
        inputs = [x.tensor(f"{name}.x"), scale.tensor(f"{name}.s")]
        if zero is not None:
            inputs.append(zero.tensor(f"{name}.z"))
        tensors.extend(inputs)
        nodes.append(dq(" ".join(t.name for t in inputs), name, f"{name} node", **attributes))
        outputs.append(name)

    x = rng.integers(-127, 128, (8, 16))
    x[[2, 5]] = 0
    add("axis", codes("int8", x), floats(np.geomspace(1e-5, 1, 8)), axis=0)
    add("blocked", codes("int4", rng.integers(-8, 8, (4, 64))), floats(rng.random((4, 2)) + 1),
        axis=1, block_size=32)
    add("odd", codes("int8", np.arange(12).reshape(4, 3)), floats([np.nan, 0, np.inf, -1]), axis=0)
    add("same", codes("uint8", np.full(9, 7)), floats(0.5), codes("uint8", 5))
    add("wide", codes("uint16", rng.integers(0, 65536, 999)), floats(0.5), codes("uint16", 30000))
    add("int32", codes("int32", rng.integers(-2**31, 2**31, 999)), floats(2**-20))
    add("float8", codes("float8e5m2", rng.integers(0, 256, 999)), floats(0.5))
    add("float4", codes("float4e2m1", rng.integers(0, 16, 99)), floats(0.5))
    add("empty", codes("int8", np.zeros((0, 3))), floats(0.5))
    nodes.append(dq("in axis.s", "open", "open node"))
    tensors.append(codes("int4", [1, 2, 3]).tensor("lonely"))
    proto = model(nodes, [value("in", "int8")], [*outputs, "open"], tensors, opset=23,
                  ir_version=11)
    return save(proto, tmp_path_factory.mktemp("page") / "all.onnx")


def test_page_is_well_formed_and_has_all_parts(model_with_all):
    page = Page(page_of(model_with_all))
    for words in ["all.onnx", "ai.onnx 23", "9of constants, of 10", "blocked by 32 on axis 1",
                  "Other dequantizations", "in is an input of the graph",
                  "Quantized constants that no node dequantizes", "lonely", "How to read this"]:
        assert words in page.text.replace(" of constants", "of constants"), words
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    shown = {a["href"] for t, a in page.tags if t == "use"}
    assert shown and shown <= {f"#{i}" for i in ids}


def test_page_needs_nothing_from_outside(model_with_all):
    text = page_of(model_with_all)
    assert "http" not in text.replace("http-equiv", "") and "@import" not in text \
        and "url(" not in text
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "a", "form"), tag
        assert not {"src", "action", "srcset", "style"} & set(attributes), attributes
        assert not any(name.startswith("on") for name in attributes), attributes
        assert attributes.get("href", "#").startswith("#")


def test_only_the_script_of_the_page_may_run(model_with_all):
    text = page_of(model_with_all)
    [script] = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text


def test_numbers_are_those_of_numpy(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.integers(-100, 90, (6, 50))
    x[3] = 0
    q, s, z = codes("int8", x), floats(rng.random(6) / 64 + 1e-3), \
        codes("int8", [0, 1, 2, 0, -4, 5])
    row = Page(page_of(linear(tmp_path, q, s, z, axis=0))).tensor("y")
    y = dequantized(q, s, z, axis=0).values()
    scales = s.values()
    assert float(row["Value min"][0]) == y.min() and float(row["Value max"][0]) == y.max()
    assert float(row["Scale min"][0]) == scales.min() and float(row["Scale max"][0]) == scales.max()
    assert float(row["Scales"][0]) == pytest.approx(scales.max() / scales.min())
    assert float(row["Values"][0]) == abs(y).max()
    assert row["Zero point"] == ("-4", "-4 … 5")
    used = len(np.unique(x))
    assert row["Codes used"][1] == f"{used} of 256"
    assert float(row["At lowest"][0]) == (x == x.min()).mean()
    assert float(row["At highest"][0]) == (x == x.max()).mean()
    assert float(row["Zeros"][0]) == (y == 0).mean()
    assert row["NaN, inf"] == ("0", "0")
    assert row["Bytes"] == (str(300 + 24 + 6), "330")


def test_histograms_are_those_of_numpy(tmp_path):
    rng = np.random.default_rng(3)
    q, s = codes("int8", rng.integers(-128, 128, (7, 60))), floats(rng.random(7) * 4 + 0.5)
    text = page_of(linear(tmp_path, q, s, axis=0))
    y = dequantized(q, s, axis=0).values()
    for numbers, label in ((y, "Values"), (q.values(), "Codes"), (s.values(), "Scales")):
        [(begin, width, counts)] = charts(text, label)
        edges = begin + width * np.arange(len(counts) + 1)
        assert np.log2(width) % 1 == 0 and begin % width == 0
        assert edges[0] <= numbers.min() < edges[1] and edges[-2] <= numbers.max() < edges[-1]
        expected = np.bincount(np.floor((numbers - begin) / width).astype(int).ravel())
        assert counts.tolist() == expected.tolist(), label


def test_scales_far_apart_have_a_logarithmic_axis(tmp_path):
    scales = np.geomspace(1e-6, 1, 40).astype("f4")
    text = page_of(linear(tmp_path, codes("int8", np.ones((40, 2))), floats(scales), axis=0))
    assert "data-log" in text
    [(begin, width, counts)] = charts(text, "Scales")
    expected = np.bincount(np.floor((np.log2(scales.astype("f8")) - begin) / width).astype(int))
    assert counts.tolist() == expected.tolist()


def test_values_of_one_scale_are_drawn_by_their_codes(tmp_path):
    rng = np.random.default_rng(4)
    q = codes("uint8", rng.integers(3, 250, 999))
    text = page_of(linear(tmp_path, q, floats(0.25), codes("uint8", 9)))
    [(begin, width, counts)] = charts(text, "Values")
    assert (begin, width) == ((0 - 9 - 0.5) * 0.25, 4 * 0.25)
    assert counts.tolist() == np.bincount(q.codes // 4).tolist()


def test_dead_channels_and_outliers_are_named(tmp_path):
    x = np.full((9, 4), 3)
    x[[2, 7]] = 0
    scales = np.linspace(1, 2, 9).astype("f4")
    scales[4] = 500
    page = Page(page_of(linear(tmp_path, codes("int8", x), floats(scales), axis=0)))
    assert "all values 0 in 2 of 9 channels" in page.text
    assert "All values are 0 at [2], [7]." in page.text
    greatest = next(r for r in page.rows if r[0][1] == "[4]")
    assert [cell[1].strip() for cell in greatest] == ["[4]", "500", "0", "1500"]


def test_remarks_name_what_is_odd(model_with_all):
    page = Page(page_of(model_with_all))
    odd = page.tensor("odd")["Tensor"][1]
    for words in ["3 NaN", "1 scale NaN", "1 scale infinite", "1 scale negative", "1 scale 0"]:
        assert words in odd, words
    assert "every value is 1" in page.tensor("same")["Tensor"][1]
    assert not any(w in page.tensor("wide")["Tensor"][1] for w in ("NaN", "scale", "every"))
    assert page.tensor("empty")["Value min"] == ("", "–")


@pytest.mark.parametrize("options", [["-T", "1"], ["-T", "3"], ["--mem", "1"]])
def test_threads_and_memory_change_no_byte(options, tmp_path):
    rng = np.random.default_rng(5)
    source = linear(tmp_path, codes("int8", rng.integers(-128, 128, (16, 60_000))),
                    floats(rng.random(16)), axis=0)
    assert page_of(source, *options) == page_of(source)


def test_a_page_is_a_regular_file():
    source = EXAMPLES / "digits_qdq_int4.onnx"
    assert "not a regular file" in dequant("inspect", source, "--html", "/dev/full", "-f",
                                           code=5).stderr


# Names.

NAMES = {
    "markup": b"<script>alert(1)</script><img src=x onerror=alert(1)>",
    "attributes": b"\" onmouseover=\"alert(1)\" '><svg/onload=alert(1)>",
    "references": b"&lt;b&gt; &#60;i&#62; &amp",
    "end of style and comment": b"</style></title></textarea>--><!-- ]]>",
    "control characters": b"a\0b\x1b[31m\r\n\x7f\xc2\x85",
    "not UTF-8": b"\xff\xfe\xc3( \xed\xa0\x80 \xc0\xbc",
    "other direction": "a\u202eb\u2066c\u2028d".encode(),
    "format": b"{} {0} %s {:n}",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_are_text_and_nothing_else(name, tmp_path):
    """The same elements and attributes as with a harmless name, wherever a name may stand."""
    def hostile_page(word, file):
        dequantize = hostile.node("DequantizeLinear", [b"x" + word, b"s"], [b"y" + word],
                                  name=b"n" + word)
        open_node = hostile.node("DequantizeLinear", [b"in" + word, b"s"], [b"z" + word])
        reader = hostile.node(b"Read" + word, [b"o" + word], [b"r" + word])
        data = hostile.model(
            dequantize, open_node, reader,
            hostile.initializer(hostile.tensor(b"x" + word, [2], hostile.INT8, raw=b"\1\2")),
            hostile.initializer(hostile.SCALE), hostile.initializer(
                hostile.tensor(b"o" + word, [2], hostile.INT8, raw=b"\1\2")),
            hostile.value(11, b"in" + word, hostile.INT8), hostile.value(12, b"y" + word))
        source = tmp_path / file
        source.write_bytes(data)
        return page_of(source)

    text, harmless = hostile_page(name, "h.onnx"), hostile_page(b"word", "h.onnx")
    page = Page(text)
    marks = [t for t in page.tags if t[0] != "wbr"]
    assert marks == [t for t in Page(harmless).tags if t[0] != "wbr"]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffd]", text)
    if all(31 < byte < 127 for byte in name):
        shown = name.decode()
        for prefix in ("x", "y", "n", "o", "r", "Read"):
            assert prefix + shown in page.text


def test_a_hostile_file_name_is_a_title_and_no_more(tmp_path):
    source = tmp_path / "<b onclick='x'>&amp;\".onnx"
    source.write_bytes((EXAMPLES / "digits_qdq_int4.onnx").read_bytes())
    page = Page(page_of(source))
    assert not any(tag == "b" for tag, _ in page.tags)
    assert source.name in page.text


# The file.

def test_page_is_not_written_over_without_force(tmp_path):
    source, target = EXAMPLES / "digits_qdq_int4.onnx", tmp_path / "p.html"
    dequant("inspect", source, "--html", target)
    first = target.read_bytes()
    assert first.endswith(b"</html>\n")
    target.write_bytes(b"mine")
    assert "exists" in dequant("inspect", source, "--html", target, code=5).stderr
    assert target.read_bytes() == b"mine"
    dequant("inspect", source, "--html", target, "--force")
    assert target.read_bytes() == first


@pytest.mark.parametrize("which", ["model.onnx", "model.data"])
def test_page_never_takes_the_place_of_the_model(which, tmp_path):
    data = bytes(range(6))
    (tmp_path / "model.data").write_bytes(data)
    source = tmp_path / "model.onnx"
    source.write_bytes(hostile.quantized(x=hostile.external("x", [2, 3], hostile.INT8,
                                                            location="model.data")))
    before = (tmp_path / which).read_bytes()
    error = dequant("inspect", source, "--html", tmp_path / which, "--force", code=5).stderr
    assert "name another output" in error
    assert (tmp_path / which).read_bytes() == before


def test_nothing_is_left_when_the_model_is_broken(tmp_path):
    source = tmp_path / "model.onnx"
    source.write_bytes(b"no model")
    dequant("inspect", source, "--html", tmp_path / "p.html", code=3)
    assert hostile.listing(tmp_path) == ["model.onnx"]


def test_json_comes_besides_the_page(tmp_path):
    source = EXAMPLES / "digits_qdq_int4.onnx"
    plain = dequant("inspect", source, "--json").stdout
    assert dequant("inspect", source, "--json", "--html", tmp_path / "p.html").stdout == plain
    assert json.loads(plain)["totals"]["constant"] == 2


def test_page_of_many_tensors_says_what_it_leaves_out(tmp_path):
    count = 20_003
    nodes = [node("DequantizeLinear", "x scale zero", f"y{i}") for i in range(count)]
    text = page_of(save(model(nodes, [], ["y0"], TENSORS), tmp_path / "many.onnx"))
    assert "The first 20,000 of 20,003 are shown" in text
    assert "The first 1,000 can be unfolded and have pictures" in text
    assert "Without its script this page shows the first 1,000 only" in text
    assert text.count("<details>") == text.count("\n<tbody class=") == 1000
    rows = unpacked(text)
    assert [row[0] for row in rows] == [f"y{i}" for i in range(1000, 20_000)]
    assert "20,003" in text and f"y{count - 4}" not in text  # but for what it begins with


def unpacked(text):
    """The rows that the page has as data, each a list of lines."""
    kinds, data = re.search("id='rest' data-kinds='([a-z]+)'>\n(.*?)</script>", text, re.S).groups()
    lines = data.split("\n")
    width = 3 + sum(1 if kind == "p" else 2 for kind in kinds)
    assert len(lines) % width == 0
    rows, row = [], [""] * width
    for at in range(0, len(lines), width):
        row = [old[:int(line[:2], 36)] + line[2:] if i < 2 else line.strip() if line else old
               for i, (old, line) in enumerate(zip(row, lines[at:at + width], strict=True))]
        rows.append(row)
    return rows


def test_20000_tensors_are_10_megabytes_at_most(tmp_path):
    """Of tensors that have nothing in common, under names as exporters give them."""
    rng = np.random.default_rng(7)
    nodes, tensors = [], []
    name = "/model/decoder/layers.{}/self_attn/q_proj/MatMul_{}.weight".format
    for i in range(20_000):
        tensors += [codes("int8", rng.integers(-128, 128, (3, 40))).tensor(name(i, "quantized")),
                    floats(rng.random(3) / 64 + 1e-3).tensor(f"s{i}"),
                    codes("int8", rng.integers(-9, 9, 3)).tensor(f"z{i}")]
        nodes.append(dq(f"{name(i, 'quantized')} s{i} z{i}", name(i, "<dequantized>"), axis=0))
    source = save(model(nodes, [], [name(0, "<dequantized>")], tensors), tmp_path / "big.onnx")
    text = page_of(source)
    assert len(text.encode()) <= 10_000_000
    full = text.count("<details>")
    assert full >= 100 and f"The first {full} can be unfolded" in text
    rows = unpacked(text)
    assert [r[:2] for r in rows] == [[name(i, "&lt;dequantized&gt;"), name(i, "quantized")]
                                     for i in range(full, 20_000)]


def test_the_title_is_that_of_a_folder_however_it_is_named(tmp_path):
    folder = tmp_path / "a & b"
    subprocess.run([sys.executable, EXAMPLES / "make_fp8_checkpoint.py", folder], check=True)
    for path, cwd in ((f"{folder}//", None), (".", folder)):
        page = tmp_path / "p.html"
        dequant("inspect", path, "--html", page, "--force", cwd=cwd)
        text = page.read_text()
        assert "<title>a &amp; b – dequant inspect</title>" in text
        assert "<h1><bdi>a &amp; b</bdi> <small>dequant inspect</small></h1>" in text
