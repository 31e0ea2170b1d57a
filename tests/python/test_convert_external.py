"""`dequant convert` and external data: read in all its forms, written on request or where a model
would outgrow protobuf, and never shared between the two models."""

import hashlib
import json
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper

import wire
from arithmetic import assert_same, dequantized, floats, random_codes
from support import (assert_same_outputs, convert, dequant, dq, initializer, model, node, save,
                     session, value)

RNG = np.random.default_rng(1)
WEIGHT, BIAS = random_codes(RNG, "int8", [64, 48]), random_codes(RNG, "int4", [48])
SCALES = floats(RNG.uniform(0.01, 0.02, 64))
MATRIX = floats(RNG.normal(size=[48, 32]))
EXPECTED = dequantized(WEIGHT, SCALES, axis=0)


def network(nodes=(), outputs=(), initializers=()):
    """in[2, 64] -> MatMul weight (quantized) -> Add bias (quantized) -> MatMul matrix (float) ->
    out."""
    tensors = [WEIGHT.tensor("weight"), SCALES.tensor("scales"), BIAS.tensor("bias"),
               floats(0.5).tensor("scale"), MATRIX.tensor("matrix")]
    layers = [dq("weight scales", "w", "dq_w", axis=0), dq("bias scale", "b", "dq_b"),
              node("MatMul", "in w", "p"),
              node("Add", "p b", "s"), node("MatMul", "s matrix", "out")]
    return model([*layers, *nodes], [value("in", shape=[2, 64])],
                 [value("out", shape=[2, 32]), *outputs],
                 [*tensors, *initializers])


def externalize(proto, folder, entries):
    """Moves the data of some initializers into files. `entries`: name -> the external_data entries;
    each file is as long as its furthest tensor, with other bytes between them."""
    for tensor in proto.graph.initializer:
        if tensor.name not in entries:
            continue
        raw, keys = tensor.raw_data, entries[tensor.name]
        path = folder / keys["location"]
        path.parent.mkdir(exist_ok=True)
        held = path.read_bytes() if path.exists() else b""
        offset = int(keys.get("offset", 0))
        path.write_bytes(held[:offset].ljust(offset, b"\xee") + raw + held[offset + len(raw):])
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in keys.items():
            tensor.external_data.add(key=key, value=text)
    return save(proto, folder / "in.onnx")


def check(source):
    converted, report = convert(source)
    assert report["totals"]["folded"] == 2
    assert_same(initializer(converted, "w"), EXPECTED)
    assert_same_outputs(source, source.parent / "out.onnx", runs=3)
    return report


@pytest.mark.parametrize("options", [
    {"all_tensors_to_one_file": True, "location": "all.bin"},
    {"all_tensors_to_one_file": False},
    {"all_tensors_to_one_file": True, "location": "all.bin", "size_threshold": 0},
    {"all_tensors_to_one_file": False, "size_threshold": 0}])
def test_models_that_onnx_saves_are_read(options, tmp_path):
    onnx.save(network(), tmp_path / "in.onnx", save_as_external_data=True, **options)
    check(tmp_path / "in.onnx")


@pytest.mark.parametrize("entries", [
    {"weight": {"location": "w.bin"}},
    {"weight": {"location": "w.bin", "offset": "0"}},
    {"weight": {"location": "w.bin", "length": "3072"}},
    {"weight": {"location": "w.bin", "offset": "13", "length": "3072"}},
    {"weight": {"location": "w.bin", "offset": "13"}},          # to the end of the file
    {"weight": {"location": "folder/w.bin"}},
    {"weight": {"location": "./w.bin"}},
    {"weight": {"location": "w..bin"}},
    {"weight": {"location": "one.bin", "offset": "100", "length": "3072"},
     "scales": {"location": "one.bin", "offset": "4096", "length": "256"},
     "bias": {"location": "one.bin", "offset": "5003", "length": "24"}}])
def test_places_in_files_are_understood(entries, tmp_path):
    check(externalize(network(), tmp_path, entries))


def test_tensors_may_share_bytes(tmp_path):
    proto = network([dq("again scales", "v", "dq_v", axis=0)], [value("v", shape=[64, 48])],
                    [WEIGHT.tensor("again")])
    entry = {"location": "one.bin", "offset": "8", "length": "3072"}
    converted, _ = convert(externalize(proto, tmp_path, {"weight": entry, "again": entry}))
    assert_same(initializer(converted, "v"), EXPECTED)
    assert_same(initializer(converted, "w"), EXPECTED)


