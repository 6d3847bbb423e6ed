// Records that the tests of report/ share.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "report/record.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::report {

template <typename T>
ResultValue number(std::string name, T value, std::string unit = {}) {
  return {std::move(name), {}, std::vector<T>{value}, std::move(unit)};
}
inline ResultValue ratio(std::string name, std::uint64_t numerator, std::uint64_t denominator,
                         std::string unit = {}) {
  ResultValue result = number(std::move(name), numerator, std::move(unit));
  result.denominators = std::vector<std::uint64_t>{denominator};
  return result;
}
template <typename T>
ResultValue array(std::string name, std::vector<T> values, std::vector<std::uint64_t> extents = {},
                  std::string unit = {}) {
  if (extents.empty()) extents = {values.size()};
  return {std::move(name), std::move(extents), std::move(values), std::move(unit)};
}

inline LaunchRecord vecadd_launch(std::uint64_t index = 0) {
  LaunchRecord record;
  record.kernel = "_Z6vecaddPKfS0_Pfi";
  record.launch = index;
  record.device = "cpu";
  record.grid[0] = 40;
  record.block[0] = 256;
  record.spec = "instruction_count";
  record.results = {number<std::uint64_t>("thread_instructions", 1234567),
                    number<std::uint64_t>("warp_instructions", 38593)};
  return record;
}

/// Returns a kernel "k" of two blocks with three instructions, the last one in a device function.
inline SitesRecord small_sites(std::uint64_t table = 0) {
  SitesRecord record;
  record.kernel = "k";
  record.table = table;
  record.functions = {"k", "_Z4stepi"};
  record.opcodes = {"ld.global.f32", "bra"};
  record.files = {"src/a.cu"};
  record.labels = {{"MEM_READ", "GLOBAL"}, {"BRANCH"}};
  record.blocks = {{0, 0, 2}, {1, 2, 1}};
  record.instructions = {{0, 0, 0, 20, 0, 7}, {0, 1, 1, 22, SitesRecord::unknown, 0}, {1, 0, 0, 41, 0, 9}};
  return record;
}

/// Returns a result by site of that kernel.
inline ResultValue by_site(std::string name, std::string extent, std::vector<std::uint64_t> values,
                           std::string unit = {}) {
  const std::uint64_t elements = values.size();
  return {std::move(name), {elements}, std::move(values), std::move(unit), {std::move(extent)}};
}

using lynxpp::TemporaryFolder;

}  // namespace lynxpp::report
