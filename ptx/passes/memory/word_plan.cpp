#include "ptx/passes/memory/word_plan.h"

#include <algorithm>
#include <utility>

namespace lynxpp::ptx {
namespace {

std::string text_of(const CountedWords& words) {
  return std::to_string(8 * words.element_bytes) + "-bit counters for words of " +
         (words.is_shared ? "shared" : "device") + " memory" +
         (words.block_offset_slot ? ", in the block's shared memory" : "");
}

std::string text_of(const WordSite& site) {
  std::string text;
  switch (site.threads) {
    case WordSite::Threads::each: text = "each thread counts"; break;
    case WordSite::Threads::of_a_warp: text = "one thread counts for its warp"; break;
    case WordSite::Threads::of_the_block: text = "one thread counts for its block"; break;
  }
  if (site.loop != no_loop) text += ", after loop " + std::to_string(site.loop);
  return text;
}

std::string text_of(const WordRun& run) {
  std::string text = "loop " + std::to_string(run.loop) + ", instructions";
  for (const std::uint32_t each : run.instructions) text += " " + std::to_string(each);
  text += ": " + std::to_string(run.bytes) + " bytes";
  text += run.distance ? ", " + std::to_string(*run.distance) + " apart" : ", loop-invariant distance";
  return text + (run.record ? ", recorded in the thread's loop record" : "");
}

/// Finds the runs of each probe.
class RunPlanner {
 public:
  RunPlanner(const ReachedFunctions& reached, const VariantOptions& options, HiddenLayout& hidden,
             WordPlan& plan)
      : reached_(reached),
        hidden_(hidden),
        plan_(plan),
        has_records_(options.launch.has_few_threads && !options.without.contains(Refinement::loop_records)),
        has_runs_(!options.without.contains(Refinement::word_runs)) {}

  void find(std::size_t number, const Probe& probe, CountedWords& words) {
    bool are_written = false;
    for (const FunctionUnit& function : reached_.instrumented())
      are_written |= find_in(function, number, probe);
    if (are_written) words.runs_slot = slot_of_runs(words.array_slot);
  }

 private:
  /// Returns true if some run has no record slot.
  bool find_in(const FunctionUnit& function, std::size_t number, const Probe& probe) {
    const auto has_no_record = [](const WordRun& run) { return !run.record; };
    std::vector<WordRun> runs = find_word_runs(*function.analyses, [&](std::uint32_t each) {
      return probe.matches(function.function->body->instructions[each]);
    });
    if (&function == &reached_.kernel() && has_records_)
      assign_records(*function.analyses, runs, plan_.loop_records.bytes);
    if (!has_runs_) std::erase_if(runs, has_no_record);
    const bool are_written = std::ranges::any_of(runs, has_no_record);
    const std::size_t position = reached_.position_of(function);
    if (!runs.empty()) plan_.runs.emplace(std::pair(number, position), std::move(runs));
    return are_written;
  }

  /// Returns the parameter slot of the array's run records. Probes of one array share it.
  std::uint32_t slot_of_runs(std::uint32_t array_slot) {
    HiddenSlot runs = hidden_.slots()[array_slot];
    runs.kind = HiddenSlot::Kind::runs;
    const auto known = std::ranges::find(hidden_.slots(), runs);
    if (known != hidden_.slots().end()) return static_cast<std::uint32_t>(known - hidden_.slots().begin());
    const std::uint32_t slot = hidden_.add(runs);
    hidden_.add({HiddenSlot::Kind::most_runs, runs.specification, runs.index});
    return slot;
  }

  const ReachedFunctions& reached_;
  HiddenLayout& hidden_;
  WordPlan& plan_;
  const bool has_records_, has_runs_;
};

}  // namespace

void plan_words(const ReachedFunctions& reached, const std::vector<Probe>& probes,
                const VariantOptions& options, HiddenLayout& hidden, WordPlan& plan) {
  if (plan.records_runs) {
    RunPlanner planner(reached, options, hidden, plan);
    for (auto& [number, words] : plan.counted) {
      if (!words.is_shared && probes[number].enabled) planner.find(number, probes[number], words);
    }
  }
  if (plan.loop_records.bytes != 0) plan.loop_records.slot = hidden.add({HiddenSlot::Kind::loop_records});
  if (!plan.shared.variables.empty()) plan.shared.slot = hidden.add({HiddenSlot::Kind::shared_addresses});
}

std::string word_plan_text(const WordPlan& plan, const ReachedFunctions& reached,
                           const std::vector<Probe>& probes) {
  std::string text;
  for (const auto& [probe, words] : plan.counted) {
    text += "probe " + std::to_string(probe) + ": " + text_of(words) +
            (probes[probe].enabled ? "" : ", no access needs it") + "\n";
  }
  for (const auto& [access, site] : plan.sites) {
    text += "instruction " + std::to_string(access.first) + ", access " + std::to_string(access.second) +
            ": " + text_of(site) + "\n";
  }
  for (const auto& [position, runs] : plan.runs) {
    for (const WordRun& run : runs) {
      text += "probe " + std::to_string(position.first) + " in " +
              reached.functions[position.second].function->name + ", " + text_of(run) + "\n";
    }
  }
  for (const SharedAddresses::Variable& each : plan.shared.variables)
    text += "the address of " + each.name + " is stored\n";
  return text;
}

}  // namespace lynxpp::ptx
