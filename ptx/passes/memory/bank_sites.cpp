#include "ptx/passes/memory/bank_sites.h"

#include <map>

#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

/// Sites with equal keys add equal amounts.
struct BankKey {
  LanePattern pattern;
  std::uint32_t block = 0;
  std::uint32_t bytes = 0;
  std::uint64_t kind = 0;
  auto operator<=>(const BankKey&) const = default;
};

}  // namespace

std::uint64_t bank_kind(const MemoryAccess& access) {
  const std::uint64_t kind = access_kind(access);
  return access.bytes == word_bytes && kind == 1 ? 0 : kind;
}

void find_bank_sites(const FunctionUnit& function, const Probe& probe, std::uint32_t number,
                     MemorySites& memory) {
  const auto& instructions = function.function->body->instructions;
  std::map<BankKey, std::uint32_t> first;  // instruction
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    if (!probe.matches(instruction)) continue;
    const std::optional<MemoryAccess> access = probe.access_at(instruction);
    if (!access || !access->follows_from_lanes() || access->selects_lanes()) continue;
    const std::optional<LanePattern> pattern =
        function.analyses->lane_patterns().of_address(i, *access->address);
    if (!pattern) continue;
    const std::uint64_t kind = bank_kind(*access);
    const std::uint32_t id = function.first_instruction + i;
    if (pattern->terms.empty() && kind != atomic_kind && access->bytes <= word_bytes) {
      memory.at(number, id).measured_at.reset();
      continue;
    }
    // For narrower accesses, the result also depends on the first lane's offset within its 4-byte word.
    if (!is_whole_words(access->bytes) || instruction.guarded()) continue;
    const BankKey key{*pattern, function.graph().block_of[i], access->bytes, kind};
    const auto [known, is_new] = first.try_emplace(key, id);
    if (!is_new) memory.at(number, id).measured_at = known->second;
  }
}

}  // namespace lynxpp::ptx
