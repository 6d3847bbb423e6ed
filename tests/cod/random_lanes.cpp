#include "tests/cod/random_lanes.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace lynxpp::cod {
namespace {

constexpr std::uint32_t places = 64;     // of elected[] and added[]
constexpr std::uint32_t case_count = 5;  // values that a switch distinguishes

std::uint32_t lowest(std::uint32_t mask) { return static_cast<std::uint32_t>(std::countr_zero(mask)); }

template <typename Each>
void for_lanes(std::uint32_t mask, Each each) {
  for (; mask != 0; mask &= mask - 1) each(lowest(mask));
}

template <typename Number>
std::size_t different(std::uint32_t mask, Number number) {
  std::set<std::uint64_t> seen;
  for_lanes(mask, [&](std::uint32_t lane) { seen.insert(number(lane)); });
  return seen.size();
}

}  // namespace

// ---------------------------------------------------------------- generation

RandomLanes::RandomLanes(std::uint64_t seed) : engine_(seed) {
  for (int i = 0; i < 2; ++i) helpers_.push_back(statements(1, false, false));
  body_ = statements(3, false, false);
}

RandomLanes::Node RandomLanes::number(int depth) {
  const auto kind = static_cast<Kind>(below(depth > 0 ? 17 : 15));
  Node node{kind, below(3) + 2, below(2), {}};
  switch (kind) {
    case Kind::ballot:
    case Kind::any:
    case Kind::all:
    case Kind::divergent: node.parts.push_back(condition(depth - 1)); break;
    case Kind::choice:
      node.parts.push_back(condition(depth - 1));
      node.parts.push_back(number(depth - 1));
      node.parts.push_back(number(depth - 1));
      break;
    case Kind::helper:
      if (helpers_.size() < 2) node.kind = Kind::mask;  // helpers call no helpers
      break;
    default: break;
  }
  return node;
}

RandomLanes::Node RandomLanes::condition(int depth) {
  constexpr Kind kinds[] = {Kind::bits,     Kind::lanes_modulo, Kind::bits, Kind::lanes_modulo,
                            Kind::crowded,  Kind::uniform,      Kind::both, Kind::either,
                            Kind::negation, Kind::any_of};
  Node node{kinds[below(depth > 0 ? 10 : 6)], below(3) + 2, below(2), {}};
  const int operands = node.kind == Kind::both || node.kind == Kind::either       ? 2
                       : node.kind == Kind::negation || node.kind == Kind::any_of ? 1
                                                                                  : 0;
  for (int i = 0; i < operands; ++i) node.parts.push_back(condition(depth - 1));
  return node;
}

RandomLanes::Node RandomLanes::statements(int depth, bool in_loop, bool in_switch) {
  Node list;
  const std::uint32_t count = below(3) + 2;
  for (std::uint32_t i = 0; i < count; ++i) list.parts.push_back(statement(depth, in_loop, in_switch));
  return list;
}

RandomLanes::Node RandomLanes::statement(int depth, bool in_loop, bool in_switch) {
  const std::uint32_t choice = below(depth > 0 ? 20 : 8);
  if (choice < 3) return {Kind::hash, 0, 0, {number(2)}};
  if (choice == 3) return {Kind::change, below(5) * 2 + 3, below(50), {}};
  if (choice == 4) return {Kind::elect, places_++ % places, 0, {}};
  if (choice == 5) return {Kind::add, places_++ % places, below(3) + 1, {}};
  if (choice < 8) {
    const std::uint32_t jump = below(4);
    Node node{Kind::hash, 0, 0, {number(1)}};
    if (jump == 0) node = {Kind::returns, 0, 0, {}};
    if (jump == 1 && (in_loop || in_switch)) node = {Kind::breaks, 0, 0, {}};
    if (jump == 2 && in_loop) node = {Kind::continues, 0, 0, {}};
    return {Kind::if_else, 0, 0, {condition(1), {Kind::list, 0, 0, {node}}}};
  }
  if (choice < 14) {
    Node node{Kind::if_else, 0, 0, {condition(2), statements(depth - 1, in_loop, in_switch)}};
    if (below(2) == 0) node.parts.push_back(statements(depth - 1, in_loop, in_switch));
    return node;
  }
  if (choice < 18) {
    constexpr Kind kinds[] = {Kind::for_loop, Kind::while_loop, Kind::do_loop};
    const std::uint32_t name = loops_++;
    return {kinds[below(3)], name, 0, {statements(depth - 1, true, false)}};
  }
  return cases(depth, in_loop);
}

