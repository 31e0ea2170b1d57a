"""`dequant` on GGUF files: the floats are those of ggml and of gguf-py, and what is written is read
back by gguf-py and by safetensors."""

import json

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import gguf_mutations
import gguf_support
from gguf_support import dequantized, quantized, write
from support import dequant
from test_checkpoints import assert_same, tensors

GOLDENS = {"gguf_align64": "model.gguf", "gguf_all_types": "model.gguf",
           "gguf_split": "model-00002-of-00002.gguf"}


@pytest.fixture
def rng():
    return np.random.default_rng(17)


@pytest.fixture
def small(tmp_path, rng):
    """A model of two matrices of blocks, a norm and a few fields."""
    made = {"blk.0.attn_q.weight": quantized("Q8_0", rng.normal(size=(5, 96))),
            "blk.0.ffn_up.weight": quantized("Q4_0", rng.normal(size=(7, 64))),
            "blk.0.half.weight": rng.normal(size=(3, 4)).astype(np.float16),
            "output_norm.weight": rng.normal(size=(7,)).astype(np.float32)}
    kinds = gguf.GGUFValueType
    fields = [("general.file_type", 7, kinds.UINT32), ("general.name", "smäll", kinds.STRING),
              ("tokenizer.ggml.tokens", ["a", "", "b" * 99], kinds.ARRAY),
              ("llama.rope.freq_base", 10000.0, kinds.FLOAT32), ("x.yes", True, kinds.BOOL),
              ("x.least", -2**63, kinds.INT64), ("x.most", 2**64 - 1, kinds.UINT64),
              ("x.numbers", [1, -2, 3], kinds.ARRAY)]
    return write(tmp_path / "small.gguf", made, fields)


def as_float32(found):
    """Stored floats of 16 bits as float32: the goldens have these."""
    out = {}
    for name, (dtype, shape, numbers) in found.items():
        if dtype == "F16":
            numbers = numbers.view("<f2").astype("<f4").view("<u4")
        elif dtype == "BF16":
            numbers = numbers.astype("<u4") << 16
        out[name] = ("F32" if dtype in ("F16", "BF16") else dtype, shape, numbers)
    return out


@pytest.mark.parametrize("output", ["out.safetensors", "out"])
@pytest.mark.parametrize("folder", GOLDENS)
def test_tensors_have_the_floats_of_ggml(shared, folder, output, tmp_path):
    source = shared / "checkpoints" / folder
    report = json.loads(dequant("convert", source / GOLDENS[folder], "-o", tmp_path / output,
                                "--json").stdout)
    got = tensors(tmp_path / output)
    assert_same(as_float32(got), tensors(source / "expected.safetensors"), {})
    assert report["left"] == [] and "not those of transformers" in report["warnings"][0]


def test_floats_of_a_big_endian_file_are_those_of_a_little_endian_one(shared, tmp_path):
    source = shared / "checkpoints" / "gguf_bigendian"
    dequant("convert", source / "model.gguf", "-o", tmp_path / "out.safetensors")
    assert_same(as_float32(tensors(tmp_path / "out.safetensors")),
                tensors(source / "expected.safetensors"), {})


def test_blocks_of_a_big_endian_file_are_refused(tmp_path, rng):
    source = write(tmp_path / "big.gguf", {"w": quantized("Q8_0", rng.normal(size=(2, 32)))},
                   endianess=gguf.GGUFEndian.BIG)
    error = dequant("inspect", source, code=4).stderr
    assert 'tensor "w": type Q8_0 in a big-endian file' in error


def test_a_file_of_a_vocabulary_alone_is_a_model_without_tensors(shared, tmp_path):
    source = shared / "checkpoints" / "gguf_vocab_only" / "model.gguf"
    dequant("convert", source, "-o", tmp_path / "out.gguf")
    assert gguf_support.read(tmp_path / "out.gguf") == gguf_support.read(source)
    dequant("convert", source, "-o", tmp_path / "out")
    assert load_file(tmp_path / "out" / "model.safetensors") == {}


