#include "ptx/passes/probes/kept_values.h"

#include <vector>

#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

/// Registers of 32 bits that all routines of a function may take: they live as long as the function.
constexpr std::uint32_t most_units = 8;

/// Where the name of the register goes; no name of PTX.
const std::string place = "?";

}  // namespace

void KeptValues::bind(const ProbeRoutine& routine, std::uint32_t block, SiteBinding& binding) {
  if (routine.invariant_bits().empty()) return;
  if (unit_.analyses.of(*function_.function).loops().loop_of(block) == no_loop) return;
  std::vector<std::string> texts(routine.invariant_bits().size());
  std::uint32_t more = 0;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    routine.append_invariant(i, binding, place, texts[i]);
    if (!kept_.contains(texts[i])) more += routine.invariant_bits()[i] / 32;
  }
  if (units_ + more > most_units) return;
  units_ += more;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    const Kept kept{"%lynxpp_invariant_" + std::to_string(kept_.size()), routine.invariant_bits()[i]};
    names.push_back(kept_.try_emplace(texts[i], kept).first->second.name);
  }
  binding.invariant = [names](std::uint32_t index) { return names[index]; };
}

void KeptValues::insert() const {
  if (kept_.empty()) return;
  std::string declarations = "\n", text = "\n";
  for (const auto& [computation, kept] : kept_) {
    declarations += "\t.reg .b" + std::to_string(kept.bits) + " " + kept.name + ";\n";
    const std::size_t at = computation.find(place);
    text += computation.substr(0, at) + kept.name + computation.substr(at + place.size());
  }
  unit_.edits.insert_before(function_.function->body_text.begin + 1, declarations);
  unit_.edits.insert_before(entry_position(*function_.function), text);
}

}  // namespace lynxpp::ptx