def test_tensor_of_a_constant_node_may_be_external(tmp_path):
    proto = network()
    weight = proto.graph.initializer[0]
    proto.graph.node.insert(0, node("Constant", "", "weight", value=weight))
    del proto.graph.initializer[0]
    onnx.save(proto, tmp_path / "in.onnx", save_as_external_data=True, location="all.bin",
              convert_attribute=True)
    check(tmp_path / "in.onnx")


def test_data_files_of_the_input_stay_as_they_are(tmp_path):
    source = externalize(network(), tmp_path, {"weight": {"location": "w.bin"},
                                               "matrix": {"location": "in.onnx.data"}})
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    convert(source)
    assert before == {name: ((tmp_path / name).read_bytes(), (tmp_path / name).stat().st_mtime_ns)
                      for name in before}


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_data_file_of_the_input_is_never_the_output(options, tmp_path):
    source = externalize(network(), tmp_path, {"weight": {"location": "w.bin"}})
    before = (tmp_path / "w.bin").read_bytes()
    dequant("convert", source, "-o", tmp_path / "w.bin", *options, code=5)
    assert (tmp_path / "w.bin").read_bytes() == before


def test_output_in_another_folder_needs_nothing_of_the_input(tmp_path):
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    source = externalize(network(), tmp_path / "from",
                         {n: {"location": f"{n}.bin"} for n in ("weight", "matrix")})
    feeds = {"in": RNG.normal(size=[2, 64]).astype("f4")}
    [before] = session(source).run(None, feeds)
    dequant("convert", source, "-o", tmp_path / "to" / "out.onnx")
    shutil.rmtree(tmp_path / "from")
    [after] = session(tmp_path / "to" / "out.onnx").run(None, feeds)
    assert before.tobytes() == after.tobytes()
    onnx.checker.check_model(tmp_path / "to" / "out.onnx", full_check=True)
    assert sorted(p.name for p in (tmp_path / "to").iterdir()) == ["out.onnx", "out.onnx.data"]


def test_external_data_is_written_on_request(tmp_path):
    source = save(network(), tmp_path / "in.onnx")
    converted, report = convert(source, "--external-data")
    assert_same(initializer(converted, "w"), EXPECTED)
    assert_same_outputs(source, tmp_path / "out.onnx", runs=3)
    assert report["totals"]["data_file"] == "out.onnx.data"
    assert report["totals"]["data_bytes"] == (tmp_path / "out.onnx.data").stat().st_size
    [w] = [t for t in onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
           if t.data_location == TensorProto.EXTERNAL]   # b and scale are too small
    assert w.name == "w" and int(external_data_helper.ExternalDataInfo(w).offset or 0) % 4096 == 0


def test_small_tensors_stay_in_the_model(tmp_path):
    source = save(model([dq("bias scale", "y")], outputs=[value("y", shape=[48])],
                        initializers=[BIAS.tensor("bias"), floats(0.5).tensor("scale")]),
                  tmp_path / "in.onnx")
    _, report = convert(source, "--external-data")
    assert report["totals"]["data_file"] == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.onnx", "out.onnx"]


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_data_file_never_takes_a_name_that_is_taken(options, tmp_path):
    source = save(network(), tmp_path / "in.onnx")
    taken = [tmp_path / "out.onnx.data", tmp_path / "out.onnx.data.1"]
    for path in taken:
        path.write_text("precious")
    converted, report = convert(source, "--external-data", *options)
    assert report["totals"]["data_file"] == "out.onnx.data.2"
    assert_same(initializer(converted, "w"), EXPECTED)
    assert [path.read_text() for path in taken] == ["precious", "precious"]


def test_model_replaced_by_force_gets_a_data_file_of_its_own(tmp_path):
    source = save(network(), tmp_path / "in.onnx")
    convert(source, "--external-data")
    digest = hashlib.sha256((tmp_path / "out.onnx.data").read_bytes()).digest()
    converted, report = convert(source, "--external-data", "--force")
    assert report["totals"]["data_file"] == "out.onnx.data.1"
    assert hashlib.sha256((tmp_path / "out.onnx.data").read_bytes()).digest() == digest
    assert_same(initializer(converted, "w"), EXPECTED)


def stored(path, name):
    """The external_data entries of an initializer."""
    [found] = [t for t in onnx.load(path, load_external_data=False).graph.initializer
               if t.name == name]
    return {e.key: e.value for e in found.external_data}


def test_what_is_left_of_external_data_is_copied(tmp_path):
    entry = {"location": "m.bin", "offset": "7", "length": "6144"}
    source = externalize(network(), tmp_path, {"matrix": entry})
    converted, _ = convert(source)
    assert_same(initializer(converted, "matrix"), MATRIX)
    assert_same_outputs(source, tmp_path / "out.onnx", runs=3)
    where = stored(tmp_path / "out.onnx", "matrix")
    assert (where["location"], where["length"]) == ("out.onnx.data", "6144")


