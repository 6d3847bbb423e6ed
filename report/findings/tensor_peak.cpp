#include "report/findings/tensor_peak.h"

#include <algorithm>

namespace lynxpp::report {
namespace {

struct Rate {
  std::string_view type;
  double per_cycle;  ///< operations of one multiprocessor; a multiplication and an addition are two
};

constexpr Rate volta[] = {{"f16", 1024}};
constexpr Rate turing[] = {{"f16", 1024}, {"int8", 2048}, {"int4", 4096}};
constexpr Rate ampere[] = {{"f64", 128},   {"tf32", 1024}, {"f16", 2048}, {"bf16", 2048},
                           {"int8", 4096}, {"int4", 8192}, {"b1", 32768}};
constexpr Rate hopper[] = {{"f64", 256},   {"tf32", 2048}, {"f16", 4096},
                           {"bf16", 4096}, {"f8", 8192},   {"int8", 8192}};

/// Products by a word of their name: others of the same compute capability have fewer or slower tensor cores.
struct Product {
  std::string_view word;
  std::span<const Rate> rates;
};
constexpr Product known[] = {{"V100", volta}, {"T4", turing},   {"A100", ampere}, {"A800", ampere},
                             {"A30", ampere}, {"H100", hopper}, {"H200", hopper}, {"GH200", hopper}};

constexpr std::string_view all_types[] = {"f64", "tf32", "f16",  "bf16", "f8",
                                          "f6",  "f4",   "int8", "int4", "b1"};

/// True if the name has the word: "NVIDIA H200" and "Tesla V100-SXM2-16GB" have "H200" and "V100".
bool has_word(std::string_view name, std::string_view word) {
  const auto ends_word = [](char each) { return each == ' ' || each == '-'; };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || ends_word(name[at - 1])) && (end == name.size() || ends_word(name[end]))) return true;
  }
  return false;
}

}  // namespace

std::span<const std::string_view> tensor_types() { return all_types; }

std::optional<double> tensor_peak(const DeviceRecord& device, std::string_view type) {
  const auto* const product = std::ranges::find_if(
      known, [&device](const Product& each) { return has_word(device.device, each.word); });
  if (product == std::end(known) || device.multiprocessors == 0 || device.clock_khz == 0) return std::nullopt;
  const auto rate = std::ranges::find(product->rates, type, &Rate::type);
  if (rate == product->rates.end()) return std::nullopt;
  return rate->per_cycle * static_cast<double>(device.multiprocessors) *
         static_cast<double>(device.clock_khz) * 1000;
}

}  // namespace lynxpp::report
