"""`dequant vectors`: its numbers are those of models written independently, `check` passes them,
and ONNX Runtime agrees where it has the type; the page about them is true. Run this file with
--update to write the true output into the page."""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

import tensorflow_support
import vector_models
from support import dequant
from test_docs import BLOCK, ROOT, replay

VERSIONS = [("onnx", v) for v in ("10", "13", "19", "20", "21", "23", "24", "25", "28")] + [
    ("microsoft", "1"), ("tensorflow", "1.4"), ("tensorflow", "2"), ("webnn", "1")] + [
    ("directml", v) for v in ("1_0", "2_0", "2_1", "3_0", "5_2", "6_0", "6_2", "6_3", "6_4")]
DOCUMENT = ROOT / "docs" / "vectors.md"


# Of each runner of the page: its tool, its command, the cases, and code with a mistake for it.
RUNNERS = {
    "mine.js": ("node", "node mine.js {cases} > {results}", "webnn", "1",
                "Math.fround(difference)", "difference"),
    "mine.rs": ("rustc", "rustc -O mine.rs && ./mine {cases} > {results}", "onnx", "10",
                "code as i8 as i64", "code as i64"),
}


def program_of(page, name="agree.py"):
    return re.search(rf"As `{name}`.*?```\w+\n(.*?)```", page, re.S)[1]


def vectors(folder, dialect, version, seed=1, n=100, name="v.json"):
    path = folder / name
    dequant("vectors", dialect, "--version", version, "--seed", seed, "-n", n, "-o", path)
    return path


def cases(path):
    return json.loads(path.read_text())["cases"]


@pytest.mark.parametrize("dialect,version", VERSIONS)
def test_numbers_are_those_of_an_independent_model_and_pass_check(tmp_path, dialect, version):
    path = vectors(tmp_path, dialect, version, seed=5, n=400)
    different = {}
    for case in cases(path):
        if "y" not in case["expect"]:
            continue
        wrong = vector_models.differences(case, vector_models.expected(case))
        if wrong:
            different[case["name"]] = wrong
    assert not different
    assert dequant("check", path).stdout == f"{len(cases(path))} passed, 0 failed, 0 skipped\n"


def test_the_model_sees_a_single_wrong_bit(tmp_path):
    for dialect in ("onnx", "tensorflow", "directml", "webnn", "microsoft"):
        path = tmp_path / f"{dialect}.json"
        dequant("vectors", dialect, "-n", 0, "-o", path)
        case = next(c for c in cases(path) if len(c["expect"]["y"]["bits"]) > 4)
        y = vector_models.expected(case)
        y.reshape(-1)[3] ^= 1
        assert vector_models.differences(case, y) == 1


@pytest.mark.parametrize("dialect", ["onnx", "microsoft", "tensorflow", "directml", "webnn"])
def test_the_seed_decides_every_byte(tmp_path, dialect):
    dequant("vectors", dialect, "--seed", 1, "-o", tmp_path / "a.json")
    dequant("vectors", dialect, "--seed", 1, "-o", tmp_path / "b.json")
    dequant("vectors", dialect, "--seed", 2, "-o", tmp_path / "c.json")
    a, b, c = ((tmp_path / f"{n}.json").read_bytes() for n in "abc")
    assert a == b
    assert a.replace(b"--seed 1", b"--seed 2") != c


def test_bytes_do_not_depend_on_the_target_that_is_asked_for(tmp_path, monkeypatch):
    plain = vectors(tmp_path, "onnx", "25", name="plain.json").read_bytes()
    for target in ("reference", ""):
        monkeypatch.setenv("DEQUANT_FORCE_TARGET", target)
        assert vectors(tmp_path, "onnx", "25", name=f"{target}.json").read_bytes() == plain


# Names of cases that ONNX Runtime reads otherwise; docs/vectors.md says why.
OTHERWISE = ("int32/wide_differences/", "/minus_zero_point", "/rank_1_one_block",
             "reject/scale_of_rank_1")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The functions of the page's program, which reads its file when it starts."""
    folder = tmp_path_factory.mktemp("agree")
    source, empty = folder / "agree.py", folder / "empty.json"
    source.write_text(program_of(DOCUMENT.read_text()))
    empty.write_text('{"cases": []}')
    names = {}
    arguments, sys.argv = sys.argv, ["agree.py", str(empty)]
    try:
        exec(compile(source.read_text(), str(source), "exec"), names)
    finally:
        sys.argv = arguments
    return names


@pytest.mark.parametrize("opset", ["10", "13", "19", "21", "23", "24", "25"])
def test_onnx_runtime_agrees_where_it_has_the_type(tmp_path, example, opset):
    judged = {}
    for case in cases(vectors(tmp_path, "onnx", opset, seed=9, n=300)):
        judged.setdefault(example["judge"](case), []).append(case["name"])
    assert len(judged["agrees"]) > 300
    assert judged["refused, as it must be"]
    others = [n for verdict, names in judged.items() for n in names
              if verdict not in ("agrees", "refused, as it must be", "skipped")]
    assert [n for n in others if not any(o in n for o in OTHERWISE)] == []


def tensorflow_node(case, interface):
    attributes, (x, low, high) = case["attributes"], (
        case["inputs"][n] for n in ("x", "min_range", "max_range"))
    codes = vector_models.values(x).astype(tensorflow_support.TYPES[x["type"]])
    return tensorflow_support.Node(
        codes, vector_models.values(low), vector_models.values(high), x["type"],
        attributes["mode"], attributes.get("axis", -1), attributes.get("narrow_range", False),
        attributes.get("dtype", "float32"), interface)