/// Each label is before one of the sections; `a` of a section has a bit for each of its values, and one more
/// for `default`.
RandomLanes::Node RandomLanes::cases(int depth, bool in_loop) {
  Node node{Kind::cases, 0, 0, {}};
  const std::uint32_t sections = below(3) + 2;
  std::vector<std::uint32_t> labels(sections, 0);
  for (std::uint32_t label = 0; label <= case_count; ++label) {
    if (below(4) != 0) labels[below(sections)] |= 1u << label;
  }
  for (const std::uint32_t label : labels) {
    if (label == 0) continue;
    Node section = statements(depth - 1, in_loop, true);
    section.a = label;
    if (below(2) == 0) section.parts.push_back({Kind::breaks, 0, 0, {}});
    node.parts.push_back(section);
  }
  return node;
}

// ---------------------------------------------------------------- text

std::string RandomLanes::text() const {
  std::string text =
      "global unsigned long hashes[THREADS];\nglobal unsigned long elected[64];\nglobal unsigned long "
      "added[64];\n"
      "unsigned long h = 0;\n";
  for (std::size_t i = 0; i < helpers_.size(); ++i) {
    text += "static unsigned long f" + std::to_string(i) + "(unsigned int v) { unsigned long h = 1;\n" +
            print(helpers_[i], true) + "return h; }\n";
  }
  return text + "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { unsigned int v = laneId() * 7 + 3;\n" +
         print(body_, false) + "}\nON_KERNEL_EXIT: { hashes[globalThreadId()] = h; }\n";
}

std::string RandomLanes::print(const Node& node, bool in_helper) const {
  const auto part = [&](std::size_t index) { return print(node.parts[index], in_helper); };
  const std::string a = std::to_string(node.a), b = std::to_string(node.b);
  switch (node.kind) {
    case Kind::variable: return "v";
    case Kind::lane: return "laneId()";
    case Kind::mask: return "activeMask()";
    case Kind::count: return "activeThreadCount()";
    case Kind::least: return "leastActiveThreadInWarp()";
    case Kind::ballot: return "ballot(" + part(0) + ")";
    case Kind::sum: return "warpSum(v)";
    case Kind::greatest: return "warpMax(v)";
    case Kind::smallest: return "warpMin(v)";
    case Kind::any: return "warpAny(" + part(0) + ")";
    case Kind::all: return "warpAll(" + part(0) + ")";
    case Kind::divergent: return "divergentWarp(" + part(0) + ")";
    case Kind::unique: return "uniqueElementCount(v % " + a + ")";
    case Kind::unique_halves: return "uniqueElementCount(v / " + a + ", true)";
    case Kind::sectors: return "warpSum(firstInSector())";
    case Kind::choice: return "(" + part(0) + " ? " + part(1) + " : " + part(2) + ")";
    case Kind::helper: return "f" + b + "(v + " + a + ")";
    case Kind::bits: return "(v >> " + b + " & " + a + ") != 0";
    case Kind::lanes_modulo: return "laneId() % " + a + " == " + b;
    case Kind::both: return "(" + part(0) + " && " + part(1) + ")";
    case Kind::either: return "(" + part(0) + " || " + part(1) + ")";
    case Kind::negation: return "!(" + part(0) + ")";
    case Kind::crowded: return "activeThreadCount() > " + a + " * 3";
    case Kind::any_of: return "warpAny(" + part(0) + ")";
    case Kind::uniform: return "blockId() % 2 == " + b;
    case Kind::hash: return "h = h * 31 + " + part(0) + ";\n";
    case Kind::change: return "v = v * " + a + " + " + b + ";\n";
    case Kind::if_else:
      return "if (" + part(0) + ") {\n" + part(1) + (node.parts.size() > 2 ? "} else {\n" + part(2) : "") +
             "}\n";
    case Kind::for_loop:
      return "for (unsigned int i" + a + " = 0; i" + a + " < (v & 3); ++i" + a + ") {\n" + part(0) + "}\n";
    case Kind::while_loop:
      return "{ unsigned int i" + a + " = v % 4; while (i" + a + " > 0) { --i" + a + ";\n" + part(0) +
             "} }\n";
    case Kind::do_loop:
      return "{ unsigned int i" + a + " = 0; do { ++i" + a + ";\n" + part(0) + "} while (i" + a +
             " < v % 3); }\n";
    case Kind::cases: return print_cases(node, in_helper);
    case Kind::breaks: return "break;\n";
    case Kind::continues: return "continue;\n";
    case Kind::returns: return in_helper ? "return h;\n" : "return;\n";
    case Kind::elect: return "if (leastActiveThreadInWarp()) atomicAdd(&elected[" + a + "], 1);\n";
    case Kind::add: return "added[" + a + "] += " + b + ";\n";
    case Kind::list: break;
  }
  std::string text;
  for (const Node& each : node.parts) text += print(each, in_helper);
  return text;
}

