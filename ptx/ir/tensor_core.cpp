#include "ptx/ir/tensor_core.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t warps_in_group = 4;
constexpr std::uint32_t products_of_quad_pairs = 4;
constexpr std::uint32_t bytes_of_depth = 32;  ///< of a dense product of a warpgroup

/// Also the types that only results have, as unknown.
constexpr std::pair<std::string_view, TensorCoreType> factor_types[] = {
    {"f64", TensorCoreType::f64},    {"tf32", TensorCoreType::tf32}, {"f16", TensorCoreType::f16},
    {"bf16", TensorCoreType::bf16},  {"e4m3", TensorCoreType::f8},   {"e5m2", TensorCoreType::f8},
    {"e3m2", TensorCoreType::f6},    {"e2m3", TensorCoreType::f6},   {"e2m1", TensorCoreType::f4},
    {"s8", TensorCoreType::s8},      {"u8", TensorCoreType::s8},     {"s4", TensorCoreType::s4},
    {"u4", TensorCoreType::s4},      {"b1", TensorCoreType::b1},     {"f32", TensorCoreType::unknown},
    {"s32", TensorCoreType::unknown}};

/// Reads "m16n8k16".
bool read_shape(std::string_view word, std::array<std::uint32_t, 3>& shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (word.empty() || word[0] != "mnk"[i]) return false;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), shape[i]);
    if (error != std::errc()) return false;
    word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  }
  return word.empty();
}

struct ProductWords {
  std::array<std::uint32_t, 3> shape{};
  std::vector<TensorCoreType> types;  ///< of D, A, B and, except for wgmma, C; of wmma on halves only D and C
  bool is_sparse = false;
  bool is_warpgroup = false;
};

ProductWords product_words(std::string_view opcode) {
  ProductWords words;
  words.is_warpgroup = opcode.starts_with("wgmma.");
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t end = opcode.find('.', dot + 1);
    const std::string_view word = opcode.substr(dot + 1, end == std::string_view::npos ? end : end - dot - 1);
    dot = end;
    if (word == "sp" || word.starts_with("sp::")) words.is_sparse = true;
    if (words.shape[0] == 0 && word.starts_with('m') && read_shape(word, words.shape)) continue;
    const auto* const type =
        std::ranges::find(factor_types, word, &std::pair<std::string_view, TensorCoreType>::first);
    if (type != std::end(factor_types)) words.types.push_back(type->second);
  }
  return words;
}

}  // namespace

TensorCoreProduct tensor_core_product(std::string_view opcode) {
  if (!opcode.starts_with("mma.") && !opcode.starts_with("wmma.mma.") &&
      !opcode.starts_with("wgmma.mma_async."))
    return {};
  const ProductWords words = product_words(opcode);
  const auto& [m, n, k] = words.shape;
  if (k == 0 || words.types.size() < 2) return {};
  const TensorCoreType type =
      words.types.size() == 2 ? TensorCoreType::f16 : std::min(words.types[1], words.types[2]);
  if (type == TensorCoreType::unknown) return {};
  std::uint32_t operations = 2 * m * n * k;
  const bool is_quad_pairs = opcode.starts_with("mma.") && type == TensorCoreType::f16 && k == 4;
  if (is_quad_pairs) operations *= products_of_quad_pairs;
  if (words.is_sparse) operations /= 2;
  if (words.is_warpgroup) operations /= warps_in_group;
  return {type, operations};
}

std::uint32_t descriptor_bytes(const Instruction& instruction) {
  if (!instruction.opcode.starts_with("wgmma.mma_async.") || instruction.operands.size() < 2) return 0;
  const ProductWords words = product_words(instruction.opcode);
  // Every type has 32 bytes of k in a row of A as it is stored, and in a column of B.
  const std::uint32_t of_a = words.shape[0] * bytes_of_depth / warps_in_group;
  const std::uint32_t of_b = words.shape[1] * bytes_of_depth * (words.is_sparse ? 2 : 1) / warps_in_group;
  return (instruction.operands[1].kind == OperandKind::vector ? 0 : of_a) + of_b;
}

}  // namespace lynxpp::ptx
