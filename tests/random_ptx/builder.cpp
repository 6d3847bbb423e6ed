#include "builder.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace lynxpp::random_ptx {
namespace {

const char* ptx_type(char type) {
  switch (type) {
    case 'p': return ".pred";
    case 'h':
    case 'x': return ".b16";
    case 'd': return ".b64";
    case 'f': return ".f32";
    case 'g': return ".f64";
    default: return ".b32";
  }
}

Word mask_of(char type) {
  switch (type) {
    case 'p': return 1;
    case 'h':
    case 'x': return 0xffff;
    case 'd':
    case 'g': return ~Word{0};
    default: return 0xffffffff;
  }
}

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made;
    for (auto part : {integer_operations(), bit_operations(), float_operations(), predicate_operations()})
      made.insert(made.end(), part.begin(), part.end());
    return made;
  }();
  return all;
}

const std::vector<Operation>& all_carry_operations() {
  static const std::vector<Operation> all = carry_operations();
  return all;
}

}  // namespace

// ---------------------------------------------------------------- registers

Register Builder::declare(char type, const std::string& name) {
  Register made{type, registers_++, name};
  pools_[type].push_back(made);
  return made;
}

void Builder::begin(std::span<const std::pair<char, std::size_t>> sizes) {
  for (const auto& [type, count] : sizes) {
    declarations_ +=
        std::string(".reg ") + ptx_type(type) + " %" + type + "<" + std::to_string(count) + ">;\n";
    for (std::size_t i = 0; i < count; ++i) declare(type, "%" + std::string(1, type) + std::to_string(i));
  }
}

/// Returns a register of the function that is in no pool: nothing else writes it.
Register Builder::control_register(char type) {
  const std::string name = "%c" + std::to_string(controls_++);
  declarations_ += std::string(".reg ") + ptx_type(type) + " " + name + ";\n";
  return {type, registers_++, name};
}

Register Builder::pick(char type) {
  const std::vector<Register>& pool = pools_.at(type);
  return pool[random_.below(pool.size())];
}

Statement& Builder::append(Statement statement) { return into_->emplace_back(std::move(statement)); }

std::optional<Guard> Builder::maybe_guard(std::uint32_t in) {
  if (!random_.chance(in)) return std::nullopt;
  return Guard{pick('p'), random_.chance(2)};
}

std::string Builder::text_of(const std::optional<Guard>& guard) {
  return guard ? (guard->negated ? "@!" : "@") + guard->predicate.name + " " : "";
}

// ---------------------------------------------------------------- straight-line code

void Builder::add_operation(const Operation& operation, bool may_be_guarded) {
  std::vector<Register> operands;
  for (const char type : operation.destinations) {
    Register reg = pick(type);
    // Two results of one instruction need two registers.
    while (std::ranges::any_of(operands, [&](const Register& other) { return other.index == reg.index; }))
      reg = pick(type);
    operands.push_back(reg);
  }
  const std::size_t destinations = operands.size();
  for (const char type : operation.sources) operands.push_back(pick(type));
  std::optional<Word> immediate;
  if (operation.takes_immediate && random_.chance(4)) {
    static constexpr Word values[] = {0, 1, 2, 3, 7, 31, 100, 0x7fff, 4095};
    immediate = values[random_.below(std::size(values))];
  }
  Statement statement;
  if (may_be_guarded && operation.may_be_guarded()) statement.guard = maybe_guard(5);
  statement.lane = [=, apply = operation.apply](Thread& thread) {
    Word in[8] = {};
    Word out[8] = {};
    for (std::size_t i = destinations; i < operands.size(); ++i)
      in[i - destinations] = thread.registers[operands[i].index];
    if (immediate) in[operands.size() - destinations - 1] = *immediate;
    apply(in, out, thread.carry);
    for (std::size_t i = 0; i < destinations; ++i)
      thread.registers[operands[i].index] = out[i] & mask_of(operands[i].type);
  };
  text_ += text_of(statement.guard);
  for (std::size_t i = 0; i < operation.text.size(); ++i) {
    const char c = operation.text[i];
    if (c != '$') {
      text_ += c;
      continue;
    }
    const auto number = static_cast<std::size_t>(operation.text[++i] - '0');
    text_ += immediate && number + 1 == operands.size() ? std::to_string(*immediate) : operands[number].name;
  }
  text_ += '\n';
  append(std::move(statement));
}

