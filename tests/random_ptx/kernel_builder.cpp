// Statements that are valid only in kernels: memory, other lanes and threads, calls; prologue and epilogue.
#include <algorithm>
#include <array>
#include <cstring>

#include "builder.h"
#include "generator.h"
#include "words.h"

namespace lynxpp::random_ptx {
namespace {

struct ElementType {
  const char* name;
  unsigned bytes;
  bool is_signed;
  const char* registers;  ///< types of registers that can hold a value
};
constexpr ElementType element_types[] = {
    {"u8", 1, false, "hrd"}, {"s8", 1, true, "hrd"},  {"b8", 1, false, "hr"},  {"u16", 2, false, "hrd"},
    {"s16", 2, true, "hrd"}, {"b16", 2, false, "hx"}, {"u32", 4, false, "rd"}, {"s32", 4, true, "rd"},
    {"b32", 4, false, "rf"}, {"u64", 8, false, "d"},  {"b64", 8, false, "d"},  {"f32", 4, false, "f"},
};

Word extended(Word value, const ElementType& type, char reg) {
  if (type.is_signed) {
    const unsigned unused = 64 - type.bytes * 8;
    value = static_cast<Word>(static_cast<std::int64_t>(value << unused) >> unused);
  }
  return reg == 'd' ? value : reg == 'h' || reg == 'x' ? value & 0xffff : value & 0xffffffff;
}

/// A location in the thread's own memory.
struct Place {
  Space space = Space::local;
  std::string opcode;   ///< ".shared"
  std::string before;   ///< text that computes an address
  std::string address;  ///< without brackets
  std::string after;
  std::size_t offset = 0;
  std::optional<Register> index;  ///< added after masking with `index_mask`
  Word index_mask = 0;