@pytest.mark.parametrize("others", [{}, {"matrix": {"location": "m.bin"}}])
def test_empty_tensor_with_external_data_stays_readable(others, tmp_path):
    empty = TensorProto(name="empty", data_type=TensorProto.FLOAT, dims=[0], raw_data=b"")
    layers = [dq("bias scale", "b"), node("Abs", "empty", "e")]
    tensors = [BIAS.tensor("bias"), floats(0.5).tensor("scale"), MATRIX.tensor("matrix"), empty]
    proto = model(layers, outputs=[value("b", shape=[48]), value("e", shape=[0])],
                  initializers=tensors)
    source = externalize(proto, tmp_path, {"empty": {"location": "e.bin", "length": "0"}, **others})
    convert(source)
    assert_same_outputs(source, tmp_path / "out.onnx", runs=1)


@pytest.mark.parametrize("keys", [{"location": "none.bin"}, {"location": "../w.bin"}])
def test_data_that_cannot_be_read_is_an_error(keys, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    source = externalize(network(), folder, {"weight": {"location": "w.bin"}})
    shutil.move(folder / "w.bin", tmp_path / "w.bin")
    source.write_bytes(wire.change(source.read_bytes(), [7, 5, 13],
                                   lambda entry: wire.field(1, "location")
                                   + wire.field(2, keys["location"])))
    assert "weight" in dequant("convert", source, "-o", folder / "out.onnx", code=5).stderr
    assert [p.name for p in folder.iterdir()] == ["in.onnx"]


def test_model_over_2_gib_gets_external_data(tmp_path):
    """A dry run, on a file that is mostly a hole: 2^29 + 4 int2 elements are 2 GiB + 16 bytes of
    floats."""
    count = 2**29 + 4
    x = TensorProto(name="x", data_type=TensorProto.INT2, dims=[count]).SerializeToString()
    raw = wire.varint(9 << 3 | 2) + wire.varint(count // 4)
    proto = model([dq("x scale")], outputs=[value("y", shape=[count])],
                  initializers=[floats(0.5).tensor("scale")],
                  opset=25, ir_version=13)
    rest = proto.graph.SerializeToString()
    size = len(x) + len(raw) + count // 4
    head = wire.varint(5 << 3 | 2) + wire.varint(size) + x + raw
    proto.ClearField("graph")
    with (tmp_path / "in.onnx").open("wb") as file:
        file.write(proto.SerializeToString())
        file.write(wire.varint(7 << 3 | 2) + wire.varint(len(rest) + len(head) + count // 4) + rest
                   + head)
        file.truncate(file.tell() + count // 4)
    done = dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--dry-run",
                   "--json")
    totals = json.loads(done.stdout)["totals"]
    assert (totals["data_file"], totals["data_bytes"]) == ("out.onnx.data", 4 * count)
    assert totals["model_bytes_out"] < 1000


def test_dry_run_names_the_data_file_that_is_free(tmp_path):
    source = externalize(network(), tmp_path, {"weight": {"location": "w.bin"}})
    for name in ("out.onnx.data", "out.onnx.data.1"):
        (tmp_path / name).write_text("precious")
    before = sorted(p.name for p in tmp_path.iterdir())
    reports = [json.loads(dequant("convert", source, "-o", tmp_path / "out.onnx", "--json",
                                  *options).stdout)
               for options in (["--dry-run"], [])]
    assert reports[0]["totals"] == reports[1]["totals"]
    assert reports[0]["totals"]["data_file"] == "out.onnx.data.2"
    assert sorted(p.name for p in tmp_path.iterdir()) == \
        sorted([*before, "out.onnx", "out.onnx.data.2"])


def test_data_files_that_a_replaced_model_leaves_are_told(tmp_path):
    source = save(network(), tmp_path / "in.onnx")

    def warnings(*options):
        done = dequant("convert", source, "-o", "out.onnx", "--json", *options, cwd=tmp_path)
        return json.loads(done.stdout)["warnings"], done.stderr
    assert warnings("--external-data") == ([], "")
    for options, left in ((["--external-data"], ["data"]), (["--dry-run"], ["data", "data.1"]),
                          ([], ["data", "data.1"])):
        found, printed = warnings("--force", *options)
        assert found == [f"out.onnx.{name} stays, which the out.onnx that is replaced may have "
                         "named"
                         for name in left]
        assert all(f"dequant: warning: {line}\n" in printed for line in found)
    for path in tmp_path.glob("out.onnx.data*"):
        path.unlink()
    assert warnings("--force") == ([], "")
