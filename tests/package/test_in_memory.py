"""Models in memory: bytes and onnx.ModelProto, opened and converted without files."""

import gc
import mmap
import os
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import dequant
from model_support import assert_same_bits, shared_models

import onnx
from onnx import helper

from arithmetic import assert_same, codes_of, floats, random_codes
from support import (SCALE, TENSORS, X, Y, ZERO, dq, initializer, linear, model, node, op_types,
                     value)


@pytest.fixture
def proto():
    return model([dq()], initializers=TENSORS)


def assert_same_model(found, expected):
    """The same nodes, values and numbers, wherever the numbers are stored."""
    def numbers(proto):
        return {t.name: (t.data_type, onnx.numpy_helper.to_array(t).tobytes())
                for t in proto.graph.initializer}
    assert numbers(found) == numbers(expected)
    plain = []
    for proto in (found, expected):
        plain.append(onnx.ModelProto())
        plain[-1].CopyFrom(proto)
        plain[-1].graph.ClearField("initializer")
    assert plain[0] == plain[1]


def external(folder, entries=TENSORS):
    """A ModelProto whose tensors are in the file "data" of the folder."""
    made = model([dq()], initializers=entries)
    for i, tensor in enumerate(made.graph.initializer):
        onnx.external_data_helper.set_external_data(tensor, "data", 4096 * i, len(tensor.raw_data))
    with open(folder / "data", "wb") as file:
        for i, tensor in enumerate(made.graph.initializer):
            file.seek(4096 * i)
            file.write(tensor.raw_data)
            tensor.ClearField("raw_data")
        file.truncate(1 << 16)
    return made


@shared_models
def test_bytes_and_protos_have_the_tensors_of_the_file(path):
    data = path.read_bytes()
    with dequant.open(path) as expected, dequant.open(data, base_dir=path.parent) as of_bytes, \
            dequant.open(onnx.load(path)) as of_proto:
        for found in (of_bytes, of_proto):
            assert list(found) == list(expected) and found.format == "onnx" and found.path is None
            for name, tensor in found.items():
                assert_same_bits(tensor.to_numpy(), expected[name].to_numpy())
                assert (tensor.shape, tensor.stored_dtype, tensor.x) == \
                    (expected[name].shape, expected[name].stored_dtype, expected[name].x)


@pytest.mark.parametrize("options", [{}, {"strip_qdq": True}, {"dtype": "float16"}])
@shared_models
def test_conversions_give_the_bytes_of_the_file(path, options, tmp_path):
    expected = dequant.convert(path, tmp_path / "out.onnx", **options)
    written = onnx.load(tmp_path / "out.onnx")
    found = dequant.convert(path.read_bytes(), base_dir=path.parent, **options)
    assert type(found.model) is bytes
    assert_same_model(onnx.load_from_string(found.model), written)
    if not expected.data_file:
        assert found.model == (tmp_path / "out.onnx").read_bytes()
    of_proto = dequant.convert(onnx.load(path), **options)
    assert type(of_proto.model) is onnx.ModelProto
    assert_same_model(of_proto.model, written)
    facts, wanted = found.to_dict(), expected.to_dict()
    assert facts["input"] is None and facts["output"] is None
    for key in wanted.keys() - {"input", "output", "seconds", "totals"}:
        assert facts[key] == wanted[key]


def test_a_proto_gives_a_proto_that_computes_the_same(proto):
    before = proto.SerializeToString()
    report = dequant.convert(proto)
    onnx.checker.check_model(report.model, full_check=True)
    assert op_types(report.model) == [] and proto.SerializeToString() == before
    assert_same(initializer(report.model, "y"), Y)
    assert report.bytes_out == len(report.model.SerializeToString())
    assert [f["output"] for f in report.folded] == ["y"] and report.data_file == ""
    assert pickle.loads(pickle.dumps(report)).model == report.model


def test_strip_qdq_in_memory():
    proto = model([dq("in scale zero", "y")], inputs=[value("in", "int8")],
                  initializers=TENSORS[1:])
    report = dequant.convert(proto, strip_qdq=True, clip="never")
    assert op_types(report.model) == ["Identity"]
    assert report.model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert [c["name"] for c in report.inputs_changed] == ["in"]


