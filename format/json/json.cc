// Strict parsing of JSON: builds the document from the events of the library's SAX parser, because
// the library's own builder keeps the last of equal keys and does not limit nesting.
#include "format/json/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "format/json/python_floats.h"

namespace dequant::format {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The keys of an object with many members.
using Names = std::unordered_set<std::string>;
/// Members that are faster searched one by one.
constexpr size_t kFewMembers = 16;

/// Adds a member without a value to an object. Null, and the name is still there, where the object
/// has the key already.
json* add_member(json& object, std::string& name, Names&) {
  auto [member, added] = object.get_ref<json::object_t&>().try_emplace(std::move(name));
  return added ? &member->second : nullptr;
}

/// The same where members keep their order. `names` has the keys of an object that has more than a
/// few members.
ordered_json* add_member(ordered_json& object, std::string& name, Names& names) {
  auto& members = object.get_ref<ordered_json::object_t&>();
  if (members.size() < kFewMembers) {
    for (const auto& member : members) {
      if (member.first == name) return nullptr;
    }
  } else {
    if (names.empty()) {
      for (const auto& member : members) names.insert(member.first);
    }
    if (!names.insert(name).second) return nullptr;
  }
  members.emplace_back(std::move(name), ordered_json());
  return &members.back().second;
}

/// Builds a document of type J.
template <class J>
class Builder : public J::json_sax_t {
 public:
  /// `has_words`: numbers of the text may stand for words.
  Builder(size_t size, size_t most_members, bool has_words)
      : size_(size), most_(most_members), has_words_(has_words) {}

  bool null() override { return add(J()); }
  bool boolean(bool value) override { return add(J(value)); }
  bool number_integer(int64_t value) override { return add(J(value)); }
  bool number_unsigned(uint64_t value) override { return add(J(value)); }
  bool number_float(double value, const std::string& text) override {
    return add(J(has_words_ ? float_of_word(text).value_or(value) : value));
  }
  bool string(std::string& value) override { return add(J(std::move(value))); }
  bool binary(typename J::binary_t&) override { return false; }  // JSON text has no binary values
  bool start_object(size_t) override { return open(J::object()); }
  bool start_array(size_t) override { return open(J::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (open_.back()->size() == most_) {
      error_ = bad("an object has more than {} members", most_);
      return false;
    }
    member_ = add_member(*open_.back(), name, names_.back());
    if (member_ == nullptr) error_ = bad("the key \"{}\" occurs twice in an object", escaped(name));
    return member_ != nullptr;
  }

  /// `read` counts the bytes up to and including the one that is wrong.
  bool parse_error(size_t read, const std::string& token,
                   const nlohmann::detail::exception&) override {
    error_ = read > size_
                 ? bad("not JSON: it ends at byte {}, before it is complete", size_)
                 : bad("not JSON: byte {}: unexpected \"{}\"", read - (read > 0), escaped(token));
    return false;
  }

  Result<J> result() && {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  static constexpr size_t kDeepest = 32;

  J* add_value(J value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_object()) return &(*member_ = std::move(value));
    return &open_.back()->template get_ref<typename J::array_t&>().emplace_back(std::move(value));
  }

  bool add(J value) {
    add_value(std::move(value));
    return true;
  }

  /// While a container is open, nothing is added to the one around it: pointers stay valid.
  bool open(J container) {
    if (open_.size() == kDeepest) {
      error_ = bad("nested deeper than {} levels", kDeepest);
      return false;
    }
    open_.push_back(add_value(std::move(container)));
    names_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  size_t size_;  ///< of the text
  size_t most_;  ///< members of an object
  bool has_words_;
  J root_;
  std::vector<J*> open_;
  std::vector<Names> names_;  ///< of open_; used where members keep their order
  J* member_ = nullptr;
  std::optional<Error> error_;
};

/// `has_words`: the text has words of Python's json module.
template <class J>
Result<J> parse(std::string_view text, size_t most_members, bool has_words = false) {
  Builder<J> builder(text.size(), most_members, has_words);
  if (has_words) {
    J::sax_parse(with_numbers_for_words(text), &builder);
  } else {
    J::sax_parse(text, &builder);
  }
  DEQUANT_TRY(J document, std::move(builder).result());
  // The library's parser takes a zero byte for the end of the text.
  const size_t zero = text.find('\0');
  if (zero == text.npos) return document;
  return bad("not JSON: byte {}: unexpected \"{}\"", zero, escaped(text.substr(zero, 1)));
}

/// Appends a value whose members are indented by `depth` levels.
void append(std::string& out, const ordered_json& value, size_t depth) {
  const std::string line = fmt::format("\n{:{}}", "", 2 * depth);
  const bool is_object = value.is_object();
  if (value.is_structured() && !value.empty()) {
    std::string_view before = is_object ? "{" : "[";
    for (const auto& [key, member] : value.items()) {
      out.append(before).append(line).append("  ");
      if (is_object) out.append(ordered_json(key).dump()).append(": ");
      append(out, member, depth + 1);
      before = ",";
    }
    out.append(line).append(is_object ? "}" : "]");
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    out.append(word_of(value.get<double>()));
  } else {
    out.append(value.dump());
  }
}

}  // namespace

Result<json> parse_json(std::string_view text) { return parse<json>(text, SIZE_MAX); }

Result<ordered_json> parse_ordered_json(std::string_view text) {
  return parse<ordered_json>(text, kMostOrderedMembers);
}

Result<ordered_json> parse_python_json(std::string_view text) {
  return parse<ordered_json>(text, kMostOrderedMembers, true);
}

std::string python_json(const ordered_json& document) {
  std::string out;
  append(out, document, 0);
  return out;
}

std::string shown(const json& value) {
  if (value.is_structured()) return value.is_object() ? "an object" : "an array";
  return escaped(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

const json* member(const json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Status check_object(const json& value, std::initializer_list<std::string_view> keys) {
  if (!value.is_object()) return bad("{} is not an object", shown(value));
  for (const auto& [key, content] : value.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return bad("the key \"{}\" is not one of {}", escaped(key), fmt::join(keys, ", "));
    }
  }
  return {};
}

Result<std::string> text_member(const json& object, std::string_view key) {
  const json* value = member(object, key);
  if (value == nullptr) return bad("there is no \"{}\"", key);
  if (!value->is_string()) return bad("{}: {} is not a string", key, shown(*value));
  return value->get_ref<const std::string&>();
}

}  // namespace dequant::format
