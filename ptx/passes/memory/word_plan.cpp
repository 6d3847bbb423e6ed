#include "ptx/passes/memory/word_plan.h"

#include "ptx/passes/probe.h"

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

}  // namespace

std::string word_plan_text(const WordPlan& plan, const std::vector<Probe>& probes) {
  std::string text;
  for (const auto& [probe, words] : plan.counted) {
    text += "probe " + std::to_string(probe) + ": " + text_of(words) +
            (probes[probe].enabled ? "" : ", no access needs it") + "\n";
  }
  for (const auto& [access, site] : plan.sites) {
    text += "instruction " + std::to_string(access.first) + ", access " + std::to_string(access.second) +
            ": " + text_of(site) + "\n";
  }
  for (const SharedAddresses::Variable& each : plan.shared.variables)
    text += "the address of " + each.name + " is stored\n";
  return text;
}

}  // namespace lynxpp::ptx
