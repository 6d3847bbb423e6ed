#include "ptx/passes/memory/word_plan.h"

#include <algorithm>
#include <utility>

namespace lynxpp::ptx {
namespace {

std::string text_of(const CountedWords& words) {
  return std::to_string(8 * words.element_bytes) + "-bit counters for words of " +
         (words.is_shared ? "shared" : "device") + " memory" +
         (words.block_offset_word ? ", in the block's shared memory" : "");
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
  RunPlanner(const ReachedFunctions& reached, const VariantOptions& options, std::uint32_t slots,
             WordPlan& plan)
      : reached_(reached),
        plan_(plan),
        slots_(slots),
        has_records_(options.launch.has_few_threads && !options.without.contains(Refinement::loop_records)),
        has_runs_(!options.without.contains(Refinement::word_runs)) {}

  void find(std::size_t number, const Probe& probe, CountedWords& words) {
    bool are_written = false;
    for (const FunctionUnit& function : reached_.instrumented())
      are_written |= find_in(function, number, probe);
    if (!are_written) return;
    const auto known = std::ranges::find(plan_.run_arrays, words.array_word);
    words.runs_word = slots_ + 2 * static_cast<std::uint32_t>(known - plan_.run_arrays.begin());
    if (known == plan_.run_arrays.end()) plan_.run_arrays.push_back(words.array_word);
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

  const ReachedFunctions& reached_;
  WordPlan& plan_;
  const std::uint32_t slots_;  ///< number of parameter slots before those of runs
  const bool has_records_, has_runs_;
};

}  // namespace

void plan_words(const ReachedFunctions& reached, const std::vector<Probe>& probes,
                const VariantOptions& options, std::uint32_t& slots, WordPlan& plan) {
  if (plan.records_runs) {
    RunPlanner finder(reached, options, slots, plan);
    for (auto& [number, words] : plan.counted) {
      if (!words.is_shared && probes[number].enabled) finder.find(number, probes[number], words);
    }
  }
  slots += 2 * static_cast<std::uint32_t>(plan.run_arrays.size());
  if (plan.loop_records.bytes != 0) plan.loop_records.word = slots++;
  if (!plan.shared.variables.empty()) plan.shared.word = slots++;
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
