#include "ptx/passes/probes/tallies.h"

#include <algorithm>
#include <charconv>

#include "ptx/emitter/code_printer.h"
#include "ptx/passes/counting/emit/text.h"
#include "support/text.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view high_prefix = "tally_high_";
constexpr std::string_view prefix = "tally_";

CountText count_text(const InstrumentationUnit& unit, bool is_kernel, std::uint32_t& next_label) {
  const CountPlan& plan = *unit.counting;
  return CountText(
      {plan.is_wide, unit.target.sm >= 80, is_kernel, unit.counter_word, plan.replicas, plan.stride},
      next_label);
}

}  // namespace

Code code_of_lines(std::string_view text) {
  Code code;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const bool is_instruction = line.ends_with(';') && !line.starts_with('.');
    code.statements.emplace_back(CodeText{std::string(line), is_instruction ? 1u : 0u});
  }
  return code;
}

CodeOperand Tallies::reg(const Counter& counter) { return Name{CountText::name(counter.reg)}; }

const Counter* Tallies::find(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const {
  if (unit_.counting == nullptr || site.instruction == nullptr) return nullptr;
  const auto& instructions = function_.function->body->instructions;
  const auto index = static_cast<std::uint32_t>(site.instruction - instructions.data());
  const Tally tally{static_cast<std::uint32_t>(&probe - unit_.probes.data()), number, is_high,
                    function_.first_instruction + index};
  const auto found = unit_.counting->tallies.find(tally);
  return found == unit_.counting->tallies.end() ? nullptr : &found->second;
}

std::vector<SiteTally> Tallies::at(const Probe& probe, const Site& site) const {
  std::vector<SiteTally> tallies;
  for (const std::string& name : probe.routine.site_values()) {
    if (!name.starts_with(prefix)) continue;
    const bool is_high = name.starts_with(high_prefix);
    const std::string_view digits = std::string_view(name).substr((is_high ? high_prefix : prefix).size());
    std::uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    tallies.push_back({name, find(probe, number, is_high, site)});
  }
  return tallies;
}

const Counter* Tallies::exception_at(const Probe& probe, const Site& site) const {
  if (site.instruction == nullptr || unit_.counting == nullptr) return nullptr;
  const auto number = static_cast<std::uint32_t>(&probe - unit_.probes.data());
  const auto& instructions = function_.function->body->instructions;
  const std::uint32_t id =
      function_.first_instruction + static_cast<std::uint32_t>(site.instruction - instructions.data());
  const auto found = std::ranges::find_if(unit_.counting->tallies, [&](const auto& each) {
    return each.first.is_exception && each.first.probe == number && each.first.instruction == id;
  });
  return found == unit_.counting->tallies.end() ? nullptr : &found->second;
}

void Tallies::add_one(const Counter& counter, VirtualRegister predicate, CodeBuilder& code) const {
  if (counter.is_bit) return add_mark(counter, predicate, code);
  code.emit_if(CodePredicate(predicate), unit_.counting->is_wide ? "add.u64" : "add.u32",
               {reg(counter), reg(counter), 1});
}

void Tallies::add_mark(const Counter& mark, VirtualRegister predicate, CodeBuilder& code) const {
  CountText counts = count_text(unit_, function_.function->is_entry, next_label_);
  code.append(code_of_lines(counts.set_mark(mark, print(predicate))));
}

void Tallies::add_bit(const Counter& counter, VirtualRegister raised, CodeBuilder& code) {
  code.append(code_of_lines(CountText::raise_bit(counter, print(raised))));
}

void Tallies::add_flushes(const Probe& probe, const Site& site, CodeBuilder& code) const {
  for (const std::uint32_t number : probe.tallies) {
    for (const bool is_high : {false, true}) {
      const Counter* counter = find(probe, number, is_high, site);
      if (counter == nullptr || counter->storage != Counter::Storage::memory) continue;
      Counter given = *counter;
      given.storage = Counter::Storage::summed;
      CountText counts = count_text(unit_, function_.function->is_entry, next_label_);
      if (probe.measures_banks) {
        code.append(code_of_lines(counts.give(given)));
        continue;
      }
      // Mostly there is nothing to give.
      const Label done = code.fresh_label();
      const VirtualRegister is_none = code.compute(
          RegisterType::pred, unit_.counting->is_wide ? "setp.eq.u64" : "setp.eq.u32", {reg(given), 0});
      code.branch_if(CodePredicate(is_none), done);
      code.append(code_of_lines(counts.flush({&given}, {}) + counts.zero(given.reg)));
      code.place(done);
    }
  }
}

void Tallies::add_flush(const InstrumentationUnit& unit, const Counter& counter, VirtualRegister value,
                        VirtualRegister slots, std::uint32_t& next_label, CodeBuilder& code) {
  const CountPlan& plan = *unit.counting;
  Counter given = counter;
  given.storage = Counter::Storage::summed;
  given.slot = 0;
  CountText counts({plan.is_wide, unit.target.sm >= 80, true, 0, plan.replicas, plan.stride, print(slots)},
                   next_label);
  code.open_scope();
  code.add_text(std::string(".reg ") + (plan.is_wide ? ".b64 " : ".b32 ") + CountText::name(given.reg) + ";");
  code.emit(plan.is_wide ? "mov.b64" : "mov.b32", {reg(given), value});
  code.append(code_of_lines(counts.flush({&given}, {})));
  code.close_scope();
}

}  // namespace lynxpp::ptx