void Builder::add_random_operation() {
  const std::vector<Operation>& all = all_operations();
  add_operation(all[random_.below(all.size())], true);
}

/// Adds instructions that propagate the carry flag, interleaved with others.
void Builder::add_chain() {
  const std::vector<Operation>& all = all_carry_operations();
  const auto pick_operation = [&](bool reads) -> const Operation& {
    while (true) {
      const Operation& each = all[random_.below(all.size())];
      if (each.reads_carry == reads) return each;
    }
  };
  add_operation(pick_operation(false), false);
  const std::uint32_t length = 1 + random_.below(5);
  for (std::uint32_t i = 0; i < length; ++i) {
    if (random_.chance(4)) add_random_operation();
    add_operation(pick_operation(true), true);
  }
}

// ---------------------------------------------------------------- control flow

std::shared_ptr<Statements> Builder::nested(std::uint32_t count, int depth) {
  auto made = std::make_shared<Statements>();
  Statements* const outer = std::exchange(into_, made.get());
  statements(count, depth);
  into_ = outer;
  return made;
}

void Builder::add_branch(int depth) {
  Statement branch;
  branch.kind = Statement::Kind::branch;
  branch.guard = Guard{pick('p'), random_.chance(2)};
  // Equal labels in sibling and nested scopes.
  const bool has_scope = random_.chance(2);
  const std::string number = has_scope ? "" : std::to_string(labels_++);
  const std::string other = "other" + number;
  const std::string join = "join" + number;
  const std::optional<Mask> together = std::exchange(together_, std::nullopt);
  if (has_scope) text_ += "{\n";
  const Guard opposite{branch.guard->predicate, !branch.guard->negated};
  text_ += text_of(opposite) + "bra " + other + ";\n";
  branch.body = nested(1 + random_.below(4), depth + 1);
  text_ += "bra " + join + ";\n" + other + ":\n";
  branch.other = nested(random_.below(4), depth + 1);
  text_ += join + ":\n";
  if (has_scope) text_ += "}\n";
  together_ = together;
  append(std::move(branch));
}

/// Branches by lane index: the lanes of both sides are known, and may exchange values there.
void Builder::add_lane_branch(int depth) {
  const Mask taken = random_.chance(2) ? (Mask{1} << (1 + random_.below(30))) - 1 : random_.next() | 1;
  const Register predicate = control_register('p');
  Statement set;
  set.lane = [=](Thread& thread) {
    thread.registers[predicate.index] = taken >> thread.number % lanes_of_warp & 1;
  };
  text_ += "{ .reg .b32 %z; mov.u32 %z, %laneid; shr.u32 %z, " + std::to_string(taken) +
           ", %z; and.b32 %z, %z, 1; setp.ne.u32 " + predicate.name + ", %z, 0; }\n";
  append(std::move(set));
  Statement branch;
  branch.kind = Statement::Kind::branch;
  branch.guard = Guard{predicate, false};
  const std::optional<Mask> together = together_;
  const std::string number = std::to_string(labels_++);
  const auto side = [&](Mask lanes) {
    together_ = together && (*together & lanes) != 0 ? std::optional(*together & lanes) : std::nullopt;
    return nested(1 + random_.below(3), depth + 1);
  };
  text_ += "@!" + predicate.name + " bra other" + number + ";\n";
  branch.body = side(taken);
  text_ += "bra join" + number + ";\nother" + number + ":\n";
  branch.other = side(~taken);
  text_ += "join" + number + ":\n";
  together_ = together;
  append(std::move(branch));
}

