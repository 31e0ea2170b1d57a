"""The documented semantics against the formulas of TensorFlow's r1.4 page, in float64 and rounded
once. As a program it prints where and how far they are from the kernel's."""

import sys

import numpy as np
import pytest

from tensorflow_support import (MODES, TYPES, Dequant, Node, all_codes, different, edge_ranges,
                                random_ranges)

DOCUMENTED = ("--version=1.4", "--semantics=documented")


def page(name, mode, x, low, high):
    """Each line as the page has it; numpy rounds each operation to float64."""
    limits = np.iinfo(TYPES[name])
    lowest, highest = float(limits.min), float(limits.max)
    x, low, high = x.astype(np.float64), np.float64(low), np.float64(high)
    with np.errstate(all="ignore"):
        if mode == "MIN_COMBINED":
            extent = highest - lowest
            if name == "qint8":
                x = x + (extent + 1) / 2.0
            y = low + (x * (high - low) / extent)
        elif mode == "MIN_FIRST":
            number_of_steps = 2.0**limits.bits
            range_adjust = number_of_steps / (number_of_steps - 1)
            extent = (high - low) * range_adjust
            range_scale = extent / number_of_steps
            y = low + ((x - lowest) * range_scale)
        else:
            m = np.maximum(np.abs(low), np.abs(high))
            min_fixed, max_fixed = (0.0, highest) if lowest == 0 else (-highest, highest)
            s = (2 * m) / (max_fixed - min_fixed)
            y = x * s
        return y.astype(np.float32)


@pytest.fixture(scope="module")
def dequant():
    with Dequant() as command:
        yield command


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TYPES)
def test_documented_semantics_are_those_of_the_page(dequant, name, mode):
    rng = np.random.default_rng([*name.encode(), *mode.encode()])
    x = all_codes(name, rng)
    edges = edge_ranges()
    count = 16 if x.itemsize < 4 else 4
    ranges = np.concatenate([random_ranges(rng, count), edges[rng.permutation(len(edges))[:count]]])
    node = Node(x, ranges[:, 0].copy(), ranges[:, 1].copy(), name, mode, each=True)
    want = np.stack([page(name, mode, x, low, high) for low, high in ranges])
    assert not different(dequant.dequantize(node, *DOCUMENTED), want).any()


def distance(dequant, name, mode, count):
    """Share of codes whose bits differ between kernel and page, and the largest difference in steps
    of the page, over ranges that hold zero."""
    rng = np.random.default_rng([*name.encode(), *mode.encode()])
    x = all_codes(name, rng)
    low, high = (np.float32(rng.uniform(*ends, count)) for ends in ((-8, 0), (0, 8)))
    node = Node(x, low, high, name, mode, each=True)
    kernel, documented = dequant.dequantize(node), dequant.dequantize(node, *DOCUMENTED)
    limits = np.iinfo(TYPES[name])
    if mode == "SCALED":
        extent = limits.max - (limits.min and -limits.max)
        step = 2 * np.maximum(-low, high) / np.float64(extent)
    else:
        step = (np.float64(high) - low) / np.float64(limits.max - limits.min)
    apart = np.abs(kernel.astype(np.float64) - documented) / step[:, None]
    return different(kernel, documented).mean(), apart.max()


# The least and the most that docs/numerics.md says of the largest difference, in steps.
LARGEST = {
    ("quint8", "MIN_COMBINED"): (0, 1e-4), ("qint8", "MIN_COMBINED"): (0, 1e-4),
    ("quint16", "MIN_COMBINED"): (0, 0.05), ("qint16", "MIN_COMBINED"): (32767, 32769),
    ("qint32", "MIN_COMBINED"): (2147483000, 2147485000),
    ("quint8", "MIN_FIRST"): (0.4, 0.51), ("qint8", "MIN_FIRST"): (0.4, 0.51),
    ("quint16", "MIN_FIRST"): (0.4, 0.55), ("qint16", "MIN_FIRST"): (0.4, 0.55),
    ("qint32", "MIN_FIRST"): (100, 1000), ("qint32", "SCALED"): (60, 400),
    ("quint8", "SCALED"): (127, 256), ("qint8", "SCALED"): (0.9, 1.01),
    ("quint16", "SCALED"): (32767, 65536), ("qint16", "SCALED"): (0.9, 1.01),
}


@pytest.mark.parametrize("name, mode", LARGEST)
def test_the_kernel_is_as_far_from_the_page_as_the_docs_say(dequant, name, mode):
    least, most = LARGEST[name, mode]
    assert least <= distance(dequant, name, mode, 12 if "32" not in name else 2)[1] <= most


def main():
    print(f"{'mode':14}{'type':9}{'codes that differ':>18}{'largest, in steps':>19}")
    with Dequant() as dequant:
        for mode in MODES:
            for name in TYPES:
                share, largest = distance(dequant, name, mode, 8 if name == "qint32" else 100)
                print(f"{mode:14}{name:9}{share:18.2%}{largest:19.6g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