def test_a_gguf_output_has_the_metadata_and_float_tensors(small, tmp_path):
    dequant("convert", small, "-o", tmp_path / "out.gguf")
    fields, before = gguf_support.read(small)
    new_fields, after = gguf_support.read(tmp_path / "out.gguf")
    assert new_fields == fields | {"general.file_type": 0}
    assert list(after) == list(before)
    for name, (kind, shape, data) in before.items():
        if kind in ("Q8_0", "Q4_0"):
            floats = dequantized(kind, shape, data)
            assert after[name][:2] == ("F32", shape)
            assert after[name][2].tobytes() == floats.astype("<f4").tobytes()
        else:
            assert after[name][0] == kind and after[name][2].tobytes() == data.tobytes()


def test_a_gguf_output_is_split_where_a_size_is_given(small, tmp_path):
    dequant("convert", small, "-o", tmp_path / "out.gguf", "--max-shard-size", "1K")
    files = sorted(p.name for p in tmp_path.glob("out*"))
    assert files == ["out-00001-of-00003.gguf", "out-00002-of-00003.gguf",
                     "out-00003-of-00003.gguf"]
    parts = [gguf_support.read(tmp_path / name) for name in files]
    for i, (fields, _) in enumerate(parts):
        assert (fields["split.no"], fields["split.count"]) == (i, 3)
        assert fields["split.tensors.count"] == 4
    assert "general.architecture" not in parts[1][0]
    # It is read as one model again, whichever file is given.
    dequant("convert", tmp_path / files[1], "-o", tmp_path / "again.gguf")
    dequant("convert", small, "-o", tmp_path / "whole.gguf")
    assert (tmp_path / "again.gguf").read_bytes() == (tmp_path / "whole.gguf").read_bytes()


def test_a_part_of_the_input_is_never_replaced(small, tmp_path):
    dequant("convert", small, "-o", tmp_path / "m.gguf", "--max-shard-size", "1K")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for options in ((), ("--dry-run",)):
        error = dequant("convert", tmp_path / "m-00001-of-00003.gguf", "-o", tmp_path / "m.gguf",
                        "--max-shard-size", "1K", "--force", *options, code=5).stderr
        assert "is the input itself" in error
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("dtype, kind, number", [("bfloat16", "BF16", 32), ("float16", "F16", 1)])
def test_a_type_is_that_of_dequantized_tensors_and_by_others_same_of_all(small, dtype, kind, number,
                                                                        tmp_path):
    dequant("convert", small, "-o", tmp_path / "a.gguf", "--dtype", dtype)
    fields, found = gguf_support.read(tmp_path / "a.gguf")
    assert fields["general.file_type"] == number
    assert [t[0] for t in found.values()] == [kind, kind, "F16", "F32"]
    dequant("convert", small, "-o", tmp_path / "b.gguf", "--dtype", dtype, "--others", "same")
    assert {t[0] for t in gguf_support.read(tmp_path / "b.gguf")[1].values()} == {kind}
    dequant("verify", small, tmp_path / "b.gguf")


@pytest.mark.parametrize("dtype, number", [("float16", 1), ("float32", 0), ("bfloat16", 32)])
def test_a_file_without_blocks_kept_the_number_of_its_old_type(tmp_path, dtype, number):
    source = write(tmp_path / "m.gguf", {"output.weight": np.ones((4, 8), np.float16)},
                   [("general.file_type", 1, gguf.GGUFValueType.UINT32)])
    dequant("convert", source, "-o", tmp_path / "a.gguf", "--dtype", dtype, "--others", "same")
    assert gguf_support.read(tmp_path / "a.gguf")[0]["general.file_type"] == number
    # What stays as it is has the type that it had.
    dequant("convert", source, "-o", tmp_path / "b.gguf", "--dtype", dtype)
    assert gguf_support.read(tmp_path / "b.gguf")[0]["general.file_type"] == 1


def test_metadata_are_kept_as_texts_in_safetensors(small, tmp_path):
    done = dequant("convert", small, "-o", tmp_path / "out.safetensors")
    assert "not those of transformers" in done.stderr
    data = (tmp_path / "out.safetensors").read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    metadata = header["__metadata__"]
    assert metadata["format"] == "pt" and metadata["general.name"] == "smäll"
    assert json.loads(metadata["tokenizer.ggml.tokens"]) == ["a", "", "b" * 99]
    assert metadata["x.most"] == str(2**64 - 1) and metadata["x.least"] == str(-2**63)
    assert metadata["x.yes"] == "true" and json.loads(metadata["x.numbers"]) == [1, -2, 3]