void Builder::add_loop(int depth) {
  Statement loop;
  loop.kind = Statement::Kind::loop;
  loop.counter = control_register('r');
  loop.trips = control_register('r');
  const Register again = control_register('p');
  const Register from = pick('r');
  const bool varies = random_.chance(2);
  const std::uint32_t most = depth == 0 ? trips_ : 3;
  Statement begin;
  begin.lane = [=, counter = loop.counter, trips = loop.trips](Thread& thread) {
    const Word value = thread.registers[from.index] & 0xffffffffu;
    thread.registers[counter.index] = 0;
    thread.registers[trips.index] = varies ? value % most + 1 : most;
  };
  text_ += "mov.u32 " + loop.counter.name + ", 0;\n";
  if (varies) {
    text_ += "rem.u32 " + loop.trips.name + ", " + from.name + ", " + std::to_string(most) + ";\nadd.u32 " +
             loop.trips.name + ", " + loop.trips.name + ", 1;\n";
  } else {
    text_ += "mov.u32 " + loop.trips.name + ", " + std::to_string(most) + ";\n";
  }
  append(std::move(begin));
  const bool has_scope = random_.chance(2);
  const std::string number = std::to_string(labels_++);
  const std::string label = has_scope ? "again" : "again" + number;
  const std::string leave = std::exchange(leave_label_, "leave" + number);
  const std::optional<Mask> together = together_;
  if (varies) together_.reset();
  // If lanes may leave the loop, the remaining ones are unknown.
  const bool has_leave = random_.chance(3);
  if (has_leave) together_.reset();
  text_ += (has_scope ? "{ " : "") + label + ":\n";
  auto body = nested(1 + random_.below(3), depth + 1);
  if (has_leave) {
    Statement leaves;
    leaves.kind = Statement::Kind::leave;
    leaves.guard = Guard{pick('p'), random_.chance(2)};
    text_ += text_of(leaves.guard) + "bra leave" + number + ";\n";
    body->push_back(std::move(leaves));
    auto rest = nested(1 + random_.below(2), depth + 1);
    body->insert(body->end(), rest->begin(), rest->end());
  }
  loop.body = std::move(body);
  text_ += "add.u32 " + loop.counter.name + ", " + loop.counter.name + ", 1;\nsetp.lt.u32 " + again.name +
           ", " + loop.counter.name + ", " + loop.trips.name + ";\n@" + again.name + " bra " + label + ";\n" +
           (has_scope ? "}\n" : "") + "leave" + number + ":\n";
  leave_label_ = leave;
  together_ = together;
  append(std::move(loop));
}

/// Registers of an inner scope hide those of the same name.
void Builder::add_scope(int depth) {
  const Pools outer = pools_;
  text_ += "{\n";
  Statement scope;
  scope.kind = Statement::Kind::sequence;
  auto body = std::make_shared<Statements>();
  Statements* const around = std::exchange(into_, body.get());
  for (const char type : {'r', 'd', 'h', 'p'}) {
    if (random_.chance(3)) continue;
    std::vector<Register>& pool = pools_[type];
    const std::size_t hidden = random_.below(pool.size());
    const Register source = pool[(hidden + 1) % pool.size()];
    const Register made{type, registers_++, pool[hidden].name};
    const std::string width = type == 'p' ? "pred" : std::string(ptx_type(type)).substr(1);
    text_ += std::string(".reg ") + ptx_type(type) + " " + made.name + ";\nmov." + width + " " + made.name +
             ", " + source.name + ";\n";
    pool[hidden] = made;
    Statement copy;
    copy.lane = [=](Thread& thread) { thread.registers[made.index] = thread.registers[source.index]; };
    append(std::move(copy));
  }
  statements(2 + random_.below(4), depth + 1);
  into_ = around;
  scope.body = std::move(body);
  pools_ = outer;
  text_ += "}\n";
  append(std::move(scope));
}

void Builder::statements(std::uint32_t count, int depth) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t choice = random_.below(20);
    if (choice < 3) {
      add_chain();
    } else if (choice == 3 && depth < 3) {
      add_branch(depth);
    } else if (choice == 4 && depth < 2) {
      add_loop(depth);
    } else if (choice == 5 && depth < 3) {
      add_scope(depth);
    } else if (choice > 10 || !is_kernel_ || !add_kernel_statement(depth)) {
      add_random_operation();
    }
  }
}

void Builder::zero_all(const std::vector<Register>& except) {
  for (const auto& [type, pool] : pools_) {
    for (const Register& each : pool) {
      if (std::ranges::any_of(except, [&](const Register& other) { return other.index == each.index; }))
        continue;
      const std::string width = std::string(ptx_type(type)).substr(1);
      text_ += type == 'p'   ? "setp.ne.u32 " + each.name + ", 0, 0;\n"
               : type == 'f' ? "mov.f32 " + each.name + ", 0f00000000;\n"
               : type == 'g' ? "mov.f64 " + each.name + ", 0d0000000000000000;\n"
                             : "mov." + width + " " + each.name + ", 0;\n";
    }
  }
}

}  // namespace lynxpp::random_ptx