def test_a_path_becomes_bytes_and_memory_becomes_a_file(tmp_path, proto):
    source = linear(tmp_path, X, SCALE, ZERO)
    report = dequant.convert(source)
    assert type(report.model) is bytes and report.to_dict()["input"] == str(source)
    for i, made in enumerate((proto, proto.SerializeToString())):
        report = dequant.convert(made, tmp_path / f"{i}.onnx")
        assert report.model is None
        assert_same(initializer(onnx.load(tmp_path / f"{i}.onnx"), "y"), Y)
    assert dequant.convert(proto, dry_run=True).model is None


@pytest.mark.parametrize("kind", [
    bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8),
    lambda data: memoryview(b"?" + data + b"?")[1:-1]])
def test_any_contiguous_memory(proto, kind):
    data = kind(proto.SerializeToString())
    with dequant.open(data) as m:
        assert_same(codes_of(m["y"].to_numpy()), Y)
        assert repr(m) == "<dequant.Model in memory, 1 tensors>"
    assert_same(initializer(onnx.load_from_string(dequant.convert(data).model), "y"), Y)


def test_memory_that_is_not_contiguous_is_refused(proto):
    spread = memoryview(bytes(2 * proto.ByteSize()))[::2]
    for function in (dequant.open, dequant.convert):
        with pytest.raises(TypeError, match="contiguous"):
            function(spread)


def test_memory_is_held_without_a_copy_until_the_model_is_closed(proto):
    data = bytearray(proto.SerializeToString())
    m = dequant.open(data)
    with pytest.raises(BufferError):
        data.append(0)
    tensor = m["y"]
    m.close()
    data.append(0)
    with pytest.raises(ValueError, match="closed"):
        tensor.to_numpy()


def test_the_last_tensor_keeps_the_memory(proto):
    class Held(bytearray):
        pass
    data = Held(proto.SerializeToString())
    gone = weakref.ref(data)
    tensor = dequant.open(data)["y"]
    del data
    gc.collect()
    assert gone() is not None
    assert_same(codes_of(tensor.to_numpy()), Y)
    del tensor
    gc.collect()
    assert gone() is None


def test_a_mapped_file(tmp_path):
    source = linear(tmp_path, X, SCALE, ZERO)
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with dequant.open(data) as m:
            assert_same(codes_of(m["y"].to_numpy()), Y)


def test_external_data_is_looked_for_in_base_dir(tmp_path, monkeypatch):
    proto = external(tmp_path)
    with dequant.open(proto, base_dir=tmp_path) as m:
        assert_same(codes_of(m["y"].to_numpy()), Y)
    monkeypatch.chdir(tmp_path)
    for base_dir in ("", ".", os.fspath(tmp_path), os.fsencode(tmp_path)):
        report = dequant.convert(proto, base_dir=base_dir)
        assert_same(initializer(report.model, "y"), Y)
    for function in (dequant.open, dequant.convert):  # not even in the current folder
        with pytest.raises(ValueError, match='tensor x: .*"data".*base_dir'):
            function(proto)
        with pytest.raises(OSError, match="missing"):
            function(proto, base_dir="missing")


def test_external_data_that_stays_is_inside_the_result(tmp_path):
    kept = floats(np.arange(6).reshape(2, 3)).tensor("kept")
    empty = floats(np.zeros((0, 3))).tensor("empty")
    proto = external(tmp_path, [*TENSORS, kept, empty])
    typed = helper.make_node("Constant", [], ["c"], value=proto.graph.initializer[3])
    proto.graph.node.append(typed)
    proto.graph.initializer[3].external_data.add(key="note", value="of somebody")
    report = dequant.convert(proto, base_dir=tmp_path)
    onnx.checker.check_model(report.model)
    tensors = {t.name: t for t in report.model.graph.initializer}
    inner = report.model.graph.node[0].attribute[0].t
    for tensor in (*tensors.values(), inner):
        assert tensor.data_location == onnx.TensorProto.DEFAULT and not tensor.external_data
    assert_same_bits(onnx.numpy_helper.to_array(tensors["kept"]),
                     np.arange(6, dtype=np.float32).reshape(2, 3))
    assert onnx.numpy_helper.to_array(inner).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["empty"].dims == [0, 3] and tensors["empty"].raw_data == b""


