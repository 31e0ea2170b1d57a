"""`dequant op directml`: both operators, packed or by a description, in numpy."""

import json

import numpy as np
import pytest

from op_support import F, blocks, linear, op, rng, same_bits, typed  # noqa: F401 (fixtures)


def packed(element, array):
    return {"DataType": element, "Sizes": list(array.shape)}


def test_directml_element_wise(op, rng):
    shape = [2, 3, 1, 5]
    x, zero = rng.integers(-99, 99, [2, *shape]).astype("i2")
    scale = rng.normal(size=shape).astype("f2")
    y = op("directml", "--operator=ELEMENT_WISE_DEQUANTIZE_LINEAR", x=x, scale=scale,
           zero_point=zero)
    same_bits(y, linear(x, scale, zero))
    y = op("directml", "--operator=ELEMENT_WISE_DEQUANTIZE_LINEAR", "--feature-level=6_2", x=x,
           scale=scale)
    same_bits(y, linear(x, scale, 0))


@pytest.mark.parametrize("element", ["uint8", "int8", "uint4", "int4"])
def test_directml_dequantize_in_blocks(element, op, rng):
    """Without a zero point the middle of an unsigned type is subtracted."""
    low, high = {"uint8": (0, 256), "int8": (-128, 128), "uint4": (0, 16), "int4": (-8, 8)}[element]
    x, zero = (rng.integers(low, high, shape).astype(element[0] + "1")
               for shape in ([4, 6], [2, 3]))
    scale = rng.normal(size=[2, 3]).astype("f4")
    options = ("directml", "--operator=DEQUANTIZE")
    y = op(*options, "--quantization-type=SCALE_ZERO_POINT", x=x, scale=scale, zero_point=zero,
           **typed("x", element))
    same_bits(y, linear(x, blocks(scale, x.shape), blocks(zero, x.shape)))
    y = op(*options, "--quantization-type=SCALE", x=x, scale=scale, **typed("x", element))
    same_bits(y, linear(x, blocks(scale, x.shape), high // 2 if element[0] == "u" else 0))


def described(op, name, **tensors):
    """A description in the form of DxDispatch, saved."""
    desc = {f"{k}Tensor": v for k, v in tensors.items()}
    (op.folder / "op.json").write_text(json.dumps({"Type": f"DML_OPERATOR_{name}", "Desc": desc}))


def test_directml_description_gives_every_tensor_its_strides(op, rng):
    """x by columns, one scale for each row, a zero point for all, rows of y 8 apart."""
    described(op, "ELEMENT_WISE_DEQUANTIZE_LINEAR",
              Input={"DataType": "INT8", "Sizes": [3, 5], "Strides": [1, 3]},
              Scale={"DataType": "FLOAT32", "Sizes": [3, 5], "Strides": [1, 0]},
              ZeroPoint={"DataType": "INT8", "Sizes": [3, 5], "Strides": [0, 0]},
              Output={"DataType": "FLOAT32", "Sizes": [3, 5], "Strides": [8, 1]})
    x, scale = rng.integers(-99, 99, [3, 5]).astype("i1"), rng.normal(size=[3, 1]).astype("f4")
    y = op("directml", desc="op.json", x=x.T.reshape(-1), scale=scale.reshape(-1),
           zero_point=np.int8([7]))
    assert y.shape == (21,)
    rows = np.append(y, np.zeros(3, "f4")).reshape(3, 8)
    same_bits(rows[:, :5], linear(x, scale, 7))
    assert not rows[:, 5:].any()


def test_directml_description_gives_types_and_shape(op, rng):
    """Types that numpy lacks come from the description; a packed y has its sizes."""
    described(op, "ELEMENT_WISE_DEQUANTIZE_LINEAR", Input=packed("UINT8", np.empty([2, 2])),
              Scale=packed("FLOAT16", np.empty([2, 2])), Output=packed("FLOAT16", np.empty([2, 2])))
    x, scale = np.uint8([1, 2, 3, 4]), np.float16([1, .5, .25, 2])
    y = op("directml", desc="op.json", x=x, scale=scale.view("u2"))
    same_bits(y, linear(x, scale, 0).reshape(2, 2))


@pytest.mark.parametrize("change, arrays, code, word", [
    ({}, {"x": np.uint8([1, 2, 3])}, 2, "x.npy holds 3 elements where the operator reaches 4"),
    ({}, {"x": np.int8([1, 2, 3, 4])}, 2, "cannot hold uint8"),
    ({}, {"zero_point": np.uint8([1, 2, 3, 4])}, 2, "--zero-point: op.json has none"),
    ({"Input": {"DataType": "UINT8", "Sizes": [4]}}, {}, 2, "op.json"),
    ({"Input": {"DataType": "UINT9", "Sizes": [2, 2]}}, {}, 3, "UINT9"),
    ({"Input": {"DataType": "UINT8", "Sizes": [2, 0]}}, {}, 2, "dimension 1"),
    ({"Input": {"DataType": "UINT8", "Sizes": [2, 2], "Stride": [1, 1]}}, {}, 3, "Stride"),
    ({"Input": {"DataType": "UINT8", "Sizes": [2, 2], "TotalTensorSizeInBytes": 3}}, {}, 2,
     "TotalTensorSizeInBytes"),
    ({"Output": {"DataType": "FLOAT16", "Sizes": [2, 2]}}, {}, 2, "Output"),
    ({"Output": {"DataType": "FLOAT32", "Sizes": [2, 2], "Strides": [1, 1]}}, {}, 2, "Output")])
def test_directml_description_must_fit(change, arrays, code, word, op):
    tensors = {"Input": packed("UINT8", np.empty([2, 2])),
               "Scale": packed("FLOAT32", np.empty([2, 2])),
               "Output": packed("FLOAT32", np.empty([2, 2]))}
    described(op, "ELEMENT_WISE_DEQUANTIZE_LINEAR", **(tensors | change))
    arrays = {"x": np.uint8([1, 2, 3, 4]), "scale": F([1, 2, 3, 4])} | arrays
    assert word in op.run("directml", desc="op.json", code=code, **arrays).stderr
    assert not (op.folder / "y.npy").exists()


@pytest.mark.parametrize("options, code, word", [
    ([], 2, "give either --operator or --desc"), (["--operator=QUANTIZE"], 2, "--operator"),
    (["--operator=DEQUANTIZE"], 2, "--quantization-type: DEQUANTIZE needs one"),
    (["--operator=ELEMENT_WISE_DEQUANTIZE_LINEAR", "--quantization-type=SCALE"], 2, "has none"),
    (["--operator=DEQUANTIZE", "--quantization-type=SCALE_ZERO_POINT"], 2,
     "QuantizationTensorCount"),
    (["--operator=DEQUANTIZE", "--quantization-type=SCALE", "--feature-level=6_2"], 4, "6_3"),
    (["--operator=DEQUANTIZE", "--desc=op.json"], 2, "excludes"),
    (["--desc=none.json"], 5, "none.json"),
    (["--desc=op.json", "--x-type=uint8"], 2, "excludes"), (["--feature-level=7_0"], 2, "7_0"),
    (["--operator=ELEMENT_WISE_DEQUANTIZE_LINEAR", "--feature-level=2_1"], 4,
     "DimensionCount")])
def test_directml_refusals(options, code, word, op):
    described(op, "DEQUANTIZE")
    done = op.run("directml", *options, x=np.uint8([1, 2]), scale=F([1, 2]), code=code)
    assert word.lower() in done.stderr.lower()


def random_strides(rng, sizes, repeats):
    """Strides of any order with gaps; of a tensor that may repeat some are zero."""
    strides, step = [0] * len(sizes), 1
    for d in rng.permutation(len(sizes)):
        if repeats and rng.random() < 0.3:
            continue
        strides[d] = step
        step = step * sizes[d] + int(rng.integers(0, 3)) * int(rng.integers(0, 2))
    return strides


@pytest.mark.parametrize("seed", range(25))
def test_directml_strides_of_any_kind(seed, op):
    """Every element by its offset, one at a time; 4-bit elements count as elements, not bytes."""
    rng = np.random.default_rng(seed)
    sizes = [int(s) for s in rng.integers(1, 5, rng.integers(1, 9))]
    element = str(rng.choice(["UINT4", "INT4", "UINT8", "INT8"]))
    low, high = (0, 16 if "4" in element else 256) if element[0] == "U" else (-8, 8)
    offsets, tensors, arrays = {}, {}, {}
    index = np.indices(sizes)
    for name, kind in [("x", element), ("scale", "FLOAT32"), ("zero_point", element),
                       ("y", "FLOAT32")]:
        strides = random_strides(rng, sizes, repeats=name != "y")
        offsets[name] = np.tensordot(strides, index, 1)
        tensors[name] = {"DataType": kind, "Sizes": sizes, "Strides": strides}
        count = offsets[name].max() + 1
        arrays[name] = (rng.normal(size=count).astype("f4") if kind == "FLOAT32" else
                        rng.integers(low, high, count).astype(element[0].lower() + "1"))
    desc = {"InputTensor": tensors["x"], "QuantizationType": "SCALE_ZERO_POINT",
            "QuantizationTensorCount": 2,
            "QuantizationTensors": [tensors["scale"], tensors["zero_point"]],
            "OutputTensor": tensors["y"]}
    (op.folder / "op.json").write_text(json.dumps({"Type": "DEQUANTIZE", "Desc": desc}))
    expected = np.zeros(len(arrays.pop("y")), "f4")
    expected[offsets["y"]] = linear(*(arrays[n][offsets[n]] for n in ("x", "scale", "zero_point")))
    same_bits(op("directml", desc="op.json", **arrays), expected)