std::string RandomLanes::print_cases(const Node& node, bool in_helper) const {
  std::string text = "switch (v % 7) {\n";
  for (const Node& section : node.parts) {
    for (std::uint32_t label = 0; label <= case_count; ++label) {
      if ((section.a >> label & 1) == 0) continue;
      text += label == case_count ? "default: " : "case " + std::to_string(label) + ": ";
    }
    for (const Node& each : section.parts) text += print(each, in_helper);
  }
  return text + "}\n";
}

// ---------------------------------------------------------------- expected results

RandomLanes::Expected RandomLanes::expected(std::uint32_t blocks, std::uint32_t threads,
                                            Executions executions) const {
  Machine machine;
  machine.result.hashes.resize(std::size_t{blocks} * threads);
  machine.result.elected.resize(places);
  machine.result.added.resize(places);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (std::uint32_t first = 0; first < threads; first += 32) {
      const std::uint32_t exist = threads - first >= 32 ? 0xffffffffu : (1u << (threads - first)) - 1;
      machine.block = block;
      machine.first_thread = std::uint64_t{block} * threads + first;
      Frame frame;
      for (const std::uint32_t mask : executions(exist, first)) {
        for (std::uint32_t lane = 0; lane < 32; ++lane) frame.v[lane] = lane * 7 + 3;
        if (mask != 0) static_cast<void>(run(body_, mask, frame, machine));
      }
      for_lanes(exist, [&](std::uint32_t lane) {
        machine.result.hashes[machine.first_thread + lane] = frame.h[lane];
      });
    }
  }
  return machine.result;
}

