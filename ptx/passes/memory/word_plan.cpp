#include "ptx/passes/memory/word_plan.h"

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
  return text + (run.place ? ", recorded in the thread's loop record" : "");
}

}  // namespace

Status plan_words(InstrumentationUnit& unit) {
  if (unit.words.demand) unit.words.demand(unit);
  return success();
}

std::string word_plan_text(const InstrumentationUnit& unit) {
  std::string text;
  for (const auto& [probe, words] : unit.spliced.counted_words) {
    text += "probe " + std::to_string(probe) + ": " + text_of(words) +
            (unit.spliced.probes[probe].enabled ? "" : ", no access needs it") + "\n";
  }
  for (const auto& [access, site] : unit.words.sites) {
    text += "instruction " + std::to_string(access.first) + ", access " + std::to_string(access.second) +
            ": " + text_of(site) + "\n";
  }
  for (const auto& [place, runs] : unit.words.runs) {
    for (const WordRun& run : runs) {
      text += "probe " + std::to_string(place.first) + " in " +
              unit.reached.functions[place.second].function->name + ", " + text_of(run) + "\n";
    }
  }
  for (const SharedAddresses::Place& each : unit.words.shared.variables)
    text += "the address of " + each.name + " is stored\n";
  return text;
}

}  // namespace lynxpp::ptx
