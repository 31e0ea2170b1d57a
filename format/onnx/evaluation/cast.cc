// Converting, limiting and multiplying the numbers of arrays.
#include "format/onnx/evaluation/cast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "dequant/codes.h"
#include "format/io/errors.h"
#include "format/model/floats.h"
#include "format/onnx/external_size.h"

namespace dequant::format::onnx {
namespace {

/// A number of any type that cast() takes: an integer or a float, exactly.
struct Number {
  bool integer = false;
  int64_t i = 0;
  double d = 0;
};

Number load(int32_t data_type, std::span<const std::byte> bytes, int64_t index) {
  Number n;
  if (data_type == kInt64) {
    n.integer = true;
    std::memcpy(&n.i, bytes.data() + index * 8, sizeof n.i);
    return n;
  }
  if (data_type == kDouble) {
    std::memcpy(&n.d, bytes.data() + index * 8, sizeof n.d);
    return n;
  }
  if (data_type == kBool) {
    n.integer = true;
    n.i = bytes[static_cast<size_t>(index)] != std::byte{0};
    return n;
  }
  const Element element = *element_from_onnx(data_type);
  n.d = value_of(element, load_code(element, bytes, index));
  n.integer = kind(element) != Kind::floating;
  if (n.integer) n.i = static_cast<int64_t>(n.d);  // exact: at most 32 bits
  return n;
}

std::string text_of(const Number& n) {
  return n.integer ? fmt::format("{}", n.i) : fmt::format("{}", n.d);
}

std::string type_name(int32_t data_type) {
  if (data_type == kInt64) return "int64";
  if (data_type == kDouble) return "float64";
  const auto element = element_from_onnx(data_type);
  return element ? std::string(name(*element)) : fmt::format("data type {}", data_type);
}

/// The least and the greatest integer of a type.
std::pair<int64_t, int64_t> integers_of(int32_t data_type) {
  if (data_type == kInt64) return {INT64_MIN, INT64_MAX};
  const Element element = *element_from_onnx(data_type);
  const int64_t all = int64_t{1} << bits(element);
  if (kind(element) == Kind::signed_integer) return {-all / 2, all / 2 - 1};
  return {0, all - 1};
}

bool is_float(int32_t data_type) {
  const auto element = element_from_onnx(data_type);
  return data_type == kDouble || (element && kind(*element) == Kind::floating);
}

Result<int64_t> to_integer(const Number& n, int32_t to) {
  const auto [least, greatest] = integers_of(to);
  const auto beyond = [&] {
    return failure(ErrorCode::invalid_argument,
                   "{} is no number of {}, where its result is undefined", text_of(n),
                   type_name(to));
  };
  if (n.integer) {
    if (n.i < least || n.i > greatest) return beyond();
    return n.i;
  }
  const double cut = std::trunc(n.d);
  // 2^63 is a double, INT64_MAX is none.
  if (!(cut >= static_cast<double>(least) && cut < static_cast<double>(greatest) + 1.0))
    return beyond();
  const bool packed = to != kInt64 && bits(*element_from_onnx(to)) < 8;
  if (packed && cut != n.d) return beyond();  // specified as rounding, done as truncation
  return static_cast<int64_t>(cut);
}

Result<float> to_float(const Number& n, int32_t to) {
  const float f = n.integer ? static_cast<float>(n.i) : static_cast<float>(n.d);
  const bool exact = std::isnan(n.d) || (n.integer ? to_integer({false, 0, double{f}}, kInt64) &&
                                                         static_cast<int64_t>(f) == n.i
                                                   : double{f} == n.d);
  if (exact || to == onnx_code(Element::float32)) return f;
  return failure(ErrorCode::invalid_argument,
                 "{} is rounded once to {} by some implementations and twice by others", text_of(n),
                 type_name(to));
}

Result<double> to_double(const Number& n) {
  if (!n.integer) return n.d;
  if (std::abs(n.i) <= int64_t{1} << 53) return static_cast<double>(n.i);
  return failure(ErrorCode::invalid_argument, "{} is no number of float64", n.i);
}

void store_integer(int64_t i, int32_t to, std::span<std::byte> bytes, int64_t index) {
  if (to == kInt64) {
    std::memcpy(bytes.data() + index * 8, &i, sizeof i);
  } else {
    store_code(*element_from_onnx(to), bytes, index, static_cast<uint32_t>(i));
  }
}

Status store(const Number& n, int32_t to, std::span<std::byte> bytes, int64_t index) {
  if (to == kDouble) {
    DEQUANT_TRY(const double d, to_double(n));
    std::memcpy(bytes.data() + index * 8, &d, sizeof d);
    return {};
  }
  if (!is_float(to)) {
    DEQUANT_TRY(const int64_t i, to_integer(n, to));
    store_integer(i, to, bytes, index);
    return {};
  }
  const Element element = *element_from_onnx(to);
  DEQUANT_TRY(const float f, to_float(n, to));
  const int64_t size = bits(element) / 8;
  narrow(element, std::span(&f, 1),
         bytes.subspan(static_cast<size_t>(index * size), static_cast<size_t>(size)));
  return {};
}

}  // namespace

bool can_cast_from(int32_t data_type) {
  return data_type == kInt64 || data_type == kDouble || data_type == kBool ||
         element_from_onnx(data_type);
}

bool can_cast_to(int32_t data_type) {
  if (data_type == kInt64 || data_type == kDouble) return true;
  const auto element = element_from_onnx(data_type);
  return element && (is_output(*element) || kind(*element) != Kind::floating);
}

Result<Array> cast(const Array& from, int32_t to) {
  Array out{{to, from.type.shape}, {}};
  DEQUANT_TRY(const int64_t bytes, bytes_of(out.type));
  DEQUANT_TRY(const int64_t count, count_of(out.type));
  out.bytes.resize(static_cast<size_t>(bytes));
  for (int64_t i = 0; i < count; ++i)
    DEQUANT_CHECK(store(load(from.type.data_type, from.bytes, i), to, out.bytes, i));
  return out;
}

bool can_clip(int32_t data_type) {
  const auto element = element_from_onnx(data_type);
  return data_type == kInt64 ||
         (element && kind(*element) != Kind::floating && bits(*element) >= 8);
}

Array clip(const Array& from, std::optional<int64_t> low, std::optional<int64_t> high) {
  Array out{from.type, {}};
  out.bytes.resize(from.bytes.size());
  const auto size = static_cast<size_t>(element_bits(from.type.data_type) / 8);
  const auto count = static_cast<int64_t>(from.bytes.size() / size);
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = load(from.type.data_type, from.bytes, i).i;
    if (low) number = std::max(number, *low);
    if (high) number = std::min(number, *high);
    store_integer(number, from.type.data_type, out.bytes, i);
  }
  return out;
}

