#include "ptx/emitter/emitter.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

/// Textual order; at one place insertions come before a replacement, otherwise the order of addition stays.
std::vector<const Edit*> sorted(std::vector<const Edit*> edits) {
  std::ranges::stable_sort(edits, [](const Edit* left, const Edit* right) {
    if (left->range.begin != right->range.begin) return left->range.begin < right->range.begin;
    return left->range.empty() && !right->range.empty();
  });
  return edits;
}

std::string apply(std::string_view source, TextRange range, const std::vector<const Edit*>& edits) {
  std::size_t size = range.end - range.begin;
  for (const Edit* edit : edits) size += edit->text.size();
  std::string result;
  result.reserve(size);
  std::uint32_t position = range.begin;
  for (const Edit* edit : edits) {
    if (edit->range.begin < position) continue;  // inside a range that is replaced as a whole
    if (edit->range.begin > position) result += source.substr(position, edit->range.begin - position);
    result += edit->text;
    position = std::max(position, edit->range.end);
  }
  if (position < range.end) result += source.substr(position, range.end - position);
  return result;
}

}  // namespace

std::string emit(const Module& module, const EditList& edits) {
  std::vector<const Edit*> all;
  all.reserve(edits.edits().size());
  for (const Edit& edit : edits.edits()) all.push_back(&edit);
  const TextRange range{0, static_cast<std::uint32_t>(module.source().size())};
  return apply(module.source(), range, sorted(std::move(all)));
}

std::string emit_range(const Module& module, TextRange range, const EditList& edits) {
  std::vector<const Edit*> inside;
  for (const Edit& edit : edits.edits()) {
    const bool is_inside =
        edit.range.begin >= range.begin && edit.range.end <= range.end && edit.range.begin < range.end;
    if (is_inside) inside.push_back(&edit);
  }
  return apply(module.source(), range, sorted(std::move(inside)));
}

}  // namespace lynxpp::ptx
