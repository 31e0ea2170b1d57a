"""`dequant check --results` judges other implementations; the schemas of cases and of results."""

import copy
import json
import os
import random
import shutil
import subprocess

import jsonschema
import pytest

from support import dequant
from test_docs import ROOT
from test_vectors import RUNNERS, cases, program_of, vectors

CASES, RESULTS = (jsonschema.Draft202012Validator(json.loads(
    (ROOT / "docs" / f"{name}.schema.json").read_text())) for name in ("cases", "results"))
DIALECTS = dequant("vectors", "none", "--dry-run", code=2).stderr.split(" one of ")[1].strip()


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def results(listed):
    return {"format": "dequant-results", "version": 1, "results": listed}


def perfect(path):
    """Results that are what the cases expect."""
    return [{"name": c["name"], **({"y": c["expect"]["y"]} if "y" in c["expect"]
                                   else {"error": c["rule"]})} for c in cases(path)]


@pytest.fixture(scope="module")
def webnn(tmp_path_factory):
    return vectors(tmp_path_factory.mktemp("webnn"), "webnn", "1", n=3)


def judged(path, listed, *arguments, code=0):
    mine = write(path.parent / "mine.json", results(listed))
    done = dequant("check", path, "--results", mine, "--json", *arguments, code=code)
    return json.loads(done.stdout), done.stderr


def test_every_result_is_judged_by_its_case(webnn):
    mine = perfect(webnn)
    report, _ = judged(webnn, mine[::-1])
    assert (report["passed"], report["failed"], report["skipped"]) == (len(mine), 0, 0)
    assert [c["name"] for c in report["cases"]] == [c["name"] for c in cases(webnn)]
    assert {c["name"]: c["rule"] for c in report["cases"]} == {
        c["name"]: c.get("rule") for c in cases(webnn)}
    first = next(r for r in mine if len(r.get("y", {"bits": []})["bits"]) > 4)
    first["y"] = copy.deepcopy(first["y"])
    first["y"]["bits"][3] ^= 1
    refused = next(r for r in mine if "error" in r)
    refused.update(y=refused.pop("error") and first["y"])
    report, _ = judged(webnn, mine, code=1)
    wrong = {c["name"]: c for c in report["cases"] if c["verdict"] == "failed"}
    assert set(wrong) == {first["name"], refused["name"]}
    assert wrong[first["name"]]["difference"]["differing"] == 1
    assert "not refused" in wrong[refused["name"]]["reason"]


def test_a_forgotten_case_fails_and_a_skipped_one_does_not(webnn):
    mine = perfect(webnn)
    mine[0] = {"name": mine[0]["name"], "skipped": "not yet"}
    forgotten = mine.pop()["name"]
    report, _ = judged(webnn, mine, code=1)
    assert (report["failed"], report["skipped"]) == (1, 1)
    assert next(c["reason"] for c in report["cases"]
                if c["name"] == forgotten) == "there is no result"
    report, _ = judged(webnn, mine, "--exclude", forgotten)
    assert report["failed"] == 0


def test_only_skipped_results_are_no_success(webnn):
    mine = [{"name": c["name"], "skipped": "no"} for c in cases(webnn)]
    assert "all cases were skipped" in judged(webnn, mine, code=4)[1]


def test_results_of_unknown_names_are_an_error_and_the_others_are_judged(webnn):
    mine = perfect(webnn) + [{"name": "b\n", "error": True}, {"name": "c", "error": True}]
    report, said = judged(webnn, mine, code=3)
    assert report["passed"] == len(mine) - 2
    assert "2 of the results have names that no case of" in said and r"b\x0a" in said


def test_a_tensor_that_does_not_fit_is_an_error_and_the_others_are_judged(webnn):
    mine = perfect(webnn)
    mine[0] = {"name": mine[0]["name"], "y": {**mine[0]["y"], "bits": [0]}}
    report, said = judged(webnn, mine, code=3)
    assert report["passed"] == len(mine) - 1
    assert mine[0]["name"] in said and "mine.json" in said and "1 codes for the 256" in said


def test_results_belong_to_one_case_file(webnn, tmp_path):
    mine = write(tmp_path / "mine.json", results([]))
    assert "--results: give one case file" in dequant(
        "check", webnn, webnn, "--results", mine, code=2).stderr
    assert "no.json" in dequant("check", webnn, "--results", tmp_path / "no.json", code=5).stderr
    assert "not a result file" in dequant("check", webnn, "--results", webnn, code=3).stderr
    assert dequant("check", tmp_path, "--results", mine, code=5).stderr


# The schemas.

@pytest.mark.parametrize("dialect", DIALECTS.split(", "))
def test_the_schema_takes_every_vector(tmp_path, dialect):
    path = tmp_path / "v.json"
    for version in {"tensorflow": ["1.4", "2"], "directml": ["1_0", "6_4"]}.get(dialect, [None]):
        dequant("vectors", dialect, *(["--version", version] if version else []), "-n", 5, "-f",
                "-o", path)
        document = json.loads(path.read_text())
        for case in document["cases"]:
            assert isinstance(case["version"], str)
            assert ("rule" in case) == ("error" in case["expect"])
            for tensor in [*case["inputs"].values(), *case["expect"].values()]:
                if tensor is not True:
                    del tensor["bits"][4:]  # a schema does not count, and takes long for many
        CASES.validate(document)


def test_the_schema_names_the_dialects():
    named = CASES.schema["$defs"]["case"]["properties"]["dialect"]["enum"]
    assert ", ".join(named) == DIALECTS