bool can_calculate(int32_t data_type) {
  const auto element = element_from_onnx(data_type);
  return element && is_output(*element);
}

/// Computes in float32. A product of two numbers of float16 or bfloat16 is exact there. A quotient
/// that is rounded to float32 and then to the type equals the quotient rounded once, because the 24
/// bits of float32 are at least 2 * 11 + 2, with the 11 bits of float16 (8 of bfloat16).
Array calculate(Arithmetic operation, const Array& a, const Array& b) {
  const Element element = *element_from_onnx(a.type.data_type);
  Array out{a.type, {}};
  out.bytes.resize(a.bytes.size());
  constexpr size_t kStep = 1024;
  std::array<float, kStep> x;
  std::array<float, kStep> y;
  const auto size = static_cast<size_t>(bits(element) / 8);
  for (size_t begin = 0; begin < out.bytes.size() / size; begin += kStep) {
    const size_t n = std::min(kStep, out.bytes.size() / size - begin);
    const auto part = [&](auto& bytes) { return std::span(bytes).subspan(begin * size, n * size); };
    widen(element, part(a.bytes), std::span(x).first(n));
    widen(element, part(b.bytes), std::span(y).first(n));
    for (size_t i = 0; i < n; ++i)
      x[i] = operation == Arithmetic::multiply ? x[i] * y[i] : x[i] / y[i];
    narrow(element, std::span(x).first(n), part(out.bytes));
  }
  return out;
}

}  // namespace dequant::format::onnx