  std::size_t at(const Thread& thread) const {
    return offset + (index ? thread.registers[index->index] & index_mask : 0);
  }
};

Place random_place(Random& random, std::size_t bytes, const Register& index) {
  Place place;
  place.space = static_cast<Space>(random.below(3));
  static constexpr const char* opcodes[] = {".local", ".shared", ".global"};
  static constexpr const char* bases[] = {"%bl", "%bs", "%bg"};
  static constexpr const char* generic[] = {"%gl", "%gs", "%bg"};
  const auto space = static_cast<std::size_t>(place.space);
  const bool is_generic = random.chance(4);
  place.opcode = is_generic ? "" : opcodes[space];
  const std::string base = is_generic ? generic[space] : bases[space];
  if (random.chance(3)) {
    place.index = index;
    place.index_mask = 63 & ~(bytes - 1);
    place.before = "{ .reg .b64 %z; and.b64 %z, " + index.name + ", " + std::to_string(place.index_mask) +
                   "; add.u64 %z, %z, " + base + "; ";
    place.address = "%z";
    place.after = " }";
    return place;
  }
  place.offset = random.below(private_bytes / bytes) * bytes;
  place.address = base + "+" + std::to_string(place.offset);
  return place;
}

std::string number(std::size_t value) { return std::to_string(value); }

}  // namespace

void Builder::allow_kernel_statements(const std::vector<Function>& functions, bool by_memory) {
  is_kernel_ = true;
  functions_ = &functions;
  by_memory_ = by_memory;
  if (threads_ % lanes_of_warp == 0) together_ = ~Mask{0};
}

// ---------------------------------------------------------------- memory

void Builder::add_load() {
  const ElementType type = element_types[random_.below(std::size(element_types))];
  const char reg = type.registers[random_.below(std::strlen(type.registers))];
  unsigned count = 1u << random_.below(3);
  while (count * type.bytes > 16 ||
         count > 2 + (reg == 'r' || reg == 'd' || reg == 'h' || reg == 'f' ? 2u : 0u))
    count /= 2;
  std::vector<Register> into;
  while (into.size() < count) {
    const Register each = pick(reg);
    if (std::ranges::none_of(into, [&](const Register& other) { return other.index == each.index; }))
      into.push_back(each);
  }
  const Place place = random_place(random_, count * type.bytes, pick('d'));
  std::string list;
  for (const Register& each : into) list += (list.empty() ? "" : ", ") + each.name;
  if (count > 1 || random_.chance(3)) list = "{" + list + "}";
  text_ += place.before + "ld" + place.opcode + (count > 1 ? ".v" + number(count) : "") + "." + type.name +
           " " + list + ", [" + place.address + "];" + place.after + "\n";
  Statement statement;
  statement.lane = [=](Thread& thread) {
    const std::size_t at = place.at(thread);
    for (unsigned i = 0; i < count; ++i) {
      Word value = 0;
      std::memcpy(&value, thread.memory[static_cast<std::size_t>(place.space)].data() + at + i * type.bytes,
                  type.bytes);
      thread.registers[into[i].index] = extended(value, type, reg);
    }
  };
  append(std::move(statement));
}

void Builder::add_store() {
  const ElementType type = element_types[random_.below(std::size(element_types))];
  unsigned count = 1u << random_.below(3);
  while (count * type.bytes > 16) count /= 2;
  // When ptxas 13.0 packs elements of wider registers, it may overwrite a register that is still read (-O2).
  const char reg =
      count > 1 && type.bytes < 4 ? 'h' : type.registers[random_.below(std::strlen(type.registers))];
  std::vector<Register> stored;
  std::string list;
  for (unsigned i = 0; i < count; ++i) {
    stored.push_back(pick(reg));
    list += (list.empty() ? "" : ", ") + stored.back().name;
  }
  if (count > 1 || random_.chance(3)) list = "{" + list + "}";
  const Place place = random_place(random_, count * type.bytes, pick('d'));
  Statement statement;
  if (place.before.empty()) statement.guard = maybe_guard(4);
  text_ += text_of(statement.guard) + place.before + "st" + place.opcode +
           (count > 1 ? ".v" + number(count) : "") + "." + type.name + " [" + place.address + "], " + list +
           ";" + place.after + "\n";
  statement.lane = [=](Thread& thread) {
    const std::size_t at = place.at(thread);
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(thread.memory[static_cast<std::size_t>(place.space)].data() + at + i * type.bytes,
                  &thread.registers[stored[i].index], type.bytes);
  };
  append(std::move(statement));
}

/// Adds an atomic on memory that no other thread accesses, so that the previous value is known.
void Builder::add_private_atomic() {
  struct Kind {
    const char* name;
    std::uint32_t (*result)(std::uint32_t old, std::uint32_t operand);
  };
  static constexpr Kind kinds[] = {
      {"add.u32", [](std::uint32_t a, std::uint32_t b) { return a + b; }},
      {"exch.b32", [](std::uint32_t, std::uint32_t b) { return b; }},
      {"max.u32", [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }},
      {"xor.b32", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }},
  };
  const Kind kind = kinds[random_.below(std::size(kinds))];
  Place place = random_place(random_, 4, pick('d'));
  while (place.space == Space::local) place = random_place(random_, 4, pick('d'));
  const Register result = pick('r');
  const Register operand = pick('r');
  Statement statement;
  if (place.before.empty()) statement.guard = maybe_guard(4);
  text_ += text_of(statement.guard) + place.before + "atom" + place.opcode + "." + kind.name + " " +
           result.name + ", [" + place.address + "], " + operand.name + ";" + place.after + "\n";
  statement.lane = [=](Thread& thread) {
    std::uint8_t* const at = thread.memory[static_cast<std::size_t>(place.space)].data() + place.at(thread);
    std::uint32_t old = 0;
    std::memcpy(&old, at, 4);
    const std::uint32_t now = kind.result(old, static_cast<std::uint32_t>(thread.registers[operand.index]));
    std::memcpy(at, &now, 4);
    thread.registers[result.index] = old;
  };
  append(std::move(statement));
}

