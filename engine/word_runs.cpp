#include "engine/word_runs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "engine/instrument.h"
#include "ptx/passes/probes/word_run_sites.h"

namespace lynxpp::engine {
namespace {

constexpr std::uint64_t word_bytes = 4;

/// Whether some words of a run may be further apart than those that follow one another.
bool needs_other_distance(const ptx::WordRun& run) {
  if (!run.distance) return true;
  const std::int64_t distance = std::abs(*run.distance);
  return distance != 0 && distance != run.bytes && distance != static_cast<std::int64_t>(word_bytes);
}

template <typename Element>
void add_row(std::uint64_t* numbers, std::uint64_t words, std::uint64_t distance, Element* counts,
             std::uint64_t room) {
  constexpr std::uint64_t most = std::numeric_limits<Element>::max();
  for (std::uint64_t i = 0; i < words; ++i) {
    if (i >= distance) numbers[i] += numbers[i - distance];
    if (numbers[i] == 0 || i >= room) continue;
    counts[i] += static_cast<Element>(std::min<std::uint64_t>(numbers[i], most - counts[i]));
  }
}

}  // namespace

std::vector<WordCounting::Runs> choose_runs(const Request& request, ptx::InstrumentationUnit& unit) {
  if (request.wide_counters || unit.options.without.contains(ptx::word_runs)) return {};
  std::vector<WordCounting::Runs> chosen;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < request.specifications.size(); ++i) {
    for (const cod::Handler& handler : request.specifications[i]->handlers()) {
      const std::size_t number = next++;
      const auto counted = unit.spliced.counted_words.find(number);
      if (counted == unit.spliced.counted_words.end() || counted->second.is_shared) continue;
      const ptx::Probe& probe = unit.spliced.probes[number];
      std::uint32_t rows = 0;
      for (std::size_t at = 0; at < unit.reached.functions.size() && probe.enabled; ++at) {
        const ptx::FunctionUnit& function = unit.reached.functions[at];
        if (!function.instrumented) continue;
        std::vector<ptx::WordRun> runs = ptx::find_word_runs(
            unit.analyses.of(*function.function),
            [&](std::uint32_t each) { return probe.matches(function.function->body->instructions[each]); });
        for (const ptx::WordRun& run : runs) rows = std::max(rows, needs_other_distance(run) ? 2u : 1u);
        if (!runs.empty()) unit.word_runs.emplace(std::pair(number, at), std::move(runs));
      }
      if (rows == 0) continue;
      const std::uint32_t array = handler.counted_words[0];
      const auto known = std::ranges::find_if(chosen, [&](const WordCounting::Runs& each) {
        return each.specification == i && each.array == array;
      });
      counted->second.runs_word = unit.spliced.words + 2 * static_cast<std::uint32_t>(known - chosen.begin());
      if (known == chosen.end()) {
        chosen.push_back({i, array, rows});
      } else {
        known->rows = std::max(known->rows, rows);
      }
    }
  }
  unit.spliced.words += 2 * static_cast<std::uint32_t>(chosen.size());
  return chosen;
}

std::uint64_t bytes_of_runs(std::uint32_t rows, std::uint64_t run_bytes) {
  return ptx::RunNumbers::header_bytes + rows * ptx::RunNumbers::scale * run_bytes;
}

void add_word_runs(std::span<std::byte> runs, std::uint32_t rows, std::uint64_t run_bytes,
                   std::span<std::byte> counts, std::uint32_t element_bytes, std::uint64_t first) {
  const std::uint64_t words = run_bytes / word_bytes;
  const std::uint64_t elements = counts.size() / element_bytes;
  if (runs.size() < bytes_of_runs(rows, run_bytes) || first >= elements) return;
  std::uint64_t other = 0;
  std::memcpy(&other, runs.data() + sizeof other, sizeof other);
  // Both begin at multiples of 256 (ProbeLayout), and are numbers for as long as the launch's results live.
  auto* const numbers = reinterpret_cast<std::uint64_t*>(runs.data() + ptx::RunNumbers::header_bytes);
  std::byte* const begin = counts.data() + first * element_bytes;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint64_t distance = row == 0 ? 1 : other / word_bytes;
    if (distance == 0) continue;  // no run has been so
    if (element_bytes == sizeof(std::uint64_t)) {
      add_row(numbers + row * words, words, distance, reinterpret_cast<std::uint64_t*>(begin),
              elements - first);
    } else {
      add_row(numbers + row * words, words, distance, reinterpret_cast<std::uint32_t*>(begin),
              elements - first);
    }
  }
}

}  // namespace lynxpp::engine
