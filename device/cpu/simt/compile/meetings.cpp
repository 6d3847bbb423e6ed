// Plans the second form of segments that contain `.sync` operations.
#include <algorithm>
#include <set>
#include <utility>

#include "device/cpu/simt/compile/program.h"

namespace lynxpp::device::cpu {
namespace {

/// Registers that hold the mask of the converged lanes: the result of `activemask` until lanes may diverge.
class CurrentMasks {
 public:
  explicit CurrentMasks(const ptx::Body& body) : body_(body) {}

  bool holds(const ptx::Operand& operand, const ptx::Instruction& instruction) const {
    return operand.kind == ptx::OperandKind::identifier && registers_.contains(key(operand, instruction));
  }
  void clear() { registers_.clear(); }

  /// Updates the set for the instruction's destinations: they hold a current mask or no longer do.
  void follow(const ptx::Instruction& instruction) {
    const auto& operands = instruction.operands;
    const bool is_active_mask = instruction.op() == ptx::Op::activemask && !operands.empty();
    const bool is_copy = instruction.op() == ptx::Op::mov && ptx::size_of(instruction.traits.type) == 4 &&
                         operands.size() == 2 && holds(operands[1], instruction);
    for (std::size_t i = 0; i < std::min<std::size_t>(instruction.traits.destinations, operands.size()); ++i)
      forget(operands[i], instruction);
    if ((is_active_mask || is_copy) && !instruction.guarded())
      registers_.insert(key(operands[0], instruction));
  }

 private:
  using Key = std::pair<std::string_view, std::uint32_t>;

  Key key(const ptx::Operand& operand, const ptx::Instruction& instruction) const {
    return {operand.name, body_.statements[instruction.statement].scope};
  }
  void forget(const ptx::Operand& operand, const ptx::Instruction& instruction) {
    registers_.erase(key(operand, instruction));
    for (const ptx::Operand& element : operand.elements) forget(element, instruction);
  }

  const ptx::Body& body_;
  std::set<Key> registers_;
};

/// Returns the instructions of the segment whose members may have diverged.
std::vector<std::uint32_t> find_meetings(const ptx::Body& body, const Segment& segment) {
  std::vector<std::uint32_t> meetings;
  CurrentMasks current(body);
  for (std::uint32_t i = segment.begin; i < segment.end; ++i) {
    const ptx::Instruction& instruction = body.instructions[i];
    const std::optional<std::size_t> members = members_operand(instruction);
    if (members && !current.holds(instruction.operands[*members], instruction)) {
      meetings.push_back(i);
      current.clear();
    }
    current.follow(instruction);
  }
  return meetings;
}

}  // namespace

std::optional<std::size_t> members_operand(const ptx::Instruction& instruction) {
  using enum ptx::Op;
  static constexpr std::pair<ptx::Op, std::size_t> operations[] = {{shfl, 4},  {vote, 2},  {match, 2},
                                                                   {redux, 2}, {elect, 1}, {bar, 0}};
  if (!instruction.has(ptx::Modifier::sync)) return std::nullopt;
  for (const auto& [op, operand] : operations) {
    const bool is_of_warp = op != bar || instruction.has(ptx::Modifier::warp);
    if (instruction.op() == op && is_of_warp && operand < instruction.operands.size()) return operand;
  }
  return std::nullopt;
}

void plan_meetings(CompiledFunction& function) {
  const ptx::Body& body = *function.function->body;
  std::vector<Segment>& segments = function.segments;
  const std::size_t unsplit = segments.size();
  for (std::size_t index = 0; index < unsplit; ++index) {
    const std::vector<std::uint32_t> meetings = find_meetings(body, segments[index]);
    if (meetings.empty()) continue;
    segments[index].split_form = static_cast<std::uint32_t>(segments.size());
    segments[index].always_split = std::ranges::any_of(
        meetings, [&](std::uint32_t meeting) { return body.instructions[meeting].guarded(); });
    Segment rest = segments[index];
    rest.split_form = no_segment;
    const auto cut = [&](std::uint32_t end, Control control) -> Segment& {
      Segment piece = rest;
      piece.end = end;
      piece.control = control;
      piece.line = body.instructions[end - (control == Control::meeting ? 0 : 1)].line;
      piece.target = no_segment;
      piece.targets.clear();
      piece.next = static_cast<std::uint32_t>(segments.size() + 1);
      rest.begin = end;
      rest.starts_block = false;
      rest.resumed_from.reset();
      return segments.emplace_back(std::move(piece));
    };
    for (const std::uint32_t meeting : meetings) {
      cut(meeting, Control::meeting);
      cut(meeting + 1, Control::next).is_meeting = true;
    }
    segments.push_back(std::move(rest));
  }
}

}  // namespace lynxpp::device::cpu
