// Builds an InstrumentationUnit from PTX text and handwritten routines and runs the engine's pipeline on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx::testing {

/// A routine of the fixture, by name:
///   count   adds basic_block_executed_instruction_count to state 0
///   flush   adds state 0 to the 64-bit memory word that parameter slot 0 points to
///   start   sets state 0 to %clock64
///   loads   adds memory_address to state 0 (for instruction probes on global loads)
///   branchy has two returns and a label
struct NamedProbe {
  ProbePoint point;
  std::string routine;
};

struct Spliced {
  std::string text;
  std::uint32_t basic_blocks = 0;
  std::vector<std::uint64_t> sites;
  std::vector<std::string> notes;
};

Result<Spliced> splice(const std::string& ptx, const std::string& kernel,
                       const std::vector<NamedProbe>& probes, const SharedVariables& shared = {});

/// Returns true if ptxas accepts the text; `messages` is its output. Sets `available` to false if there is no
/// ptxas.
bool assemble(const std::string& ptx, std::string& messages, bool& available);

}  // namespace lynxpp::ptx::testing
