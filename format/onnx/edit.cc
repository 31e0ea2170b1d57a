// Replacing byte ranges of a model file.
#include "format/onnx/edit.h"

#include <algorithm>
#include <iterator>
#include <protozero/buffer_string.hpp>
#include <protozero/varint.hpp>

namespace dequant::format::onnx {
namespace {

void copy(Span span, Pieces& out) {
  if (span.empty()) return;
  if (!out.empty()) {  // adjacent ranges of the input become one piece
    if (auto* last = std::get_if<Span>(&out.back()); last != nullptr && last->end == span.begin) {
      last->end = span.end;
      return;
    }
  }
  out.emplace_back(span);
}

}  // namespace

int64_t size_of(const Piece& piece) {
  if (const auto* span = std::get_if<Span>(&piece)) return span->size();
  if (const auto* text = std::get_if<std::string>(&piece))
    return static_cast<int64_t>(text->size());
  if (const auto* beside = std::get_if<Beside>(&piece)) return beside->bytes;
  return std::get<Computed>(piece).bytes;
}

int64_t size_of(const Pieces& pieces) {
  int64_t size = 0;
  for (const Piece& p : pieces) size += size_of(p);  // each is bounded by a file or a checked shape
  return size;
}

Pieces joined(Pieces pieces) {
  Pieces out;
  for (Piece& p : pieces) {
    auto* text = std::get_if<std::string>(&p);
    auto* last = out.empty() ? nullptr : std::get_if<std::string>(&out.back());
    if (text != nullptr && last != nullptr) {
      *last += *text;
    } else {
      out.push_back(std::move(p));
    }
  }
  out.shrink_to_fit();
  return out;
}

void Edit::replace(int frame, Span what, Pieces with) {
  changes_[frame].replaced[{what.begin, what.end}] = joined(std::move(with));
}

void Edit::append(int frame, Pieces what) {
  Pieces& end = changes_[frame].appended;
  for (Piece& p : joined(std::move(what))) end.push_back(std::move(p));
}

Pieces Edit::render() const {
  // The lengths of all messages around a change may change too.
  Children children;
  std::vector<int> todo;
  for (const auto& [frame, changes] : changes_) todo.push_back(frame);
  std::vector<bool> seen(model_->frames.size());
  while (!todo.empty()) {
    const int frame = todo.back();
    todo.pop_back();
    if (frame < 0 || seen[static_cast<size_t>(frame)]) continue;
    seen[static_cast<size_t>(frame)] = true;
    const int parent = model_->frame(frame).parent;
    children[parent].push_back(frame);
    todo.push_back(parent);
  }
  Pieces out;
  render(children, -1, out);
  return out;
}

void Edit::render(const Children& children, int frame, Pieces& out) const {
  static const Changes kNone;
  const auto changed = changes_.find(frame);
  const Changes& changes = changed == changes_.end() ? kNone : changed->second;
  struct Change {
    Span what;
    const Pieces* with;  ///< null: the message of `child`
    int child;
  };
  std::vector<Change> order;
  for (const auto& [what, with] : changes.replaced)
    order.push_back({{what.first, what.second}, &with, -1});
  if (const auto within = children.find(frame); within != children.end()) {
    for (const int c : within->second) {
      const Span whole = model_->frame(c).whole;
      if (!changes.replaced.contains({whole.begin, whole.end}))
        order.push_back({whole, nullptr, c});
    }
  }
  std::sort(order.begin(), order.end(),
            [](const Change& a, const Change& b) { return a.what.begin < b.what.begin; });

  const Span payload = frame < 0 ? model_->source.all() : model_->frame(frame).payload();
  int64_t at = payload.begin;
  for (const Change& c : order) {
    copy({at, c.what.begin}, out);
    at = c.what.end;
    if (c.with != nullptr) {
      out.insert(out.end(), c.with->begin(), c.with->end());
      continue;
    }
    Pieces inner;
    render(children, c.child, inner);  // recursion as deep as messages nest in the input
    std::string head;
    const uint32_t number = model_->frame(c.child).number();
    protozero::add_varint_to_buffer(&head, tag_of(number, Wire::bytes));
    protozero::add_varint_to_buffer(&head, static_cast<uint64_t>(size_of(inner)));
    out.emplace_back(std::move(head));
    out.insert(out.end(), std::make_move_iterator(inner.begin()),
               std::make_move_iterator(inner.end()));
  }
  copy({at, payload.end}, out);
  out.insert(out.end(), changes.appended.begin(), changes.appended.end());
}

}  // namespace dequant::format::onnx
