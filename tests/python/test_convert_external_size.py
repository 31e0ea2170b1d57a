"""`dequant convert` and how much of a file the data of a tensor takes: what its shape and type say,
in files that hold more, as in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from support import dequant, dq, model, node, save, session, value

MATRIX = np.arange(48, dtype=np.float32).reshape(6, 8)


def external(name, dims, data_type, **entries):
    tensor = TensorProto(name=name, dims=dims, data_type=data_type,
                         data_location=TensorProto.EXTERNAL)
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=str(text))
    return tensor


def keeping(*tensors, fold=True):
    """A model that folds one weight and hands each of the tensors on to an output of its own."""
    weight = [helper.make_tensor("w", TensorProto.INT8, [3], [1, 2, 3]),
              helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])]
    kept = [node("Identity", t.name, f"{t.name}_out") for t in tensors]
    outputs = [helper.make_tensor_value_info(f"{t.name}_out", t.data_type, t.dims) for t in tensors]
    return model([dq("w s", "y"), *kept] if fold else kept, [],
                 [value("y", shape=[3]), *outputs][not fold:],
                 [*weight, *tensors][0 if fold else 2:])


def outputs_of(path):
    return session(path).run(None, {})


def kept_bytes(path, name):
    """The bytes of a tensor of a converted model, by what its entries say."""
    proto = onnx.load(path, load_external_data=False)
    tensor = next(t for t in proto.graph.initializer if t.name == name)
    where = {e.key: e.value for e in tensor.external_data}
    data = (path.parent / where["location"]).read_bytes()
    return data[int(where["offset"]):][:int(where["length"])], where


def test_tensors_without_a_length_were_copied_with_the_rest_of_their_file(tmp_path):
    """ONNX Runtime loads the input, so it loads the output; and the data does not grow."""
    (tmp_path / "w.bin").write_bytes(MATRIX.tobytes() + (-MATRIX).tobytes())
    source = save(keeping(external("a", [6, 8], 1, location="w.bin"),
                          external("b", [6, 8], 1, location="w.bin", offset=MATRIX.nbytes)),
                  tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx")
    for one, other in zip(outputs_of(source), outputs_of(tmp_path / "out.onnx"), strict=True):
        np.testing.assert_array_equal(one, other)
    assert kept_bytes(tmp_path / "out.onnx", "a")[0] == MATRIX.tobytes()
    assert kept_bytes(tmp_path / "out.onnx", "b")[0] == (-MATRIX).tobytes()
    # The second starts on the next page: one page and a tensor, not a page and two.
    assert (tmp_path / "out.onnx.data").stat().st_size == 4096 + MATRIX.nbytes


def test_data_files_grew_with_the_square_of_the_number_of_tensors(tmp_path):
    count = 100
    (tmp_path / "w.bin").write_bytes(bytes(4096 * count))
    tensors = [external(f"t{i}", [1024], 1, location="w.bin", offset=4096 * i)
               for i in range(count)]
    dequant("convert", save(keeping(*tensors), tmp_path / "in.onnx"), "-o", tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx.data").stat().st_size == 4096 * count


def test_folded_tensors_without_a_length_were_refused_unless_last_in_their_file(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(range(200)))
    proto = model([dq("w s", "y")], [], [value("y", shape=[3])],
                  [external("w", [3], 3, location="w.bin", offset=5),
                   helper.make_tensor("s", 1, [], [0.5])])
    source = save(proto, tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx")
    assert outputs_of(tmp_path / "out.onnx")[0].tolist() == outputs_of(source)[0].tolist() == \
        [2.5, 3, 3.5]
    dequant("inspect", source)
    dequant("extract", source, "y", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == [2.5, 3, 3.5]


# Bytes of ten elements of each type that a file can hold.
SIZES = {"FLOAT": 40, "UINT8": 10, "INT8": 10, "UINT16": 20, "INT16": 20, "INT32": 40, "INT64": 80,
         "BOOL": 10, "FLOAT16": 20, "DOUBLE": 80, "UINT32": 40, "UINT64": 80, "COMPLEX64": 80,
         "COMPLEX128": 160, "BFLOAT16": 20, "FLOAT8E4M3FN": 10, "FLOAT8E4M3FNUZ": 10,
         "FLOAT8E5M2": 10, "FLOAT8E5M2FNUZ": 10, "UINT4": 5, "INT4": 5, "FLOAT4E2M1": 5,
         "FLOAT8E8M0": 10, "UINT2": 3, "INT2": 3, "FLOAT6E2M3": 8, "FLOAT6E3M2": 8}


def test_every_data_type_of_onnx_is_listed():
    assert set(TensorProto.DataType.keys()) <= {*SIZES, "UNDEFINED", "STRING"}


@pytest.mark.parametrize("name", SIZES)
def test_elements_of_every_type_have_their_size(tmp_path, name):
    if name not in TensorProto.DataType.keys():
        pytest.skip(f"NO {name}: this version of onnx does not know it")
    data_type, data = TensorProto.DataType.Value(name), bytes(i % 2 for i in range(200))
    (tmp_path / "w.bin").write_bytes(data)
    source = save(keeping(external("k", [2, 5], data_type, location="w.bin", offset=7)),
                  tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx")
    assert kept_bytes(tmp_path / "out.onnx", "k")[0] == data[7:7 + SIZES[name]]
    tensor = onnx.load(tmp_path / "out.onnx").graph.initializer
    onnx.numpy_helper.to_array(next(t for t in tensor if t.name == "k"))  # fails for another size


def verdicts(tmp_path, entries, dims=(4,)):
    """What ONNX Runtime and dequant say to a model that keeps a tensor with these entries."""
    (tmp_path / "w.bin").write_bytes(bytes(64))
    source = save(keeping(external("k", dims, 1, location="w.bin", **entries), fold=False),
                  tmp_path / "in.onnx")
    try:
        onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        loads = True
    except Exception:  # pylint: disable=broad-except
        loads = False
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--force",
                   code=0 if loads else 3)
    assert loads or "tensor k" in done.stderr
    if loads:
        outputs_of(tmp_path / "out.onnx")
    return loads


@pytest.mark.parametrize("entries, good", [
    ({}, True), ({"offset": 48}, True), ({"offset": 49}, False), ({"length": 16}, True),
    ({"length": 12}, False), ({"length": 20}, False), ({"length": 100}, False),
    ({"length": 0}, True)])  # which is none, to ONNX Runtime
def test_a_length_must_be_that_of_the_shape_as_in_onnx_runtime(tmp_path, entries, good):
    assert verdicts(tmp_path, entries) == good


@pytest.mark.parametrize("data_type, entries, code, words", [
    (TensorProto.STRING, {}, 3, "texts"), (TensorProto.STRING, {"length": 8}, 3, "texts"),
    (0, {}, 4, "data type 0"), (99, {}, 4, "data type 99")])
def test_no_size_is_guessed_for_texts_and_unknown_types(tmp_path, data_type, entries, code, words):
    (tmp_path / "w.bin").write_bytes(bytes(64))
    source = save(keeping(external("k", [4], data_type, location="w.bin", **entries)),
                  tmp_path / "in.onnx")
    stderr = dequant("convert", source, "-o", tmp_path / "out.onnx", code=code).stderr
    assert "tensor k" in stderr and words in stderr
    assert not (tmp_path / "out.onnx").exists()


def test_a_type_that_nobody_knows_yet_is_kept_with_its_length(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(range(64)))
    source = save(keeping(external("k", [4], 99, location="w.bin", offset=3, length=5)),
                  tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx")
    assert kept_bytes(tmp_path / "out.onnx", "k")[0] == bytes(range(3, 8))


def test_weights_that_onnx_runtime_packed_were_looked_for_at_their_old_place(tmp_path):
    """Their offset in the old data file is wrong in the new one, where other weights may
    stand."""
    source, weight = tmp_path / "in.onnx", \
        np.random.default_rng(1).normal(size=[256, 256]).astype("f4")
    plain = model([node("MatMul", "x w", "y"), dq("q s", "z")], [value("x", shape=[4, 256])],
                  [value("y", shape=[4, 256]), value("z", shape=[3])],
                  [onnx.numpy_helper.from_array(weight, "w"),
                   helper.make_tensor("q", 3, [3], [1, 2, 3]),
                   helper.make_tensor("s", 1, [], [0.5])])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(source)
    for key, text in {"save_external_prepacked_constant_initializers": "1",
                      "optimized_model_external_initializers_file_name": "in.bin",
                      "optimized_model_external_initializers_min_size_in_bytes": "64"}.items():
        options.add_session_config_entry(f"session.{key}", text)
    onnxruntime.InferenceSession(plain.SerializeToString(), options,
                                 providers=["CPUExecutionProvider"])
    before = {e.key for t in onnx.load(source, load_external_data=False).graph.initializer
              for e in t.external_data}
    assert any(key.startswith("prepacked") for key in before)  # else this test tests nothing
    dequant("convert", source, "-o", tmp_path / "out.onnx")
    where = kept_bytes(tmp_path / "out.onnx", "w")[1]
    assert set(where) == {"location", "offset", "length"}
    feed = {"x": np.ones([4, 256], np.float32)}
    np.testing.assert_array_equal(session(tmp_path / "out.onnx").run(None, feed)[0],
                                  session(save(plain, tmp_path / "plain.onnx")).run(None, feed)[0])