@pytest.mark.skipif(bool(tensorflow_support.MISSING), reason=tensorflow_support.MISSING)
@pytest.mark.parametrize("version", ["1.4", "2"])
def test_tensorflow_agrees_but_for_casts_that_it_leaves_undefined(kernel, tmp_path, version):
    agreed, refused = 0, 0
    for case in cases(vectors(tmp_path, "tensorflow", version, seed=9, n=300)):
        if case["attributes"].get("semantics") == "documented":
            continue
        if "y" in case["expect"]:
            y = kernel.dequantize(tensorflow_node(case, "raw"))
            y = vector_models.encode(case["expect"]["y"]["type"], y)
            if "SCALED" not in case["name"] or "undefined_casts" not in case["name"]:
                assert vector_models.differences(case, y) == 0, case["name"]
                agreed += 1
        elif version == "2" and not re.search("input_type|unknown_attribute|documented_after",
                                              case["name"]):
            answer = kernel.ask(tensorflow_node(case, "graph"))
            assert re.fullmatch(r"\w+Error", answer), case["name"]
            refused += 1
    assert agreed > 600
    assert refused > 30 or version == "1.4"


def replayed_page(folder):
    """The page, and the page with the output that its commands really have."""
    text = DOCUMENT.read_text()
    for name in ("agree.py", *RUNNERS):
        (folder / name).write_text(program_of(text, name))
    missing = [f"$ {r[0]} " for r in RUNNERS.values() if shutil.which(r[0]) is None]

    def block(match):
        if any(tool in match[0] for tool in missing):
            return match[0]  # test_check_results.py says that they are missing
        return replay(match[0], folder, os.path.abspath(os.environ["DEQUANT_CLI"]))

    before = os.environ["PATH"]
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{before}"
    try:
        return text, BLOCK.sub(block, text)
    finally:
        os.environ["PATH"] = before


def test_the_page_is_true(tmp_path):
    text, true = replayed_page(tmp_path)
    assert text == true


def test_the_page_explains_every_rule(tmp_path):
    explained = re.findall(r"`(\w+)`", " ".join(re.findall(
        r"^\| (`.*?) \|", DOCUMENT.read_text().split("## Refusals")[1], re.M)))
    dialects = dequant("vectors", "none", "-o", "v", code=2).stderr.split(" one of ")[1].split(", ")
    versions = VERSIONS + [(d.strip(), "1") for d in dialects if (d.strip(), "1") not in VERSIONS
                           and d.strip() not in ("onnx", "tensorflow", "directml")]
    broken = {rule.split("/")[-1] for dialect, version in versions for rule in json.loads(dequant(
        "vectors", dialect, "--version", version, "-n", 0, "--dry-run", "--json").stdout)["rules"]}
    assert sorted(explained) == sorted(broken)


def test_dry_run_counts_and_writes_nothing(tmp_path):
    path = tmp_path / "v.json"
    arguments = ["vectors", "webnn", "-n", 50, "-o", path, "--json"]
    counted = json.loads(dequant(*arguments, "--dry-run").stdout)
    assert not path.exists()
    assert counted["dry_run"] is True
    made = json.loads(dequant(*arguments).stdout)
    assert made == {**counted, "dry_run": False}
    assert (made["dialect"], made["version"], made["seed"], made["random"]) == ("webnn", "1", 1, 50)
    assert made["bytes"] == path.stat().st_size
    held = cases(path)
    refused = [c for c in held if "error" in c["expect"]]
    assert made["cases"] == len(held)
    assert made["refusals"] == len(refused) == sum(made["rules"].values())
    by_type = {t["type"]: sum(t["granularities"].values()) for t in made["types"]}
    assert sum(by_type.values()) == len(held) - len(refused)
    for element, count in by_type.items():
        assert count == sum(c["inputs"]["x"]["type"] == element for c in held
                            if "y" in c["expect"])


def test_nothing_is_overwritten_without_force(tmp_path):
    path = tmp_path / "v.json"
    path.write_text("mine")
    done = dequant("vectors", "webnn", "-o", path, code=5)
    assert "exists" in done.stderr and path.read_text() == "mine"
    dequant("vectors", "webnn", "-o", path, "--force")
    assert len(cases(path)) > 100


@pytest.mark.parametrize("arguments,message", [
    (["caffe", "-o", "v.json"], "dialect: caffe is not one of onnx"),
    (["onnx", "--version", "9", "-o", "v.json"],
     "version: 9 is none of onnx, which has opsets 10 to 28"),
    (["directml", "--version", "9_9", "-o", "v.json"],
     "9_9 is none of directml, which has feature levels 1_0 to 6_4"),
    (["directml", "--version", "7_0", "-o", "v.json"], "version: 7_0"),
    (["onnx", "-n", "10001", "-o", "v.json"], "10001 is outside [0, 10000]"),
    (["onnx", "-n", "-1", "-o", "v.json"], "-1 is outside"),
    (["onnx", "--seed", "x", "-o", "v.json"], "seed"),
    (["onnx"], "give -o FILE, or --dry-run"),
    ([], "DIALECT is required")])
def test_wrong_usage_says_what_is_wrong_and_writes_nothing(tmp_path, arguments, message):
    assert message in dequant("vectors", *arguments, code=2, cwd=tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


def test_the_largest_file_is_one_that_check_reads(tmp_path):
    for dialect in ("onnx", "directml"):
        path = tmp_path / f"{dialect}.json"
        dequant("vectors", dialect, "-n", 10000, "-o", path)
        assert path.stat().st_size < 64 << 20
        assert " 0 failed" in dequant("check", path).stdout


if __name__ == "__main__" and "--update" in sys.argv:
    with tempfile.TemporaryDirectory() as folder:
        DOCUMENT.write_text(replayed_page(pathlib.Path(folder))[1])
