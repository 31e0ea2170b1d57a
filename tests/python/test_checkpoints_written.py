"""How checkpoints are written: tensors that are not quantized, audits, conversions that go on."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest
import xxhash

from support import dequant
from test_checkpoints import tensors
from test_checkpoints_folder import CODES, CONFIG, Folder, weight
from test_verify import safetensors

TYPES = {"F32": np.dtype(np.float32), "F16": np.dtype(np.float16),
         "BF16": np.dtype(ml_dtypes.bfloat16)}
STATE = ".dequant-unfinished.json"


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    return Folder(tmp_path)


def data_of(path):
    """Name -> type and bytes of the tensors of all files of a folder."""
    return {name: (dtype, array.tobytes()) for name, (dtype, _, array) in tensors(path).items()}


def files_of(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


# --others same.

def floats(dtype):
    """All numbers of 16 bits; of float32 those halfway between two numbers of 16 bits, too."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    if dtype != "F32":
        return codes.view(TYPES[dtype])
    middle = np.concatenate([codes.astype(np.uint32) << 16 | low
                             for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).view(np.float32)
    half = codes.view(np.float16).astype(np.float32)
    half = half[np.isfinite(half)]
    ends = [np.nextafter(half, np.float32(side)) for side in (-np.inf, np.inf)]
    between = (half[:-1] + half[1:]) / 2
    return np.concatenate([middle, half, *ends, between, np.nextafter(between, np.float32(9e9))])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_others_same_rounds_all_floats_to_the_type_of_the_dequantized_ones(folder, dtype):
    given = {name: floats(name) for name in TYPES}
    counts = np.arange(10, dtype=np.int64)
    folder.file({**weight(), **{name: (name, values) for name, values in given.items()},
                 "counts": ("I64", counts)})
    done = folder.convert("--others", "same", "--dtype", dtype)
    out = tensors(folder.out)
    wanted = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[dtype]
    assert "warning: 2 tensors that are not quantized are rounded to " + dtype in done.stderr
    assert {name: t[0] for name, t in out.items()} == {
        "w.weight": wanted, "F32": wanted, "F16": wanted, "BF16": wanted, "counts": "I64"}
    for name, values in given.items():
        with np.errstate(over="ignore", invalid="ignore"):
            expected = values.astype(np.float32).astype(TYPES[wanted])
        actual = np.frombuffer(out[name][2], TYPES[wanted])
        nan = np.isnan(expected.astype(np.float32))
        np.testing.assert_array_equal(np.isnan(actual.astype(np.float32)), nan)
        assert actual[~nan].tobytes() == expected[~nan].tobytes()
        if name == wanted:
            assert actual.tobytes() == values.tobytes()


def test_others_keep_their_bytes_without_that_option(folder):
    given = {name: (name, floats(name)) for name in TYPES}
    folder.file({**weight(), **given})
    folder.convert("--dtype", "float32")
    out = data_of(folder.out)
    for name, (dtype, values) in given.items():
        assert out[name] == (dtype, values.tobytes())


# --audit.

def audited(folder, *options):
    rng = np.random.default_rng(3)
    plain = rng.standard_normal(5000).astype(np.float32)
    plain[:4] = [np.nan, np.inf, -np.inf, 0]
    folder.file({**weight(), "norm": ("F32", plain), "ids": ("I64", np.arange(3))})
    audit = folder.path.parent / "audit.jsonl"
    folder.convert("--audit", audit, *options)
    return audit, {line["name"]: line for line in map(json.loads, audit.read_text().splitlines())}


def test_an_audit_has_the_hashes_and_the_values_of_every_tensor(folder):
    _, lines = audited(folder)
    out = tensors(folder.out)
    assert lines.keys() == out.keys()
    for name, (dtype, shape, array) in out.items():
        line, data = lines[name], array.tobytes()
        assert line["dtype"] == dtype and line["shape"] == list(shape)
        assert line["bytes"] == len(data) and line["file"] == "model.safetensors"
        assert line["xxh3_128"] == xxhash.xxh3_128_hexdigest(data)
        if dtype == "I64":
            assert line["values"] is None
            continue
        numbers = np.frombuffer(data, TYPES[dtype]).astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        assert line["values"]["nan"] == np.isnan(numbers).sum()
        assert line["values"]["infinity"] == np.isinf(numbers).sum()
        assert line["values"]["zero"] == (numbers == 0).sum()
        assert line["values"]["minimum"] == pytest.approx(finite.min(), rel=1e-7)
        assert line["values"]["maximum"] == pytest.approx(finite.max(), rel=1e-7)
        assert line["values"]["mean_magnitude"] == pytest.approx(np.abs(finite).mean(), rel=1e-12)
    assert lines["norm"]["recipe"] == "copied" and lines["w.weight"]["recipe"]["scheme"] == "fp8"
    assert [(s["name"], s["bytes"]) for s in lines["w.weight"]["sources"]] == [
        ("w.weight", 64), ("w.weight_scale_inv", 4)]
    assert lines["w.weight"]["sources"][0]["xxh3_128"] == xxhash.xxh3_128_hexdigest(CODES.tobytes())


def test_an_audit_does_not_change_the_output_nor_depends_on_threads(folder, tmp_path):
    audit, _ = audited(folder, "-T", "1")
    first = files_of(folder.out), audit.read_text()
    folder.convert("--audit", audit, "--force", "-T", "2", "--mem", "8M")
    assert (files_of(folder.out), audit.read_text()) == first
    dequant("convert", folder.path, "-o", tmp_path / "plain")
    assert files_of(tmp_path / "plain") == first[0]


def test_verify_finds_what_is_not_as_the_audit_says(folder):
    audit, lines = audited(folder)
    assert "3 right, 0 wrong" in dequant("verify", "--audit", audit, folder.out).stdout
    path = folder.out / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    done = dequant("verify", "--audit", audit, folder.out, "--json", code=1)
    report = json.loads(done.stdout)
    assert len(report["wrong"]) == 1 and "the hash of its bytes is" in report["wrong"][0]["reason"]
    assert not report["good"] and report["totals"]["tensors"] == 3
    one = {name: line for name, line in lines.items() if name != "norm"}
    one["ids"]["shape"] = [1, 3]
    audit.write_text("".join(json.dumps(line) + "\n" for line in
                             [*one.values(), {**lines["norm"], "name": "gone"}]))
    report = json.loads(dequant("verify", "--audit", audit, folder.out, "--json", code=1).stdout)
    assert report["missing"] == ["gone"] and report["unexpected"] == ["norm"]
    assert {"name": "ids", "reason": "its shape is [3], not [1, 3]"} in report["wrong"]


@pytest.mark.parametrize("text, words", [
    ("{\n", "line 1"), ("[]\n", "line 1: it is no JSON object"), ("{}\n", 'there is no "name"'),
    ('{"name": "w.weight"}', "its last line does not end"), ("x" * 3_000_000, "longer than"),
    ('{"name": "ids", "dtype": "I64", "shape": [3.5], "xxh3_128": ""}\n', "3.5"),
    ('{"name": "ids", "dtype": "I64", "shape": [3], "xxh3_128": ""}\n' * 2, "has two lines"),
])
def test_an_audit_that_is_malformed_is_refused(folder, text, words):
    audit, _ = audited(folder)
    audit.write_text(text)
    error = dequant("verify", "--audit", audit, folder.out, code=3).stderr
    assert words in error and str(audit) in error and error.count("\n") == 1


def test_an_audit_of_an_onnx_model_is_refused(tmp_path):
    model = pathlib.Path(__file__).parents[2] / "examples" / "digits_qdq_int8.onnx"
    error = dequant("convert", model, "-o", tmp_path / "a", "--audit", "b", code=2).stderr
    assert "audit" in error and "ONNX" in error


def test_verify_wants_a_float_model_or_an_audit(folder):
    audit, _ = audited(folder)
    for more in ([], [folder.out, "--audit", audit]):
        assert "--audit" in dequant("verify", folder.path, *more, code=2).stderr


# --resume.

def many(folder, count=60, size=1 << 16):
    rng = np.random.default_rng(5)
    folder.file({name: tensor for i in range(count) for name, tensor in {
        f"w{i:02}.weight": ("F8_E4M3", rng.integers(0, 120, (256, size // 256)).astype(np.uint8)),
        f"w{i:02}.weight_scale_inv": ("F32", np.ones((2, size // 256 // 128), np.float32)),
    }.items()})
    return ["--max-shard-size", str(4 * size)]


def interrupted(folder, options):
    """Kills a conversion while it writes. True if files and the state were left."""
    process = subprocess.Popen([os.environ["DEQUANT_CLI"], "convert", folder.path, "-o", folder.out,
                                *options, "-q"], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if folder.out.exists() and len(os.listdir(folder.out)) > 3:
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    return (folder.out / STATE).exists() and len(os.listdir(folder.out)) > 1


def test_a_conversion_that_was_killed_goes_on_and_gives_the_same_bytes(folder, tmp_path):
    options = many(folder)
    dequant("convert", folder.path, "-o", tmp_path / "whole", *options)
    tries = 0
    while not interrupted(folder, options):
        tries += 1
        assert tries < 50
        subprocess.run(["rm", "-r", folder.out], check=True)
    left = {name: os.stat(folder.out / name).st_ino for name in os.listdir(folder.out)}
    error = folder.convert(*options, code=5).stderr
    assert "resume continues the conversion" in error and "; --force writes into it\n" in error
    folder.convert(*options, "--resume")
    assert files_of(folder.out) == files_of(tmp_path / "whole")
    kept = [name for name in os.listdir(folder.out)
            if left.get(name) == os.stat(folder.out / name).st_ino]
    # All but the state, and perhaps the file that got its name as the process ended.
    assert len(kept) in (len(left) - 1, len(left) - 2)


@pytest.mark.parametrize("what", ["options", "input", "version", "input of another file"])
def test_a_conversion_with_other_inputs_or_options_does_not_go_on(folder, what):
    options = many(folder, count=8)
    folder.convert(*options)
    for name in ("config.json", "model.safetensors.index.json"):
        (folder.out / name).unlink(missing_ok=True)
    # The state of the folder before the last files were written.
    state = unfinished(folder, options)
    if what == "options":
        options += ["--dtype", "float32"]
    elif what == "input":
        os.utime(folder.path / "model.safetensors", ns=(1, 1))
    elif what == "input of another file":
        (folder.path / "hf_quant_config.json").write_text("{}")
    else:
        state["dequant"] = "0.0.1"
    (folder.out / STATE).write_text(json.dumps(state))
    error = folder.convert(*options, "--resume", code=2).stderr
    assert f"the {what.split()[0]}" in error and "changed since it began" in error


def unfinished(folder, options):
    """The state of a conversion, by a run into another folder that fails at the second file."""
    out = folder.path.parent / "unfinished"
    first = sorted(name for name in os.listdir(folder.out) if name.endswith(".safetensors"))[1]
    (out / first).mkdir(parents=True)
    dequant("convert", folder.path, "-o", out, *options, "--force", code=5)
    return json.loads((out / STATE).read_text().splitlines()[0])


def test_a_state_that_is_not_ours_is_refused(folder):
    folder.file(weight())
    folder.out.mkdir()
    for text, code in (("{", 3), ("[]", 2), ("{}", 2), ("x" * 20_000, 3)):
        (folder.out / STATE).write_text(text)
        folder.convert("--resume", code=code)


def test_nothing_to_resume_is_said(folder):
    folder.file(weight())
    folder.convert("--resume")
    assert not (folder.out / STATE).exists()
    assert "there is no unfinished conversion" in folder.convert("--resume", code=5).stderr
    assert "audit needs all tensors" in folder.convert("--resume", "--audit", "a", code=2).stderr


def test_a_file_is_not_resumed(tmp_path):
    source = safetensors(tmp_path / "a.safetensors", weight())
    assert "a file appears whole" in dequant(
        "convert", source, "-o", tmp_path / "b.safetensors", "--resume", "--dtype", "float32",
        code=2).stderr


def test_a_conversion_that_fails_at_once_leaves_no_folder(folder):
    folder.file(weight())
    (folder.path / "model.safetensors").chmod(0o644)
    folder.config({**CONFIG, "torch_dtype": "bfloat16"})
    folder.out.mkdir()
    (folder.out / "model.safetensors").mkdir()
    folder.convert("--force", code=5)
    assert os.listdir(folder.out) == ["model.safetensors"]


# Checkpoints of many tensors.

@pytest.mark.skipif("DEQUANT_SANITIZED" in os.environ,
                    reason="SANITIZED: sanitizers take memory of their own")
def test_a_checkpoint_of_90000_tensors_is_understood_in_256_mib():
    script = pathlib.Path(__file__).parents[2] / "bench" / "checkpoint" / "planned.py"
    done = subprocess.run([sys.executable, script, "--dequant", os.environ["DEQUANT_CLI"],
                           "--seconds", "120"], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