def test_verify_refused_integers_with_the_name_of_a_weight(tmp_path, rng):
    """They are copied, and look like codes in the output."""
    name = "blk.0.ffn_gate_tid2eid.weight"
    ids = rng.integers(0, 9, (100, 6)).astype(np.int32)
    source = write(tmp_path / "m.gguf", {
        "blk.0.ffn_up.weight": quantized("Q8_0", rng.normal(size=(5, 96))), name: ids})
    out = tmp_path / "out.safetensors"
    for output in (out, tmp_path / "folder"):
        dequant("convert", source, "-o", output)
        done = json.loads(dequant("verify", source, output, "--json").stdout)
        assert done["good"] and (done["totals"]["compared"], done["totals"]["stored"]) == (2, 1)
    assert f"tensor {name} of type I32" in dequant("diff", source, out, code=4).stderr
    tensors_of_out = load_file(out)
    changed = {**tensors_of_out, name: ids + np.int32(1)}
    save_file(changed, out)
    [wrong] = json.loads(dequant("verify", source, out, "--json", code=1).stdout)["wrong"]
    assert (wrong["name"], wrong["different"], wrong["type"]) == (name, ids.size, "I32")
    save_file({**tensors_of_out, "new.weight": ids}, out)
    report = json.loads(dequant("verify", source, out, "--json", code=1).stdout)
    assert report["unexpected"] == ["new.weight"] and not report["wrong"]
    del tensors_of_out[name]
    save_file(tensors_of_out, out)
    report = json.loads(dequant("verify", source, out, "--json", code=1).stdout)
    assert report["missing"] == [name] and not report["wrong"]


def test_the_factor_of_nvfp4_is_multiplied_in(tmp_path, rng):
    blocks = rng.integers(0, 256, (4, 72)).astype(np.uint8)
    made = {"a.weight": ("NVFP4", blocks), "a.scale": np.array([0.3], np.float32),
            "a.input_scale": np.array([2.5], np.float32), "b.weight": ("NVFP4", blocks)}
    source = write(tmp_path / "n.gguf", made)
    report = json.loads(dequant("convert", source, "-o", tmp_path / "out.gguf", "--json").stdout)
    _, found = gguf_support.read(tmp_path / "out.gguf")
    assert set(found) == {"a.weight", "b.weight"}
    floats = dequantized("NVFP4", [4, 128], blocks)
    assert found["b.weight"][2].tobytes() == floats.tobytes()
    assert found["a.weight"][2].tobytes() == (floats * np.float32(0.3)).tobytes()
    assert [d["name"] for d in report["dropped"]] == ["a.input_scale"]
    # Blocks that stay keep their factor.
    dequant("convert", source, "-o", tmp_path / "kept.gguf", "--exclude", "a.*")
    _, kept = gguf_support.read(tmp_path / "kept.gguf")
    assert kept["a.weight"][0] == "NVFP4" and set(kept) == set(made)


@pytest.mark.parametrize("options", [(), ("--mem", "64K", "-T", "1")])
def test_stacked_experts_have_factors_of_their_own(tmp_path, rng, options):
    blocks = rng.integers(0, 256, (3, 70, 8 * 36)).astype(np.uint8)
    factors = np.array([0.3, -2, 7], np.float32)
    source = write(tmp_path / "n.gguf", {"a.weight": ("NVFP4", blocks), "a.scale": factors})
    dequant("convert", source, "-o", tmp_path / "out.gguf", *options)
    dequant("verify", source, tmp_path / "out.gguf")
    _, found = gguf_support.read(tmp_path / "out.gguf")
    floats = dequantized("NVFP4", [3, 70, 512], blocks)
    assert found["a.weight"][2].tobytes() == (floats * factors[:, None, None]).tobytes()


