#include "device/cpu/simt/compile/region.h"

#include <cstddef>
#include <set>

namespace lynxpp::device::cpu {

bool continues_in(const CompiledFunction& function, std::uint32_t segment) {
  if (segment == no_segment) return false;
  const Segment& next = function.segments[segment];
  return !next.always_split && !next.is_meeting && !next.waits && !next.resumed_from;
}

std::vector<std::uint32_t> region_successors(const CompiledFunction& function, std::uint32_t index) {
  const Segment& segment = function.segments[index];
  std::vector<std::uint32_t> found;
  const bool passes = segment.control == Control::next || segment.control == Control::branch ||
                      segment.control == Control::ret || segment.control == Control::exit;
  if (passes && continues_in(function, segment.next)) found.push_back(segment.next);
  if (segment.control == Control::branch && continues_in(function, segment.target))
    found.push_back(segment.target);
  return found;
}

std::vector<std::uint32_t> region_segments(const CompiledFunction& function, std::uint32_t start) {
  std::set<std::uint32_t> seen = {start};
  std::size_t instructions = 0;
  std::vector<std::uint32_t> segments = {start};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = function.segments[segments[i]];
    instructions += segment.end - segment.begin;
    for (const std::uint32_t next : region_successors(function, segments[i])) {
      const std::size_t more = function.segments[next].end - function.segments[next].begin;
      if (instructions + more <= most_region_instructions && seen.insert(next).second)
        segments.push_back(next);
    }
  }
  return segments;
}

std::uint32_t region_instructions(const CompiledFunction& function, std::uint32_t start) {
  std::uint32_t instructions = 0;
  for (const std::uint32_t segment : region_segments(function, start))
    instructions += function.segments[segment].end - function.segments[segment].begin;
  return instructions;
}

}  // namespace lynxpp::device::cpu
