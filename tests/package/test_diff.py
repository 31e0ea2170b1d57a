"""The numbers of dequant.diff(), against definitions in fractions and in bits as struct packs
them."""

import decimal
import math
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dequant

pytestmark = pytest.mark.filterwarnings("error")

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
         "float64": np.float64}
PACKED = {"float16": "<e", "float32": "<f", "float64": "<d"}
NAN, INF = math.nan, math.inf


# Definitions. All of them take Python floats.

def ordinal(value, name):
    """The steps from zero to a value of its type: the bits of its magnitude, negated below zero."""
    if name == "bfloat16":
        bits = int.from_bytes(struct.pack("<f", abs(value)), "little") >> 16
    else:
        bits = int.from_bytes(struct.pack(PACKED[name], abs(value)), "little")
    return -bits if value < 0 else bits


def bin_of(distance):
    if distance <= 2:
        return str(distance)
    top = 4
    while top < distance:
        top *= 2
    return f"{top // 2 + 1}-{top}"


def decibels(signal, noise):
    """Of two fractions, however large or small."""
    if noise == 0:
        return INF
    if signal == 0:
        return -INF
    ratio = signal / noise
    return 10 * (math.log10(ratio.numerator) - math.log10(ratio.denominator))


def root(fraction):
    with decimal.localcontext(decimal.Context(prec=40, Emax=99999, Emin=-99999)):
        return float((decimal.Decimal(fraction.numerator) / fraction.denominator).sqrt())


def close(found, wanted):
    return found == wanted or math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-322)


def expect(found, pairs, name):
    """Checks all that a Diff says of pairs of Python floats, none of them a mismatch."""
    finite = [(a, b) for a, b in pairs if math.isfinite(a)]
    errors = [abs(Fraction(b) - Fraction(a)) for a, b in finite]
    assert found.size == len(pairs)
    assert found.mismatches == 0
    assert found.identical == sum(struct.pack("<d", a) == struct.pack("<d", b) or a != a
                                  for a, b in pairs)
    assert found.max_abs == float(max(errors, default=0))
    assert close(found.mean_abs, float(sum(errors) / max(1, len(pairs))))
    noise = sum((e * e for e in errors), Fraction(0))
    assert close(found.rmse, root(noise / max(1, len(pairs))))
    wanted = decibels(sum((Fraction(a)**2 for a, _ in finite), Fraction(0)), noise)
    assert found.sqnr_db == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    distances = [abs(ordinal(a, name) - ordinal(b, name)) if math.isfinite(a) else 0
                 for a, b in pairs]
    bins = [bin_of(d) for d in distances]
    assert {label: n for label, n in found.ulp.items() if n} == \
        {label: bins.count(label) for label in bins}
    assert found.max_ulp == max(distances, default=0)
    assert found.ulp_dtype == name


def floats(name):
    """Values of a type, whose differences are no infinite float64; many of them near one
    another."""
    if name == "bfloat16":
        bits = st.one_of(st.integers(0, 2**16 - 1), st.integers(0x3f00, 0x4010),
                         st.integers(0x8000, 0x8003))
        return bits.map(lambda b: float(np.uint16(b).view(ml_dtypes.bfloat16))).filter(
            math.isfinite)
    width = np.dtype(TYPES[name]).itemsize * 8
    limit = 2.0**1022 if name == "float64" else None
    near = st.integers(-3, 3).map(lambda n: float(TYPES[name](1) + n * np.finfo(TYPES[name]).eps))
    tiny = st.integers(-3, 3).map(lambda n: float(n * np.finfo(TYPES[name]).smallest_subnormal))
    return st.one_of(st.floats(-limit if limit else None, limit, width=width, allow_nan=False,
                               allow_infinity=False),
                     near, tiny, st.just(-0.0))


def same_type_pairs():
    def pairs(name):
        both = st.sampled_from([(NAN, NAN), (INF, INF), (-INF, -INF)])
        equal = floats(name).map(lambda v: (v, v))
        pair = st.one_of(st.tuples(floats(name), floats(name)), equal, both)
        return st.tuples(st.just(name), st.lists(pair, max_size=20))
    return st.sampled_from(sorted(TYPES)).flatmap(pairs)


