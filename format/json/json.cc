// Strict parsing of JSON: builds the document from the events of the library's SAX parser, because
// the library's own builder keeps the last of equal keys and does not limit nesting.
#include "format/json/json.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dequant::format {
namespace {

using nlohmann::json;

class Builder : public json::json_sax_t {
 public:
  explicit Builder(size_t size) : size_(size) {}

  bool null() override { return add(json()); }
  bool boolean(bool value) override { return add(json(value)); }
  bool number_integer(int64_t value) override { return add(json(value)); }
  bool number_unsigned(uint64_t value) override { return add(json(value)); }
  bool number_float(double value, const std::string&) override { return add(json(value)); }
  bool string(std::string& value) override { return add(json(std::move(value))); }
  bool binary(json::binary_t&) override { return false; }  // JSON text has no binary values
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    auto [member, added] =
        open_.back()->get_ref<json::object_t&>().emplace(std::move(name), json());
    if (!added) {
      error_ = bad("the key \"{}\" occurs twice in an object", escaped(member->first));
      return false;
    }
    member_ = &member->second;
    return true;
  }

  /// `read` counts the bytes up to and including the one that is wrong.
  bool parse_error(size_t read, const std::string& token, const json::exception&) override {
    error_ = read > size_
                 ? bad("not JSON: it ends at byte {}, before it is complete", size_)
                 : bad("not JSON: byte {}: unexpected \"{}\"", read - (read > 0), escaped(token));
    return false;
  }

  Result<json> result() && {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  static constexpr size_t kDeepest = 32;

  json* add_value(json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_object()) return &(*member_ = std::move(value));
    return &open_.back()->get_ref<json::array_t&>().emplace_back(std::move(value));
  }

  bool add(json value) {
    add_value(std::move(value));
    return true;
  }

  /// While a container is open, nothing is added to the one around it: pointers stay valid.
  bool open(json container) {
    if (open_.size() == kDeepest) {
      error_ = bad("nested deeper than {} levels", kDeepest);
      return false;
    }
    open_.push_back(add_value(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  size_t size_;  ///< of the text
  json root_;
  std::vector<json*> open_;
  json* member_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace

Result<json> parse_json(std::string_view text) {
  Builder builder(text.size());
  json::sax_parse(text, &builder);
  return std::move(builder).result();
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
