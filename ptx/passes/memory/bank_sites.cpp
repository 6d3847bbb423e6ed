#include "ptx/passes/memory/bank_sites.h"

#include <tuple>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

/// Sites with equal ones add the same.
struct BankKey {
  LanePattern pattern;
  std::uint32_t block = 0;
  std::uint32_t bytes = 0;
  bool is_atomic = false;
  bool is_load = false;  ///< of more than a word
  auto operator<=>(const BankKey&) const = default;
};

class BankSitesOfFunction {
 public:
  BankSitesOfFunction(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t probe)
      : unit_(unit),
        function_(function),
        analyses_(*function.analyses),
        number_(probe),
        probe_(unit.spliced.probes[probe]) {}

  void run() {
    const auto& instructions = function_.function->body->instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      if (probe_.matches(instructions[i])) add(i, instructions[i]);
    }
  }

 private:
  void add(std::uint32_t index, const Instruction& instruction) {
    const std::optional<MemoryAccess> access = probe_.access_at(instruction);
    if (!access || access->address == nullptr) return;
    const std::optional<LanePattern> pattern = analyses_.lane_patterns().of_address(index, *access->address);
    if (!pattern) return;
    const bool is_atomic = instruction.traits.kind == OpcodeClass::atomic;
    const std::uint32_t id = function_.first_instruction + index;
    if (pattern->terms.empty() && !is_atomic && access->bytes <= word_bytes) {
      unit_.memory.at(number_, id).measured_at.reset();
      return;
    }
    // Of parts of words it matters where in its word the first lane's lies.
    const bool is_whole = access->bytes == 4 || access->bytes == 8 || access->bytes == 16;
    if (!is_whole || instruction.guarded()) return;
    // Loads and stores of a word cost the same.
    const bool is_load = access->bytes > word_bytes && instruction.traits.reads_memory;
    const BankKey key{*pattern, function_.graph().block_of[index], access->bytes, is_atomic, is_load};
    const auto [first, is_new] = first_.try_emplace(key, id);
    if (!is_new) unit_.memory.at(number_, id).measured_at = first->second;
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  FunctionAnalyses& analyses_;
  const std::uint32_t number_;
  const Probe& probe_;
  std::map<BankKey, std::uint32_t> first_;
};

}  // namespace

void find_bank_sites(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t probe) {
  BankSitesOfFunction(unit, function, probe).run();
}

}  // namespace lynxpp::ptx