def test_the_data_of_the_input_is_not_replaced(tmp_path):
    proto = external(tmp_path)
    with pytest.raises(OSError, match="holds data of the input"):
        dequant.convert(proto, tmp_path / "data", base_dir=tmp_path, overwrite=True)


@pytest.mark.parametrize("argument, sentence", [
    (3, "not int"), (None, "not NoneType"), ([1], "not list"), (object(), "not object"),
    (onnx.GraphProto(), "onnx.GraphProto is no model"), (onnx.ModelProto, "is wanted, not")])
def test_what_is_no_model(argument, sentence):
    for function in (dequant.open, dequant.convert):
        with pytest.raises(TypeError, match=sentence):
            function(argument)


def test_what_memory_cannot_have(proto, tmp_path):
    source = linear(tmp_path, X, SCALE, ZERO)
    for options, sentence in (({"external_data": True}, "no data file"),
                              ({"overwrite": True}, "overwrite: there is no output file"),
                              ({"clean_temp": True}, "clean_temp: there is no output file")):
        with pytest.raises(ValueError, match=sentence):
            dequant.convert(proto, **options)
    for function in (dequant.open, dequant.convert):
        with pytest.raises(ValueError, match="^base_dir: "):
            function(source, base_dir=tmp_path)
        with pytest.raises(ValueError, match="^<bytes>: it is empty"):
            function(b"")
        with pytest.raises(ValueError, match="^<onnx.ModelProto>: .*it has no graph|it is empty"):
            function(onnx.ModelProto())
    with pytest.raises(dequant.UnsupportedError, match="checkpoints are converted to files"):
        dequant.convert(b"\x02" + bytes(7) + b"{}")


def test_a_proto_that_cannot_be_serialized():
    class Wrong:
        DESCRIPTOR = onnx.ModelProto.DESCRIPTOR

        def SerializeToString(self):
            raise RuntimeError("too large")
    with pytest.raises(ValueError, match="cannot be serialized: too large; .*external data"):
        dequant.open(Wrong())


def test_other_formats_open_from_bytes(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    data = safetensors.save({"w": np.ones((2, 2), np.float32)})
    with dequant.open(data) as m:
        assert m.format == "safetensors" and len(m) == 0


def test_progress_and_what_it_raises():
    rng = np.random.default_rng(1)
    proto = model([dq()], initializers=[random_codes(rng, "int8", [600, 10_000]).tensor("x"),
                                        floats(0.5).tensor("scale"), ZERO.tensor("zero")])
    calls = []
    report = dequant.convert(proto, progress=lambda *call: calls.append(call))
    assert calls[-1] == (report.bytes_out, report.bytes_out) and calls == sorted(calls)
    for stop in (0, len(calls) // 2, len(calls) - 1):
        seen = []

        def progress(done, total):
            seen.append(done)
            if len(seen) > stop or done == total:
                raise KeyError("enough")
        with pytest.raises(KeyError, match="enough"):
            dequant.convert(proto, progress=progress)


def test_memory_that_is_not_there_is_a_memory_error():
    child = f"""
import resource, sys
sys.path[:] = {sys.path!r}
import dequant, onnx
from onnx import helper, numpy_helper
import numpy as np
x = numpy_helper.from_array(np.zeros(200_000_000, np.int8), "x")
s = numpy_helper.from_array(np.array([1], np.float32)[0], "s")
node = helper.make_node("DequantizeLinear", ["x", "s"], ["y"])
out = helper.make_tensor_value_info("y", 1, [200_000_000])
data = helper.make_model(helper.make_graph([node], "g", [], [out], [x, s]),
                         opset_imports=[helper.make_opsetid("", 21)], ir_version=10) \\
    .SerializeToString()
now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + (600 << 20), resource.RLIM_INFINITY))
try:
    dequant.convert(data, threads=1)
except MemoryError:
    raise SystemExit(77)
"""
    assert subprocess.run([sys.executable, "-c", child], check=False).returncode == 77


def test_onnx_is_not_imported():
    child = """
import sys, dequant
try:
    dequant.convert(b"no model")
except ValueError:
    pass
assert not {"onnx", "google", "google.protobuf"} & set(sys.modules), sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", child], check=True)