void Builder::add_sum() {
  const Register operand = pick('d');
  const std::size_t which = random_.below(sum_count);
  const bool adds = which < sum_count / 2;
  Statement statement;
  statement.guard = maybe_guard(3);
  text_ += text_of(statement.guard) + "red.global." + (adds ? "add" : "max") + ".u64 [%su+" +
           number(which * 8) + "], " + operand.name + ";\n";
  statement.lane = [=](Thread& thread) {
    Word& sum = (*thread.sums)[which];
    const Word value = thread.registers[operand.index];
    sum = adds ? sum + value : std::max(sum, value);
  };
  append(std::move(statement));
}

// ---------------------------------------------------------------- lanes and threads

void Builder::add_shuffle(Mask members) {
  const Register result = pick('r');
  const Register source = pick('r');
  const Register flag = pick('p');
  const bool has_flag = random_.chance(2);
  const bool is_full = members == ~Mask{0};
  const std::uint32_t mode = is_full ? random_.below(4) : 3;
  static constexpr const char* modes[] = {"up", "down", "bfly", "idx"};
  std::uint32_t b = random_.below(32);
  while (!is_full && (members >> b & 1) == 0) b = random_.below(32);
  const std::uint32_t segments = is_full && random_.chance(3) ? (32 - 8) << 8 : 0;
  const std::uint32_t c = segments | (mode == 0 ? 0 : 31);
  text_ += std::string("shfl.sync.") + modes[mode] + ".b32 " + result.name +
           (has_flag ? "|" + flag.name : "") + ", " + source.name + ", " + number(b) + ", " + number(c) +
           ", " + number(members) + ";\n";
  Statement statement;
  statement.kind = Statement::Kind::warp;
  statement.warp = [=](Warp& warp, Mask active) {
    std::array<Word, lanes_of_warp> values{};
    for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane)
      if ((active >> lane & 1) != 0) values[lane] = warp.lanes[lane].registers[source.index];
    for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
      if ((active >> lane & 1) == 0) continue;
      const std::uint32_t segment = c >> 8 & 31;
      const std::uint32_t most = (lane & segment) | (c & 31 & ~segment);
      const std::uint32_t least = lane & segment;
      const int from = mode == 0   ? static_cast<int>(lane) - static_cast<int>(b)
                       : mode == 1 ? static_cast<int>(lane + b)
                       : mode == 2 ? static_cast<int>(lane ^ b)
                                   : static_cast<int>(least | (b & ~segment & 31));
      const bool is_inside = mode == 0 ? from >= static_cast<int>(most) : from <= static_cast<int>(most);
      warp.lanes[lane].registers[result.index] = values[is_inside ? static_cast<std::size_t>(from) : lane];
      if (has_flag) warp.lanes[lane].registers[flag.index] = is_inside;
    }
  };
  append(std::move(statement));
}

void Builder::add_vote(Mask members) {
  const Register predicate = pick('p');
  const bool negated = random_.chance(2);
  const std::uint32_t mode = random_.below(4);
  static constexpr const char* modes[] = {"ballot.b32", "any.pred", "all.pred", "uni.pred"};
  const Register result = pick(mode == 0 ? 'r' : 'p');
  text_ += std::string("vote.sync.") + modes[mode] + " " + result.name + ", " + (negated ? "!" : "") +
           predicate.name + ", " + number(members) + ";\n";
  Statement statement;
  statement.kind = Statement::Kind::warp;
  statement.warp = [=](Warp& warp, Mask active) {
    Mask ballot = 0;
    for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane)
      if ((active >> lane & 1) != 0 && (warp.lanes[lane].registers[predicate.index] != 0) != negated)
        ballot |= 1u << lane;
    const Word value = mode == 0   ? ballot
                       : mode == 1 ? ballot != 0
                       : mode == 2 ? ballot == active
                                   : ballot == active || ballot == 0;
    for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane)
      if ((active >> lane & 1) != 0) warp.lanes[lane].registers[result.index] = value;
  };
  append(std::move(statement));
}

