// What makes counting cheaper than one counter for each edge off the spanning tree, or one probe for each
// access. Counts are the same with and without each of them: `lynxpp instrument --without NAME` and
// LYNXPP_WITHOUT=NAME leave one out, which is how its gain is measured.
#pragma once

#include <span>
#include <string_view>

namespace lynxpp::ptx {

struct PlanDraft;

struct Refinement {
  std::string_view name;
  std::string_view summary;
  std::string_view gain;  ///< what it was measured to bring, and the document that says so
  /// Changes the plan when all flows are drawn. Null: the code that finds facts or places probes asks for it
  /// by name.
  void (*apply)(PlanDraft& plan) = nullptr;
};

/// How words of memory are counted: the engine and the splice pass choose, the plan has no part in it.
inline constexpr std::string_view replayed_accesses = "replayed_accesses";
inline constexpr std::string_view word_counters = "word_counters";
inline constexpr std::string_view word_runs = "word_runs";
inline constexpr std::string_view word_batches = "word_batches";
inline constexpr std::string_view loop_records = "loop_records";
/// Likewise, chosen by the session, which knows the launch's shared memory.
inline constexpr std::string_view array_counters = "array_counters";
/// Passes or steps of splicing of their own: the pass lane-values, values in registers at the entry (splice),
/// the pass hoist.
inline constexpr std::string_view lane_values = "lane_values";
inline constexpr std::string_view entry_values = "entry_values";
inline constexpr std::string_view special_registers = "special_registers";

/// In the order in which they are applied.
std::span<const Refinement> refinement_table();

/// Applies all that the unit does not go without.
void refine(PlanDraft& plan);

}  // namespace lynxpp::ptx
