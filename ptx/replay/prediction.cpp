#include "ptx/replay/prediction.h"

#include <deque>
#include <optional>
#include <utility>

namespace lynxpp::ptx {
namespace {

/// Abstract contents of a register.
enum class Holds : std::uint8_t {
  unknown,
  number,
  shared_pointer,  ///< the generic address of shared memory, known to replay as an address in its own space
};

/// Computes the contents of registers at each block's entry, and the blocks that threads may enter on a path
/// that replay does not take.
class Prediction {
 public:
  Prediction(ReplayProgram& program, const std::vector<std::vector<std::uint32_t>>& successors,
             bool may_exit_in_calls)
      : program_(program),
        successors_(successors),
        may_exit_in_calls_(may_exit_in_calls),
        entry_(program.blocks.size()),
        is_skipped_(program.blocks.size(), false) {}

  void solve() {
    enter(program_.entry, Known(program_.registers, Holds::unknown));
    while (!waiting_.empty()) {
      const std::uint32_t block = waiting_.front();
      waiting_.pop_front();
      run(block, nullptr);
    }
    program_.is_predictable.assign(program_.operations.size(), false);
    for (std::uint32_t block = 0; block < program_.blocks.size(); ++block) {
      if (entry_[block] && !is_skipped_[block]) run(block, &program_.is_predictable);
    }
  }

 private:
  using Known = std::vector<Holds>;
  using Kind = ReplayOperand::Kind;

  void enter(std::uint32_t block, const Known& known) {
    std::optional<Known>& entry = entry_[block];
    bool changed = !entry;
    if (!entry) entry = known;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if ((*entry)[i] == known[i] || (*entry)[i] == Holds::unknown) continue;
      (*entry)[i] = Holds::unknown;
      changed = true;
    }
    if (changed) waiting_.push_back(block);
  }

  static Holds held(const ReplayOperand& operand, const Known& known) {
    if (operand.kind == Kind::reg) return known[operand.index];
    return operand.kind == Kind::none ? Holds::unknown : Holds::number;
  }

  static Holds result_of(const ReplayOperation& operation, const Known& known) {
    if (operation.kind == ReplayKind::unknown || operation.kind == ReplayKind::call) return Holds::unknown;
    if (operation.kind == ReplayKind::load_parameter) return Holds::number;
    bool are_numbers = true;
    Holds of[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      const bool is_used = operation.source[i].kind != Kind::none;
      of[i] = is_used ? held(operation.source[i], known) : Holds::number;
      if (of[i] == Holds::unknown) return Holds::unknown;
      are_numbers &= of[i] == Holds::number;
    }
    if (operation.kind == ReplayKind::shared_of_generic)
      return of[0] == Holds::shared_pointer ? Holds::number : Holds::unknown;
    if (operation.kind == ReplayKind::generic_of_shared)
      return are_numbers ? Holds::shared_pointer : Holds::unknown;
    return are_numbers ? Holds::number : result_of_pointers(operation.kind, of);
  }

  /// The base of the shared memory window is known only to the device; values derived from it are unknown.
  static Holds result_of_pointers(ReplayKind kind, const Holds (&of)[3]) {
    switch (kind) {
      case ReplayKind::move: return Holds::shared_pointer;
      case ReplayKind::add: return of[0] == of[1] ? Holds::unknown : Holds::shared_pointer;
      case ReplayKind::subtract:
        if (of[0] == of[1]) return Holds::number;
        return of[0] == Holds::shared_pointer ? Holds::shared_pointer : Holds::unknown;
      case ReplayKind::select: return of[0] == of[1] && of[2] == Holds::number ? of[0] : Holds::unknown;
      case ReplayKind::compare:
        return of[0] == of[1] && of[2] == Holds::number ? Holds::number : Holds::unknown;
      default: return Holds::unknown;
    }
  }