void Builder::add_reduction(Mask members) {
  struct Kind {
    const char* name;
    std::uint32_t (*join)(std::uint32_t a, std::uint32_t b);
  };
  static constexpr Kind kinds[] = {
      {"redux.sync.add.u32", [](std::uint32_t a, std::uint32_t b) { return a + b; }},
      {"redux.sync.min.s32",
       [](std::uint32_t a, std::uint32_t b) {
         return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
       }},
      {"redux.sync.xor.b32", [](std::uint32_t a, std::uint32_t b) { return a ^ b; }},
      {"match.any.sync.b32", nullptr},
  };
  const Kind kind = kinds[random_.below(std::size(kinds))];
  const Register source = pick('r');
  const Register result = pick('r');
  text_ += std::string(kind.name) + " " + result.name + ", " + source.name + ", " + number(members) + ";\n";
  Statement statement;
  statement.kind = Statement::Kind::warp;
  statement.warp = [=](Warp& warp, Mask active) {
    std::vector<std::uint32_t> lanes;
    for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane)
      if ((active >> lane & 1) != 0) lanes.push_back(lane);
    std::vector<std::uint32_t> values;
    for (const std::uint32_t lane : lanes)
      values.push_back(static_cast<std::uint32_t>(warp.lanes[lane].registers[source.index]));
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      std::uint32_t value = kind.join != nullptr ? values[0] : 0;
      for (std::size_t other = 0; other < lanes.size(); ++other) {
        if (kind.join == nullptr && values[other] == values[i]) value |= 1u << lanes[other];
        if (kind.join != nullptr && other != 0) value = kind.join(value, values[other]);
      }
      warp.lanes[lanes[i]].registers[result.index] = value;
    }
  };
  append(std::move(statement));
}

void Builder::add_warp_exchange() {
  switch (random_.below(3)) {
    case 0: return add_shuffle(*together_);
    case 1: return add_vote(*together_);
    default: return add_reduction(*together_);
  }
}

/// Exchanges values through shared memory and barriers, or through a reducing barrier.
void Builder::add_block_exchange() {
  Statement statement;
  statement.kind = Statement::Kind::block;
  const auto for_all = [](Block& block, const auto& visit) {
    for (Warp& warp : block.warps)
      for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane)
        if ((warp.alive >> lane & 1) != 0) visit(warp.lanes[lane]);
  };
  if (random_.chance(3)) {
    const Register predicate = pick('p');
    const Register result = pick('r');
    text_ += "bar.red.popc.u32 " + result.name + ", 0, " + predicate.name + ";\n";
    statement.block = [=](Block& block) {
      Word count = 0;
      for_all(block, [&](Thread& thread) { count += thread.registers[predicate.index]; });
      for_all(block, [&](Thread& thread) { thread.registers[result.index] = count; });
    };
    append(std::move(statement));
    return;
  }
  const Register offered = pick('d');
  const Register taken = pick('d');
  const std::uint32_t distance = random_.below(threads_);
  text_ += "{ .reg .b32 %z; .reg .b64 %y; st.shared.u64 [%bo], " + offered.name +
           "; bar.sync 0; add.u32 %z, %t, " + number(distance) + "; rem.u32 %z, %z, " + number(threads_) +
           "; mul.wide.u32 %y, %z, 8; add.u64 %y, %y, %bx; ld.shared.u64 " + taken.name +
           ", [%y]; bar.sync 0; }\n";
  statement.block = [=, threads = threads_](Block& block) {
    for_all(block, [&](Thread& thread) { thread.offered = thread.registers[offered.index]; });
    for_all(block, [&](Thread& thread) {
      const std::uint32_t from = (thread.number + distance) % threads;
      thread.registers[taken.index] = block.warps[from / lanes_of_warp].lanes[from % lanes_of_warp].offered;
    });
  };
  append(std::move(statement));
}