def test_blocks_with_the_name_of_an_input_scale_are_not_lost(tmp_path, rng):
    blocks = rng.integers(0, 256, (2, 72)).astype(np.uint8)
    source = write(tmp_path / "n.gguf", {"a.weight": ("NVFP4", blocks),
                                         "a.input_scale": ("NVFP4", blocks)})
    report = json.loads(dequant("convert", source, "-o", tmp_path / "out.gguf", "--json").stdout)
    _, found = gguf_support.read(tmp_path / "out.gguf")
    assert set(found) == {"a.weight", "a.input_scale"} and report["dropped"] == []
    assert found["a.input_scale"][2].tobytes() == dequantized("NVFP4", [2, 128], blocks).tobytes()


def test_a_factor_of_two_tensors_is_refused(tmp_path):
    blocks = np.zeros((2, 36), np.uint8)
    source = write(tmp_path / "n.gguf", {"a": ("NVFP4", blocks), "a.weight": ("NVFP4", blocks),
                                         "a.scale": np.ones(1, np.float32)})
    error = dequant("convert", source, "-o", tmp_path / "out.gguf", code=3).stderr
    assert 'tensor "a.weight": its factor "a.scale" is also that of tensor "a"' in error


def test_other_factors_are_refused(tmp_path):
    blocks = np.zeros((3, 2, 36), np.uint8)
    source = write(tmp_path / "n.gguf", {"a.weight": ("NVFP4", blocks),
                                         "a.scale": np.ones(2, np.float32)})
    error = dequant("convert", source, "-o", tmp_path / "out.gguf", code=4).stderr
    assert ('tensor "a.weight": its factor "a.scale" has 2 numbers, neither one nor one for each '
            "index of the first dimension") in error


def test_blocks_that_are_not_selected_stay_and_safetensors_refuse_them(small, tmp_path):
    dequant("convert", small, "-o", tmp_path / "a.gguf", "--include", "*attn*")
    fields, found = gguf_support.read(tmp_path / "a.gguf")
    _, before = gguf_support.read(small)
    assert fields["general.file_type"] == 7
    assert found["blk.0.ffn_up.weight"][2].tobytes() == before["blk.0.ffn_up.weight"][2].tobytes()
    error = dequant("convert", small, "-o", tmp_path / "a", "--include", "*attn*", code=4).stderr
    assert 'tensor "blk.0.ffn_up.weight" is not selected' in error


@pytest.mark.parametrize("output", ["out.gguf", "out.safetensors", "out"])
def test_an_audit_says_what_verify_finds_again(small, output, tmp_path):
    target = tmp_path / output
    dequant("convert", small, "-o", target, "--audit", tmp_path / "audit")
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert {line["name"] for line in lines} == set(gguf_support.read(small)[1])
    assert [line["recipe"]["stored"] for line in lines
            if line["name"] == "blk.0.ffn_up.weight"] == ["Q4_0"]
    dequant("verify", target, "--audit", tmp_path / "audit")
    file = target / "model.safetensors" if target.is_dir() else target
    data = bytearray(file.read_bytes())
    data[-8] ^= 1
    file.write_bytes(data)
    dequant("verify", target, "--audit", tmp_path / "audit", code=1)


def test_a_folder_has_several_files_an_index_and_is_resumed(small, tmp_path):
    dequant("convert", small, "-o", tmp_path / "out", "--max-shard-size", "1K")
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(gguf_support.read(small)[1])
    assert "exists and is not empty" in dequant("convert", small, "-o", tmp_path / "out",
                                                code=5).stderr
    assert "resume is for folders" in dequant("convert", small, "-o", tmp_path / "o.gguf",
                                              "--resume", code=2).stderr
    dequant("convert", small, "-o", tmp_path / "dry", "--dry-run")
    assert not (tmp_path / "dry").exists()


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
@pytest.mark.parametrize("name", ["out.onnx", "out.tflite"])
def test_the_name_of_a_file_that_is_not_written_was_that_of_a_folder(small, name, options,
                                                                     tmp_path):
    error = dequant("convert", small, "-o", tmp_path / name, *options, code=2).stderr
    assert f"{name}: the output is a folder of safetensors files, and its name ends" in error
    assert not (tmp_path / name).exists()