  /// True if an access's base and size are known; records the memory it refers to.
  static bool leads_to_known(ReplayOperation& access, const Known& known) {
    const ReplayOperand& size = access.source[2];
    if (size.kind != Kind::none && held(size, known) != Holds::number) return false;
    const Holds base = held(access.source[0], known);
    const bool is_generic = access.space == StateSpace::generic;
    access.is_shared = is_generic ? base == Holds::shared_pointer : access.space == StateSpace::shared;
    return base == Holds::number || (is_generic && base == Holds::shared_pointer);
  }

  /// Processes a block; if `predictable` is given, marks predictable accesses in it instead of continuing
  /// with the successors.
  void run(std::uint32_t index, std::vector<bool>* predictable) {
    Known known = *entry_[index];
    const ReplayBlock& block = program_.blocks[index];
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      ReplayOperation& operation = program_.operations[i];
      const bool is_guarded = operation.guard != no_register;
      const bool guard_known = !is_guarded || known[operation.guard] == Holds::number;
      const bool is_access = operation.kind == ReplayKind::access;
      if (is_access && predictable != nullptr)
        (*predictable)[i] = guard_known && leads_to_known(operation, known);
      const bool leaves = operation.kind == ReplayKind::branch || operation.kind == ReplayKind::exit;
      const bool may_end = operation.kind == ReplayKind::call && may_exit_in_calls_;
      const bool has_target = operation.kind != ReplayKind::branch || block.target != no_block;
      if ((leaves && (!guard_known || !has_target)) || may_end) {
        if (predictable == nullptr) skip(index, std::move(known), may_end);
        return;
      }
      if (is_access || leaves) continue;
      const Holds result = guard_known ? result_of(operation, known) : Holds::unknown;
      for (const RegisterId each : operation.destinations)
        known[each] = !is_guarded || known[each] == result ? result : Holds::unknown;
    }
    if (predictable != nullptr) return;
    const bool has_end = block.begin != block.end;
    const ReplayOperation* last = has_end ? &program_.operations[block.end - 1] : nullptr;
    const bool ends = last != nullptr && (last->kind == ReplayKind::branch || last->kind == ReplayKind::exit);
    if (ends && last->kind == ReplayKind::branch) enter(block.target, known);
    if (block.fall_through != no_block && (!ends || last->guard != no_register))
      enter(block.fall_through, known);
  }

  /// Marks this block as skipped over: replay continues at its post-dominator.
  void skip(std::uint32_t index, Known known, bool to_the_end) {
    ReplayBlock& block = program_.blocks[index];
    block.is_skipped_over = true;
    if (to_the_end) block.post_dominator = no_block;
    std::vector<bool> seen(program_.blocks.size(), false);
    std::vector<std::uint32_t> open(successors_[index]);
    std::vector<bool> written(program_.registers, false);
    while (!open.empty()) {
      const std::uint32_t each = open.back();
      open.pop_back();
      if (each == block.post_dominator || seen[each]) continue;
      seen[each] = true;
      is_skipped_[each] = true;
      for (std::uint32_t at = program_.blocks[each].begin; at < program_.blocks[each].end; ++at) {
        for (const RegisterId reg : program_.operations[at].destinations) written[reg] = true;
      }
      open.insert(open.end(), successors_[each].begin(), successors_[each].end());
    }
    block.written.clear();
    for (RegisterId each = 0; each < program_.registers; ++each) {
      if (!written[each]) continue;
      block.written.push_back(each);
      known[each] = Holds::unknown;
    }
    if (block.post_dominator != no_block) enter(block.post_dominator, known);
  }

  ReplayProgram& program_;
  const std::vector<std::vector<std::uint32_t>>& successors_;
  const bool may_exit_in_calls_;
  std::vector<std::optional<Known>> entry_;  ///< per block; nullopt: not entered
  std::vector<bool> is_skipped_;
  std::deque<std::uint32_t> waiting_;
};

}  // namespace

void predict_accesses(ReplayProgram& program, const std::vector<std::vector<std::uint32_t>>& successors,
                      bool may_exit_in_calls) {
  Prediction(program, successors, may_exit_in_calls).solve();
}

}  // namespace lynxpp::ptx