# One type.

@settings(max_examples=400, deadline=None)
@given(same_type_pairs())
def test_says_what_the_definitions_say(case):
    name, pairs = case
    a, b = (np.array([p[i] for p in pairs], TYPES[name]) for i in (0, 1))
    expect(dequant.diff(a, b), pairs, name)


@pytest.mark.parametrize("name, infinity", [("float16", 0x7c00), ("bfloat16", 0x7f80)])
def test_counts_steps_between_all_neighbours_of_16_bits(name, infinity):
    finite = np.arange(infinity, dtype=np.uint16)
    found = dequant.diff(finite[:-1].view(TYPES[name]), finite[1:].view(TYPES[name]))
    assert found.ulp == {"0": 0, "1": len(finite) - 1}
    found = dequant.diff(finite.view(TYPES[name]), (finite | 0x8000).view(TYPES[name]))
    assert found.max_ulp == 2 * int(finite[-1])


@pytest.mark.parametrize("a, b, steps, label", [
    (1.0, np.nextafter(1, 2), 1, "1"),
    (np.nextafter(1, 0), np.nextafter(1, 2), 2, "2"),
    (-5e-324, 5e-324, 2, "2"),
    (0.0, 2.0**-1022, 2**52, f"{2**51 + 1}-{2**52}"),
    (-2.0**-1022, np.nextafter(2.0**-1022, 1), 2**53 + 1, f"{2**53 + 1}-{2**54}"),
    (-1.7976931348623157e308, 1.7976931348623157e308, 2 * (2047 * 2**52 - 1),
     f"{2**63 + 1}-{2**64}"),
    (0.0, 2.0**-1019, 2**54, f"{2**53 + 1}-{2**54}"),
    (0.0, 2.0**1023 * 0.5, 2045 * 2**52, f"{2**62 + 1}-{2**63}"),
])
def test_counts_large_numbers_of_steps_exactly(a, b, steps, label):
    found = dequant.diff(a, b)
    assert found.max_ulp == steps
    assert [name for name, count in found.ulp.items() if count] == [label]


def test_zeros_of_opposite_signs_are_no_step_apart_and_not_identical():
    found = dequant.diff([0.0, -0.0], [-0.0, -0.0])
    assert (found.identical, found.ulp, found.max_abs, found.worst) == (1, {"0": 2}, 0.0, None)
    assert found.sqnr_db == INF and not found.exact


@pytest.mark.parametrize("exponent", [-1074, -800, -500, 0, 500, 1000])
def test_no_power_leaves_the_range(exponent):
    a = np.ldexp([1.0, -1.0, 1.0, 1.0], exponent + 20)
    b = a + np.ldexp([0.0, 0.0, 3.0, -4.0], exponent)
    found = dequant.diff(a, b)
    assert found.sqnr_db == pytest.approx(10 * math.log10(4 * 4.0**20 / 25), rel=1e-12)
    assert close(found.rmse, math.ldexp(2.5, exponent))
    assert close(found.mean_abs, math.ldexp(1.75, exponent))


def test_a_small_channel_is_measured_beside_a_large_one():
    a = np.array([[1e300, 2e300], [1e-300, 2e-300]])
    found = dequant.diff(a, a * 1.5, axis=0)
    assert [c.sqnr_db for c in found.worst_channels] == pytest.approx([10 * math.log10(4)] * 2)


def test_a_difference_beyond_float64_is_infinite():
    found = dequant.diff([1.7e308], [-1.7e308])
    assert (found.max_abs, found.mean_abs, found.rmse, found.sqnr_db) == (INF, INF, INF, -INF)


def test_silence_has_no_decibels():
    assert dequant.diff([0.0, 0.0], [0.0, 0.0]).sqnr_db == INF
    assert dequant.diff([0.0, 0.0], [0.0, 1.0]).sqnr_db == -INF
    assert dequant.diff([0.0, 3.0], [0.0, 0.0]).sqnr_db == 0.0


# Two types.

@pytest.mark.parametrize("fine, coarse", [("float64", "float32"), ("float64", "float16"),
                                          ("float32", "float16"),
                                          ("float32", "bfloat16"), ("float16", "bfloat16")])