void Builder::add_exit() {
  Statement statement;
  statement.kind = Statement::Kind::exit;
  const std::uint32_t lane = random_.below(lanes_of_warp);
  const Register predicate = control_register('p');
  Statement set;
  set.lane = [=](Thread& thread) {
    thread.registers[predicate.index] = thread.number % lanes_of_warp == lane;
  };
  append(std::move(set));
  statement.guard = Guard{predicate, false};
  text_ += "{ .reg .b32 %z; mov.u32 %z, %laneid; setp.eq.u32 " + predicate.name + ", %z, " + number(lane) +
           "; }\n@" + predicate.name + (random_.chance(2) ? " exit;\n" : " ret;\n");
  append(std::move(statement));
  has_exits_ = true;
  together_.reset();
}

void Builder::add_call() {
  const std::size_t which = random_.below(functions_->size());
  Statement statement;
  statement.kind = Statement::Kind::call;
  statement.function = &(*functions_)[which];
  statement.arguments = {pick('r'), pick('d')};
  statement.result = pick('r');
  const std::string& callee = statement.function->name;
  if (by_memory_) {
    text_ += "{ .param .b32 rr; .param .b32 pa; .param .b64 pb; st.param.b32 [pa], " +
             statement.arguments[0].name + "; st.param.b64 [pb], " + statement.arguments[1].name +
             "; call (rr), " + callee + ", (pa, pb); ld.param.b32 " + statement.result.name + ", [rr]; }\n";
  } else {
    statement.guard = maybe_guard(3);
    text_ += text_of(statement.guard) + "call (" + statement.result.name + "), " + callee + ", (" +
             statement.arguments[0].name + ", " + statement.arguments[1].name + ");\n";
  }
  append(std::move(statement));
}

bool Builder::add_kernel_statement(int depth) {
  switch (random_.below(10)) {
    case 0:
    case 1: add_load(); return true;
    case 2:
    case 3: add_store(); return true;
    case 4: add_private_atomic(); return true;
    case 5: add_sum(); return true;
    case 6:
      if (depth < 2) add_call();
      return depth < 2;
    case 7:
      if (together_ && depth < 3) add_lane_branch(depth);
      return together_.has_value() && depth < 3;
    case 8:
      if (depth != 0 || has_exits_) return false;
      random_.chance(6) ? add_exit() : add_block_exchange();
      return true;
    default:
      if (together_) add_warp_exchange();
      return together_.has_value();
  }
}

// ---------------------------------------------------------------- prologue and epilogue

/// Emits registers that no statement writes, and addresses.
std::string Builder::prologue(std::size_t words) const {
  const std::string slots = number(threads_ * private_bytes);
  std::string text =
      ".reg .b32 %t, %n, %o;\n.reg .b64 %bl, %bs, %bg, %gl, %gs, %bo, %bx, %su, %bi, %bu, %q;\n"
      ".shared .align 16 .b8 slots[" +
      slots + "];\n.shared .align 8 .b8 offers[" + number(threads_ * 8) + "];\n.local .align 16 .b8 own[" +
      number(private_bytes) +
      "];\n"
      "mov.u32 %t, %tid.y;\nmov.u32 %n, %ntid.x;\nmov.u32 %o, %tid.x;\nmad.lo.u32 %t, %t, %n, %o;\n"
      "mov.u32 %o, %ctaid.x;\nmad.lo.u32 %o, %o, " +
      number(threads_) +
      ", %t;\n"
      "ld.param.u64 %bi, [in];\nmad.wide.u32 %bi, %t, " +
      number(words_of_input * 8) +
      ", %bi;\n"
      "ld.param.u64 %bu, [out];\nmad.wide.u32 %bu, %o, " +
      number(words * 8) +
      ", %bu;\n"
      "ld.param.u64 %bg, [scratch];\nmad.wide.u32 %bg, %o, " +
      number(private_bytes) +
      ", %bg;\n"
      "ld.param.u64 %su, [sums];\n"
      "mov.u64 %bs, slots;\nmad.wide.u32 %bs, %t, " +
      number(private_bytes) +
      ", %bs;\ncvta.shared.u64 %gs, %bs;\n"
      "mov.u64 %bl, own;\ncvta.local.u64 %gl, %bl;\n"
      "mov.u64 %bx, offers;\nmad.wide.u32 %bo, %t, 8, %bx;\nmov.u64 %q, 0;\n";
  for (std::size_t at = 0; at < private_bytes; at += 16) {
    for (const char* const base : {"st.shared.v2.u64 [%bs+", "st.local.v2.u64 [%bl+"})
      text += base + number(at) + "], {%q, %q};\n";
  }
  return text;
}

