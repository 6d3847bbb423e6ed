// Pairs the elements of two lists by keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "cli/compare/changes.h"
#include "report/kernel_name.h"
#include "support/text.h"

namespace lynxpp::cli {

/// Indices of matching elements in both lists, in order, and of those that only one has.
struct Pairing {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  Both<std::vector<std::size_t>> only;
};

template <typename T, typename Key>
void pair_by(const Both<const std::vector<T>*>& all, Key key, Pairing& pairing) {
  std::map<decltype(key(all.a->front())), Both<std::vector<std::size_t>>> by_key;
  for (const std::size_t each : pairing.only.a) by_key[key((*all.a)[each])].a.push_back(each);
  for (const std::size_t each : pairing.only.b) by_key[key((*all.b)[each])].b.push_back(each);
  for (const auto& [name, found] : by_key) {
    if (found.a.size() != 1 || found.b.size() != 1) continue;
    pairing.pairs.emplace_back(found.a[0], found.b[0]);
    std::erase(pairing.only.a, found.a[0]);
    std::erase(pairing.only.b, found.b[0]);
  }
}

/// Pairs elements with the same first key; then, of the rest, those with the same second key, and so on. A
/// key pairs only if exactly one element on each side has it.
template <typename T, typename... Keys>
Pairing pair_up(const std::vector<T>& a, const std::vector<T>& b, Keys... keys) {
  Pairing pairing;
  for (std::size_t i = 0; i < a.size(); ++i) pairing.only.a.push_back(i);
  for (std::size_t i = 0; i < b.size(); ++i) pairing.only.b.push_back(i);
  const Both<const std::vector<T>*> all{&a, &b};
  if (!a.empty() && !b.empty()) (pair_by(all, keys, pairing), ...);
  std::ranges::sort(pairing.pairs);
  return pairing;
}

/// Pairs kernels, which have the members `kernel` and `ranges`, by their mangled or demangled name, or by its
/// part before template arguments and parameters.
template <typename T>
Pairing pair_kernels(const std::vector<T>& a, const std::vector<T>& b) {
  return pair_up(
      a, b, [](const T& each) { return std::pair(each.kernel, each.ranges); },
      [](const T& each) { return std::pair(demangle(each.kernel), each.ranges); },
      [](const T& each) { return std::pair(report::base_name(demangle(each.kernel)), each.ranges); });
}

}  // namespace lynxpp::cli
