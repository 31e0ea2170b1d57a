"""Hypothesis: any shape, axis, block, type and strides against the formula in numpy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dequant
from arithmetic import (INPUTS, Codes, assert_same, codes, codes_of, dequantized, floats,
                        random_codes)
from tensors import array_of, packed_of

settings.register_profile("dequant", deadline=None, print_blob=True)
settings.load_profile("dequant")


@st.composite
def layouts(draw, rank):
    """How an array lies in memory: an order of its axes, steps, directions, and the order of its
    bytes."""
    order = draw(st.permutations(range(rank)))
    steps = draw(st.lists(st.sampled_from([1, 1, 2, 3, -1, -2]), min_size=rank, max_size=rank))
    return order, steps, draw(st.booleans())


def laid(array, layout):
    """The same array in another layout."""
    order, steps, swapped = layout
    if swapped and array.dtype.kind in "iuf" and array.dtype.isbuiltin == 1:
        array = array.astype(array.dtype.newbyteorder())
    if array.ndim == 0:
        return array
    room = np.zeros([array.shape[i] * abs(steps[i]) for i in order], array.dtype)
    view = room.transpose(np.argsort(order))[tuple(slice(None, None, abs(step)) for step in steps)]
    view = view[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)]
    view[...] = array
    return view


@st.composite
def nodes(draw):
    element = draw(st.sampled_from(INPUTS))
    shape = tuple(draw(st.lists(st.integers(0, 9) | st.sampled_from([16, 33]), max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    axis, block_size, param_shape = 0, 0, ()
    if shape:
        axis = draw(st.integers(-len(shape), len(shape) - 1))
        kind = draw(st.sampled_from(["tensor", "axis", "blocks"]))
        if kind == "axis":
            param_shape = (shape[axis],)
        elif kind == "blocks":
            block_size = draw(st.integers(1, shape[axis] + 3))
            param_shape = tuple(size if i != axis % len(shape) else -(-size // block_size)
                                for i, size in enumerate(shape))
    scale_element = draw(st.sampled_from(["float32", "float16", "bfloat16", "float8e8m0"]))
    output = draw(st.sampled_from(["float32", "float16", "bfloat16"]))
    scale = random_codes(rng, scale_element, param_shape) if draw(st.booleans()) \
        or scale_element == "float8e8m0" else \
        floats(rng.normal(size=param_shape), scale_element)
    zero = None
    if draw(st.booleans()):
        zero = random_codes(rng, element, param_shape) if element[0] != "f" \
            else codes(element, np.zeros(param_shape, int))
    options = {"axis": axis, "block_size": block_size, "output_dtype": output}
    return random_codes(rng, element, shape), scale, zero, options


def form(draw, tensor):
    """Any of the forms that a tensor may come in."""
    if draw(st.booleans()):
        return packed_of(tensor)
    return laid(array_of(tensor), draw(layouts(tensor.codes.ndim)))


@settings(max_examples=400)
@given(nodes(), st.data(), st.sampled_from([None, 1, 2]))
def test_any_node_in_any_form(node, data, threads):
    x, scale, zero, options = node
    y = dequant.onnx.dequantize_linear(form(data.draw, x), form(data.draw, scale),
                                       None if zero is None else form(data.draw, zero),
                                       threads=threads, **options)
    expected = expected_of(x, scale, zero, options)
    assert_same(codes_of(y), expected)
    out = np.empty_like(y)
    zeros = None if zero is None else array_of(zero)
    again = dequant.onnx.dequantize_linear(form(data.draw, x), array_of(scale), zeros, out=out,
                                           threads=threads,
                                           **options)
    assert again is out
    assert_same(codes_of(out), expected)


def expected_of(x, scale, zero, options):
    axis, block_size, output = options["axis"], options["block_size"], options["output_dtype"]
    if x.codes.size == 0:
        return Codes(output, np.zeros(x.codes.shape, np.int64))
    return dequantized(x, scale, zero, axis, block_size, output)


@settings(max_examples=150)
@given(st.sampled_from(["uint8", "int8", "uint16", "int16", "int32"]),
       st.lists(st.integers(1, 6), min_size=1, max_size=5), st.data(), st.integers(0, 2**32))
def test_directml_reads_arrays_of_any_strides(element, shape, data, seed):
    rng = np.random.default_rng(seed)
    x, zero = random_codes(rng, element, shape), random_codes(rng, element, shape)
    scale = floats(rng.normal(size=shape))
    arrays = [laid(array_of(tensor), data.draw(layouts(len(shape)))) for tensor in (x, scale, zero)]
    y = dequant.directml.element_wise_dequantize_linear(*arrays)
    with np.errstate(all="ignore"):
        difference = (x.values() - zero.values()).astype(np.float32)
        expected = floats(difference * scale.values().astype(np.float32))
    assert_same(codes_of(y), expected)