def test_texts_of_metadata_in_json_were_escaped_for_a_terminal(tmp_path):
    template = "{% for m in messages %}\n{{ m }}\\x0a\t\u202e{% endfor %}"
    kinds = gguf.GGUFValueType
    file = write(tmp_path / "m.gguf", {"w": np.ones((2, 3), np.float32)}, [
        ("tokenizer.chat_template", template, kinds.STRING), ("long", "ä" * 150, kinds.STRING),
        ("odd", "x" + "ä" * 150, kinds.STRING), ("list", ["\n", "\\x0a"], kinds.ARRAY)])
    metadata = json.loads(dequant("inspect", file, "--json").stdout)["metadata"]
    assert metadata["tokenizer.chat_template"] == template
    assert metadata["long"] == "ä" * 100 + "..." and metadata["odd"] == "x" + "ä" * 99 + "..."
    assert metadata["list"]["first"] == ["\n", "\\x0a"]
    assert "\u202e" not in dequant("inspect", file).stdout


def test_integers_of_an_output_were_codes_to_its_audit(shared, tmp_path):
    model = shared / "checkpoints" / "gguf_all_types" / "model.gguf"
    out, audit = tmp_path / "out.safetensors", tmp_path / "audit.jsonl"
    dequant("convert", model, "-o", out, "--audit", audit)
    assert "0 wrong, 0 missing" in dequant("verify", "--audit", audit, out).stdout


def test_inspect_says_what_the_model_is(small):
    j = json.loads(dequant("inspect", small, "--json").stdout)
    assert (j["architecture"], j["file_type"], j["parameters"]) == ("llama", "Q8_0", 947)
    assert j["metadata"]["tokenizer.ggml.tokens"] == {"type": "string", "count": 3,
                                                      "first": ["a", "", "b" * 99]}
    assert j["metadata"]["x.least"] == -2**63 and j["metadata"]["x.most"] == 2**64 - 1
    assert {d["type"]: d["bytes"] for d in j["dense"]} == {"Q8_0": 510, "Q4_0": 7 * 36}
    text = dequant("inspect", small).stdout
    assert "Architecture: llama (Q8_0, 947 parameters" in text and "smäll" in text
    rows = json.loads(dequant("inspect", small, "--all", "--json").stdout)["tensors"]
    assert [r["type"] for r in rows] == ["Q8_0", "Q4_0"] and rows[0]["scale_type"] is None


def test_extract_gives_floats_and_raw_blocks(small, tmp_path):
    name = "blk.0.ffn_up.weight"
    kind, shape, data = gguf_support.read(small)[1][name]
    dequant("extract", small, name, "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tobytes() == dequantized(kind, shape, data).tobytes()
    dequant("extract", small, name, "--raw", "-o", tmp_path / "x.npy")
    raw = np.load(tmp_path / "x.npy")
    assert raw.shape == (7, 36) and raw.tobytes() == data.tobytes()


def test_diff_with_the_converted_model_is_exact(small, tmp_path):
    dequant("convert", small, "-o", tmp_path / "f.safetensors")
    assert "4 of 4 tensors identical" in dequant("diff", small, tmp_path / "f.safetensors").stdout


def test_run_called_a_gguf_file_a_damaged_model(small, tmp_path):
    error = dequant("run", small, "-o", tmp_path / "out", code=4).stderr
    assert "small.gguf: run evaluates ONNX models, not GGUF files" in error


def test_parts_that_are_missing_or_of_another_model_are_named(small, tmp_path):
    for name in ("m", "n"):
        dequant("convert", small, "-o", tmp_path / f"{name}.gguf", "--max-shard-size", "1K")
    second = tmp_path / "m-00002-of-00003.gguf"
    second.unlink()
    error = dequant("inspect", tmp_path / "m-00001-of-00003.gguf", code=5).stderr
    assert "m-00002-of-00003.gguf" in error
    second.write_bytes((tmp_path / "n-00003-of-00003.gguf").read_bytes())
    error = dequant("inspect", tmp_path / "m-00001-of-00003.gguf", code=3).stderr
    assert "no parts of one model" in error
    other = tmp_path / "other.gguf"
    (tmp_path / "n-00001-of-00003.gguf").rename(other)
    assert "does not end with" in dequant("inspect", other, code=3).stderr


def test_what_gguf_py_does_not_read_is_refused(tmp_path):
    counts = gguf_mutations.run(60)
    assert counts["both read it"] > 4 and counts["both refuse it"] > 4
