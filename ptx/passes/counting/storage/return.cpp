#include "ptx/passes/counting/storage/return.h"

#include <algorithm>
#include <map>

namespace lynxpp::ptx {

void return_counters(CountPlan& plan, FunctionPlan& function, FunctionPlan& kernel) {
  std::map<std::pair<bool, std::uint32_t>, std::uint32_t> words;  // by what the counters share
  std::vector<Counter*> counters;
  for (Counter& counter : function.counters) {
    const bool is_raised = !counter.places.empty() || counter.is_tally;
    if (!is_raised || counter.storage == Counter::Storage::memory) continue;
    if (counter.storage != Counter::Storage::summed) return;
    const std::uint32_t next = static_cast<std::uint32_t>(words.size());
    words.try_emplace({counter.is_bit, counter.is_bit ? counter.bit : counter.reg}, next);
    counters.push_back(&counter);
  }
  const auto needed = static_cast<std::uint32_t>(words.size());
  if (plan.frame_words + needed > most_returned) return;
  for (Counter* counter : counters) {
    const std::uint32_t word = words.at({counter->is_bit, counter->is_bit ? counter->bit : counter->reg});
    counter->frame_word = plan.frame_words + word;
    Counter taken = *counter;
    taken.is_bit = false;
    taken.reg = kernel.registers + word;
    kernel.returned.push_back(std::move(taken));
  }
  plan.frame_words += needed;
  kernel.registers += needed;
}

}  // namespace lynxpp::ptx