/// For all nodes without nested conditions. `inner`: the result of a vote's condition, by lane.
std::uint64_t RandomLanes::value(const Node& node, std::uint32_t mask, std::uint32_t lane,
                                 const Values& inner, const Frame& frame, const Machine& machine) const {
  std::uint32_t votes = 0;
  std::uint64_t sum = 0, greatest = 0, smallest = ~std::uint64_t{0};
  for_lanes(mask, [&](std::uint32_t each) {
    votes |= inner[each] != 0 ? 1u << each : 0;
    sum += frame.v[each];
    greatest = std::max(greatest, frame.v[each]);
    smallest = std::min(smallest, frame.v[each]);
  });
  switch (node.kind) {
    case Kind::variable: return frame.v[lane];
    case Kind::lane: return lane;
    case Kind::mask: return mask;
    case Kind::count: return static_cast<std::uint64_t>(std::popcount(mask));
    case Kind::least: return lane == lowest(mask) ? 1 : 0;
    case Kind::ballot: return votes;
    case Kind::sum: return sum;
    case Kind::greatest: return greatest;
    case Kind::smallest: return smallest;
    case Kind::any:
    case Kind::any_of: return votes != 0 ? 1 : 0;
    case Kind::all: return votes == mask ? 1 : 0;
    case Kind::divergent: return votes != 0 && votes != mask ? 1 : 0;
    case Kind::unique: return different(mask, [&](std::uint32_t each) { return frame.v[each] % node.a; });
    case Kind::unique_halves: {
      const auto number = [&](std::uint32_t each) { return frame.v[each] / node.a; };
      return different(mask & 0xffff, number) + different(mask & 0xffff0000, number);
    }
    case Kind::sectors:
      return different(mask, [&](std::uint32_t each) { return (machine.first_thread + each) / 8; });
    case Kind::bits: return (frame.v[lane] >> node.b & node.a) != 0 ? 1 : 0;
    case Kind::lanes_modulo: return lane % node.a == node.b ? 1 : 0;
    case Kind::crowded: return std::popcount(mask) > static_cast<int>(node.a * 3) ? 1 : 0;
    case Kind::uniform: return machine.block % 2 == node.b ? 1 : 0;
    default: return 0;
  }
}

RandomLanes::Values RandomLanes::evaluate(const Node& node, std::uint32_t mask, Frame& frame,
                                          Machine& machine) const {
  Values result{};
  if (mask == 0) return result;
  switch (node.kind) {
    case Kind::choice: {
      const std::uint32_t chosen = holds(node.parts[0], mask, frame, machine);
      const Values left = evaluate(node.parts[1], chosen, frame, machine);
      const Values right = evaluate(node.parts[2], mask & ~chosen, frame, machine);
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        result[lane] = (chosen >> lane & 1) != 0 ? left[lane] : right[lane];
      return result;
    }
    case Kind::helper: {
      Values argument{};
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        argument[lane] = static_cast<std::uint32_t>(frame.v[lane] + node.a);
      return call(helpers_[node.b], mask, argument, machine);
    }
    case Kind::both:
    case Kind::either: {
      const bool is_and = node.kind == Kind::both;
      const std::uint32_t left = holds(node.parts[0], mask, frame, machine);
      const std::uint32_t asked = is_and ? left : mask & ~left;
      const std::uint32_t right = holds(node.parts[1], asked, frame, machine);
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        result[lane] = ((is_and ? right : left | right) >> lane & 1) != 0 ? 1 : 0;
      return result;
    }
    case Kind::negation: {
      const std::uint32_t held = holds(node.parts[0], mask, frame, machine);
      for (std::uint32_t lane = 0; lane < 32; ++lane) result[lane] = (held >> lane & 1) != 0 ? 0 : 1;
      return result;
    }
    default: break;
  }
  Values inner{};
  if (!node.parts.empty()) inner = evaluate(node.parts[0], mask, frame, machine);
  for_lanes(mask, [&](std::uint32_t lane) { result[lane] = value(node, mask, lane, inner, frame, machine); });
  return result;
}

RandomLanes::Values RandomLanes::call(const Node& node, std::uint32_t mask, const Values& argument,
                                      Machine& machine) const {
  Frame frame;
  frame.v = argument;
  frame.h.fill(1);
  static_cast<void>(run(node, mask, frame, machine));
  return frame.h;
}