void Builder::load_inputs() {
  std::size_t next = 0;
  for (const auto& [type, pool] : pools_) {
    for (const Register& each : pool) {
      const std::size_t word = next++ % words_of_input;
      const std::string load = "{ .reg .b64 %z; ld.global.u64 %z, [%bi+" + number(word * 8) + "]; ";
      Statement statement;
      switch (type) {
        case 'p':
          text_ += load + "and.b64 %z, %z, 64; setp.ne.u64 " + each.name + ", %z, 0; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] = thread.input[word] >> 6 & 1;
          };
          break;
        case 'h':
          text_ += load + "cvt.u16.u64 " + each.name + ", %z; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] = thread.input[word] & 0xffff;
          };
          break;
        case 'x':
          text_ += load + "and.b64 %z, %z, 0xbbff; cvt.u16.u64 " + each.name + ", %z; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] = thread.input[word] & 0xbbff;
          };
          break;
        case 'y':
          text_ += load + "and.b64 %z, %z, 0xbbffbbff; cvt.u32.u64 " + each.name + ", %z; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] = thread.input[word] & 0xbbffbbff;
          };
          break;
        case 'r':
          text_ += load + "cvt.u32.u64 " + each.name + ", %z; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] = thread.input[word] & 0xffffffff;
          };
          break;
        case 'd':
          text_ += "ld.global.u64 " + each.name + ", [%bi+" + number(word * 8) + "];\n";
          statement.lane = [=](Thread& thread) { thread.registers[each.index] = thread.input[word]; };
          break;
        case 'f':
          text_ += load + "cvt.rn.f32.s64 " + each.name + ", %z; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] =
                to(static_cast<float>(static_cast<std::int64_t>(thread.input[word])));
          };
          break;
        default:
          text_ += load + "cvt.rn.f64.s64 " + each.name + ", %z; }\n";
          statement.lane = [=](Thread& thread) {
            thread.registers[each.index] =
                to(static_cast<double>(static_cast<std::int64_t>(thread.input[word])));
          };
      }
      append(std::move(statement));
    }
  }
}

std::string Builder::store_outputs(std::size_t& words) {
  std::string text;
  for (const auto& [type, pool] : pools_) {
    for (const Register& each : pool) {
      const std::string store = "st.global.u64 [%bu+" + number(outputs_.size() * 8) + "], ";
      text += type == 'p'                  ? "selp.u64 %q, 1, 0, " + each.name + ";\n" + store + "%q;\n"
              : type == 'h' || type == 'x' ? "cvt.u64.u16 %q, " + each.name + ";\n" + store + "%q;\n"
              : type == 'f'
                  ? "{ .reg .b32 %z; mov.b32 %z, " + each.name + "; cvt.u64.u32 %q, %z; }\n" + store + "%q;\n"
              : type == 'g' ? "mov.b64 %q, " + each.name + ";\n" + store + "%q;\n"
              : type == 'd' ? store + each.name + ";\n"
                            : "cvt.u64.u32 %q, " + each.name + ";\n" + store + "%q;\n";
      outputs_.push_back(each.index);
    }
  }
  words = outputs_.size();
  return text;
}

}  // namespace lynxpp::random_ptx