def test_what_the_finer_type_rounds_to_is_no_step_away(fine, coarse):
    rng = np.random.default_rng(7)
    smallest = float(ml_dtypes.finfo(TYPES[coarse]).smallest_subnormal)
    a = rng.normal(size=20000) * 2.0**rng.integers(-20, 10, 20000)
    a[:4000] *= 2.0**-140 if coarse in ("float32", "bfloat16") and fine != "float16" else 2.0**-10
    a[-2000:] = smallest * np.arange(-1000, 1000) / 2  # ties
    a = a.astype(TYPES[fine])
    rounded = a.astype(TYPES[coarse])
    found = dequant.diff(a, rounded)
    assert found.ulp_dtype == coarse
    assert found.ulp == {"0": a.size}
    assert dequant.diff(rounded, a).ulp == {"0": a.size}
    away = np.nextafter(rounded, TYPES[coarse](INF))
    assert dequant.diff(a, away).ulp == {"0": 0, "1": a.size}


def test_half_a_step_is_a_tie_to_even():
    a = np.array([1 + 2**-11, 1 + 3 * 2**-11, 2.0**-25, 3 * 2.0**-25], np.float64)
    assert dequant.diff(a, np.array([1, 1 + 2**-9, 0, 2.0**-23], np.float16)).ulp == {"0": 4}
    assert dequant.diff(a, np.array([1 + 2**-10, 1 + 2**-10, 2.0**-24, 2.0**-24],
                                    np.float16)).ulp == {"0": 0, "1": 4}


def test_the_line_goes_on_beyond_the_largest_number():
    found = dequant.diff(np.float32([65504, 65536, 131072]), np.float16([65504, 65504, 65504]))
    assert {label: n for label, n in found.ulp.items() if n} == {"0": 1, "1": 1, "1025-2048": 1}
    assert found.max_ulp == 1025


# Mismatches.

@pytest.mark.parametrize("a, b, nans, infinities", [
    (NAN, 1.0, 1, 0), (1.0, NAN, 1, 0), (NAN, INF, 1, 0), (-INF, NAN, 1, 0),
    (INF, 1.0, 0, 1), (1.0, -INF, 0, 1), (INF, -INF, 0, 1)])
def test_a_mismatch_is_an_infinite_error_unless_skipped(a, b, nans, infinities):
    left, right = [2.0, a, 4.0, 8.0], [2.0, b, 4.5, 8.0]
    found = dequant.diff(left, right)
    assert (found.nan_mismatches, found.inf_mismatches, found.mismatches) == (nans, infinities, 1)
    assert (found.max_abs, found.mean_abs, found.rmse, found.max_ulp, found.sqnr_db) == \
        (INF, INF, INF, INF, -INF)
    assert found.worst.index == (1,)
    assert repr((found.worst.a, found.worst.b)) == repr((a, b))
    assert sum(found.ulp.values()) == 3
    skipped = dequant.diff(left, right, skip_mismatches=True)
    assert (skipped.mismatches, skipped.worst.index, skipped.max_abs) == (1, (2,), 0.5)
    without = dequant.diff([2.0, 4.0, 8.0], [2.0, 4.5, 8.0])
    assert [getattr(skipped, f) for f in ("mean_abs", "rmse", "sqnr_db", "ulp", "max_ulp",
                                          "identical")] == [
                                              getattr(without, f)
                                              for f in ("mean_abs", "rmse", "sqnr_db", "ulp",
                                                        "max_ulp", "identical")]


def test_any_nan_equals_any_nan_and_infinities_themselves():
    bits = np.array([0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7f800000, 0xff800000],
                    np.uint32)
    other = np.array([0xffc01234, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x7f800000, 0xff800000],
                     np.uint32)
    found = dequant.diff(bits.view(np.float32), other.view(np.float32))
    assert found.exact and found.ulp == {"0": 6} and found.max_abs == 0 and found.sqnr_db == INF


def test_nothing_is_left_where_all_mismatch():
    found = dequant.diff([NAN, NAN], [1.0, INF], skip_mismatches=True)
    assert (found.identical, found.mismatches, found.max_abs, found.worst) == (0, 2, 0.0, None)
