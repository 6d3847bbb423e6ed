#include "ptx/passes/counting/plan_text.h"

#include <map>
#include <utility>

namespace lynxpp::ptx {
namespace {

std::string counted(std::uint32_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class PlanText {
 public:
  PlanText(const CountPlan& plan, const ReachedFunctions& reached) : plan_(plan), reached_(reached) {
    names_[plan.launched_threads] = "launched threads";
    names_[plan.launched_warps] = "launched warps";
    for (const FunctionCounters& function : plan.functions) {
      for (const Counter& each : function.counters)
        names_[each.variable] = "slot " + std::to_string(each.slot);
    }
  }

  std::string run() {
    for (const FunctionCounters& counters : plan_.functions) add_function(counters);
    for (const auto& [quantity, variable] : plan_.quantities)
      text_ += quantity_text(quantity) + " = " + form_text(variable) + "\n";
    return std::move(text_);
  }

 private:
  // ---- device side

  void add_function(const FunctionCounters& counters) {
    function_ = &reached_.functions[counters.unit];
    text_ += (counters.unit == 0 ? "kernel " : "function ") + function_->function->name + ": " +
             counted(counters.registers, "register") + ", " + counted(counters.bits, "bit") + "\n";
    for (std::size_t i = 0; i < counters.lane_maxima.size(); ++i) {
      const LaneMaximum& maximum = counters.lane_maxima[i];
      text_ += "  m" + std::to_string(i) + "  " + counter_text(maximum.lanes) + "; minus its value " +
               point_text(maximum.begin) + ", at the start of block " + std::to_string(maximum.end) + "\n";
    }
    for (const Counter& counter : counters.counters)
      text_ += "  slot " + std::to_string(counter.slot) + "  " + counter_text(counter) + "\n";
  }

  std::string counter_text(const Counter& counter) const {
    std::string text = storage_text(counter) + ", " + kind_text(counter.kind);
    const char* separator = ": ";
    for (const Increment& increment : counter.increments)
      text += std::exchange(separator, "; ") + increment_text(increment);
    return text;
  }

  static std::string storage_text(const Counter& counter) {
    const std::string index = std::to_string(counter.index);
    switch (counter.storage) {
      case Counter::Storage::memory: return "memory";
      case Counter::Storage::reg: return "register " + index;
      case Counter::Storage::bit: break;
    }
    return "bit " + index;
  }

  static const char* kind_text(CounterKind kind) {
    switch (kind) {
      case CounterKind::threads: return "every lane";
      case CounterKind::elected: return "one lane";
      case CounterKind::converged: break;
    }
    return "lane 0";
  }

  std::string increment_text(const Increment& increment) const {
    const std::string at = " " + point_text(increment.point) + condition_text(increment);
    const std::string index = std::to_string(increment.index);
    switch (increment.amount) {
      case Increment::Amount::one: return "one" + at;
      case Increment::Amount::surplus: return "surplus bytes" + at;
      case Increment::Amount::lane_maximum: break;
    }
    return "the maximum of m" + index + at;
  }

  std::string point_text(const ProgramPoint& point) const {
    const std::string block = "block " + std::to_string(point.block);
    switch (point.kind) {
      case ProgramPoint::Kind::entry: return "at the entry";
      case ProgramPoint::Kind::block_start: return "at the start of " + block;
      case ProgramPoint::Kind::block_end: return "at the end of " + block;
      case ProgramPoint::Kind::before: return "before line " + line_of(point.instruction);
      case ProgramPoint::Kind::after: break;
    }
    return "after line " + line_of(point.instruction);
  }

  std::string condition_text(const Increment& increment) const {
    const std::string target = "block " + std::to_string(increment.condition.target);
    switch (increment.condition.kind) {
      case Condition::Kind::always: return "";
      case Condition::Kind::guard: return " where its guard holds";
      case Condition::Kind::switch_target: return " where it branches to " + target;
      case Condition::Kind::none_takes: return " if no lane branches to " + target;
      case Condition::Kind::takes: return " where a lane takes part";
      case Condition::Kind::diverges: break;
    }
    return " if the warp diverges";
  }

  std::string line_of(std::uint32_t instruction) const {
    return std::to_string(function_->function->body->instructions[instruction].line);
  }

  // ---- host side

  std::string quantity_text(const Quantity& quantity) {
    const std::string id = std::to_string(quantity.id);
    switch (quantity.kind) {
      case Quantity::Kind::thread_block: return "threads at block " + id;
      case Quantity::Kind::warp_block: return "warps at block " + id;
      case Quantity::Kind::thread_guard: return "threads for which the guard of instruction " + id + " holds";
      case Quantity::Kind::warp_guard: return "warps in which the guard of instruction " + id + " holds";
      case Quantity::Kind::divergence: return "warps that diverge at instruction " + id;
      case Quantity::Kind::thread_taking: return "threads that take part in instruction " + id;
      case Quantity::Kind::warp_taking: return "warps that take part in instruction " + id;
      case Quantity::Kind::thread_surplus: return "surplus bytes of instruction " + id;
      case Quantity::Kind::warp_surplus: return "surplus bytes of the first lanes at instruction " + id;
      case Quantity::Kind::tally: break;
    }
    const Tally& tally = quantity.tally;
    return "tally " + std::to_string(tally.number) + (tally.is_high ? " (wraps)" : "") + " at instruction " +
           std::to_string(tally.instruction);
  }

  /// Returns the variable as a sum of measured variables.
  const std::map<VariableId, std::uint64_t>& expanded(VariableId variable) {
    const auto known = expanded_.find(variable);
    if (known != expanded_.end()) return known->second;
    std::map<VariableId, std::uint64_t> sum;
    if (plan_.system.is_measured(variable)) {
      sum[variable] = 1;
    } else {
      for (const LinearTerm& term : plan_.system.definition(variable)) {
        for (const auto& [measured, factor] : expanded(term.variable)) sum[measured] += term.factor * factor;
      }
    }
    std::erase_if(sum, [](const auto& each) { return each.second == 0; });
    return expanded_.emplace(variable, std::move(sum)).first->second;
  }

  std::string form_text(VariableId variable) {
    std::string text;
    for (const auto& [measured, factor] : expanded(variable)) {
      const auto name = names_.find(measured);
      const bool is_negative = static_cast<std::int64_t>(factor) < 0;
      const std::uint64_t amount = is_negative ? 0 - factor : factor;
      text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
      text += (amount == 1 ? "" : std::to_string(amount) + " * ") +
              (name == names_.end() ? "unused " + std::to_string(measured) : name->second);
    }
    return text.empty() ? "0" : text;
  }

  const CountPlan& plan_;
  const ReachedFunctions& reached_;
  const FunctionUnit* function_ = nullptr;
  std::map<VariableId, std::string> names_;  ///< of measured variables
  std::map<VariableId, std::map<VariableId, std::uint64_t>> expanded_;
  std::string text_;
};

}  // namespace

std::string count_plan_text(const CountPlan& plan, const ReachedFunctions& reached) {
  return PlanText(plan, reached).run();
}

}  // namespace lynxpp::ptx