std::uint32_t RandomLanes::holds(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const {
  const Values values = evaluate(node, mask, frame, machine);
  std::uint32_t result = 0;
  for_lanes(mask, [&](std::uint32_t lane) { result |= values[lane] != 0 ? 1u << lane : 0; });
  return result;
}

std::uint32_t RandomLanes::run(const Node& node, std::uint32_t mask, Frame& frame, Machine& machine) const {
  if (mask == 0) return 0;
  switch (node.kind) {
    case Kind::hash: {
      const Values values = evaluate(node.parts[0], mask, frame, machine);
      for_lanes(mask, [&](std::uint32_t lane) { frame.h[lane] = frame.h[lane] * 31 + values[lane]; });
      return mask;
    }
    case Kind::change:
      for_lanes(mask, [&](std::uint32_t lane) {
        frame.v[lane] = static_cast<std::uint32_t>(frame.v[lane] * node.a + node.b);
      });
      return mask;
    case Kind::elect: ++machine.result.elected[node.a]; return mask;
    case Kind::add:
      machine.result.added[node.a] += node.b * static_cast<std::uint64_t>(std::popcount(mask));
      return mask;
    case Kind::breaks: frame.broke |= mask; return 0;
    case Kind::continues: frame.continued |= mask; return 0;
    case Kind::returns: frame.returned |= mask; return 0;
    case Kind::if_else: {
      const std::uint32_t chosen = holds(node.parts[0], mask, frame, machine);
      const std::uint32_t left = run(node.parts[1], chosen, frame, machine);
      if (node.parts.size() < 3) return left | (mask & ~chosen);
      return left | run(node.parts[2], mask & ~chosen, frame, machine);
    }
    case Kind::for_loop:
    case Kind::while_loop:
    case Kind::do_loop: return run_loop(node, mask, frame, machine);
    case Kind::cases: return run_cases(node, mask, frame, machine);
    default: break;
  }
  for (const Node& each : node.parts) mask = run(each, mask, frame, machine);
  return mask;
}

std::uint32_t RandomLanes::run_loop(const Node& node, std::uint32_t mask, Frame& frame,
                                    Machine& machine) const {
  const std::uint32_t broke = std::exchange(frame.broke, 0);
  const std::uint32_t continued = std::exchange(frame.continued, 0);
  Values i{};
  if (node.kind == Kind::while_loop)
    for_lanes(mask, [&](std::uint32_t lane) { i[lane] = frame.v[lane] % 4; });
  std::uint32_t left = 0;
  for (bool is_first = true; mask != 0; is_first = false) {
    std::uint32_t goes_on = 0;
    for_lanes(mask, [&](std::uint32_t lane) {
      const bool again = node.kind == Kind::for_loop     ? i[lane] < (frame.v[lane] & 3)
                         : node.kind == Kind::while_loop ? i[lane] > 0
                                                         : is_first || i[lane] < frame.v[lane] % 3;
      goes_on |= again ? 1u << lane : 0;
    });
    left |= mask & ~goes_on;
    if (node.kind == Kind::while_loop) for_lanes(goes_on, [&](std::uint32_t lane) { --i[lane]; });
    if (node.kind == Kind::do_loop) for_lanes(goes_on, [&](std::uint32_t lane) { ++i[lane]; });
    mask = run(node.parts[0], goes_on, frame, machine) | std::exchange(frame.continued, 0);
    if (node.kind == Kind::for_loop) for_lanes(mask, [&](std::uint32_t lane) { ++i[lane]; });
  }
  left |= frame.broke;
  frame.broke = broke;
  frame.continued = continued;
  return left;
}

std::uint32_t RandomLanes::run_cases(const Node& node, std::uint32_t mask, Frame& frame,
                                     Machine& machine) const {
  const std::uint32_t broke = std::exchange(frame.broke, 0);
  std::uint32_t known = 0;
  for (const Node& section : node.parts) known |= section.a & ((1u << case_count) - 1);
  Values labels{};
  for_lanes(mask, [&](std::uint32_t lane) {
    const auto number = static_cast<std::uint32_t>(frame.v[lane] % 7);
    labels[lane] = number < case_count && (known >> number & 1) != 0 ? number : case_count;
  });
  std::uint32_t here = 0, rest = mask;
  for (const Node& section : node.parts) {
    for_lanes(rest, [&](std::uint32_t lane) {
      if ((section.a >> labels[lane] & 1) != 0) here |= 1u << lane;
    });
    rest &= ~here;
    for (const Node& each : section.parts) here = run(each, here, frame, machine);
  }
  here |= rest | frame.broke;
  frame.broke = broke;
  return here;
}

}  // namespace lynxpp::cod