def test_the_schema_takes_shared_cases_whose_versions_are_numbers(shared):
    document = json.loads((shared / "conformance" / "onnx_reject.json").read_text())
    assert isinstance(document["cases"][0]["version"], int)
    CASES.validate(document)


WRONG = [None, True, False, -1, 0, 1, 0.5, "", "x", [], [1], {}, {"x": 1}, 2**70]


def mutated(rng, document):
    """The document with one member anywhere replaced, removed, renamed or added."""
    document = copy.deepcopy(document)
    places = []

    def collect(value):
        if isinstance(value, (dict, list)) and value:
            places.extend((value, key) for key in
                          (value if isinstance(value, dict) else range(len(value))))
            for inner in (value.values() if isinstance(value, dict) else value):
                collect(inner)
    collect(document)
    holder, key = rng.choice(places)
    what = rng.randrange(4 if isinstance(holder, dict) else 2)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = rng.choice(WRONG)
    elif what == 2:
        holder[rng.choice(["x", "y", "rule", "operator", "strides", "error", "ulp",
                           "skipped"])] = holder.pop(key)
    else:
        holder[rng.choice(["rule", "operator", "strides", "error", "ulp", "ignore_zero_sign",
                           "skipped", "about"])] = rng.choice(WRONG)
    return document


def half(name):
    return {"name": name, "dialect": "onnx", "version": "13", "attributes": {"axis": 0},
            "inputs": {"x": {"type": "int8", "shape": [3], "bits": [255, 0, 2]},
                       "scale": {"type": "float32", "shape": [], "bits": [1056964608]}},
            "expect": {"y": {"type": "float32", "shape": [3],
                             "bits": [3204448256, 0, 1065353216]}}}


def test_the_schema_of_cases_refuses_nothing_that_check_takes(tmp_path):
    refused = {**half("no"), "attributes": {"block_size": 2}, "rule": "block", "expect": {
        "error": True}}
    strided = {**half("far"), "dialect": "directml", "version": "6_4", "operator": "DEQUANTIZE",
               "attributes": {"quantization_type": "SCALE"}, "ulp": 1, "ignore_zero_sign": True}
    strided["inputs"] = {**strided["inputs"], "scale": {
        "type": "float32", "shape": [3], "strides": [0], "bits": [1056964608]}}
    document = {"format": "dequant-cases", "version": 1, "about": "", "cases": [
        half("half"), refused, strided]}
    compared(tmp_path, document, CASES, lambda path: ["check", "--json", path],
             lambda document: len(document["cases"]))


def test_the_schema_of_results_refuses_nothing_that_check_takes(tmp_path):
    names = ["half", "no", "skipped"]
    write(tmp_path / "cases.json", {"format": "dequant-cases", "version": 1, "cases": [
        half(name) for name in names]})
    document = {**results([{"name": "half", "y": half("")["expect"]["y"]}, {
        "name": "no", "error": "why"}, {"name": "skipped", "skipped": "why"}]), "about": "x"}
    compared(tmp_path, document, RESULTS,
             lambda path: ["check", "--json", tmp_path / "cases.json", "--results", path],
             lambda _: len(names))


def compared(folder, document, schema, arguments, count):
    """What the schema refuses, check calls malformed; what it takes is judged case by case."""
    rng = random.Random(5)
    schema.validate(document)
    taken = 0
    for _ in range(250):
        one = mutated(rng, document)
        path = write(folder / "m.json", one)
        done = subprocess.run([os.environ["DEQUANT_CLI"], *map(str, arguments(path))], text=True,
                              capture_output=True, check=False)
        valid = schema.is_valid(one)
        if not valid:
            assert done.returncode == 3, (one, done.stdout, done.stderr)
            continue
        taken += 1
        report = json.loads(done.stdout)
        in_file = [e for e in report["errors"] if "case \"" not in e["message"]
                   and "no case of" not in e["message"]]
        names = [c["name"] for c in one.get("cases", one.get("results"))]
        assert not in_file or len(set(names)) < len(names), (one, done.stderr)
        assert len(report["cases"]) + len(report["errors"]) >= count(one)
    assert 25 < taken < 200


# The runners of the page.

def run_runner(folder, name, source, path):
    write(folder / name, source)
    command = RUNNERS[name][1].format(cases=path.name, results="mine.json")
    subprocess.run(["bash", "-c", command], cwd=folder, check=True, timeout=120)
    return folder / "mine.json"


@pytest.mark.parametrize("name", RUNNERS)
def test_the_runners_of_the_page_find_a_mistake(tmp_path, name):
    tool, _, dialect, version, right, wrong = RUNNERS[name]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool.upper()} IS MISSING: {name} of docs/vectors.md is not run")
    source = program_of((ROOT / "docs" / "vectors.md").read_text(), name)
    assert len(source.splitlines()) <= 40
    path = vectors(tmp_path, dialect, version, seed=4, n=300)
    mine = run_runner(tmp_path, name, source, path)
    small = json.loads(mine.read_text())
    for result in small["results"]:
        if "y" in result:
            del result["y"]["bits"][4:]
    RESULTS.validate(small)
    assert " 0 failed" in dequant("check", path, "--results", mine).stdout
    assert source.count(right) == 1
    mine = run_runner(tmp_path, name, source.replace(right, wrong), path)
    assert " 0 failed" not in dequant("check", path, "--results", mine, code=1).stdout
