// Finds the sites of handlers in a kernel without instrumenting it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Fills in unit.reached.transfers, for specifications that use them.
void find_transfers(ptx::InstrumentationUnit& unit);

/// Returns the labels of an instruction of the unit, including transfers.
cod::LabelSets labels_of(const ptx::InstrumentationUnit& unit, const ptx::Instruction& instruction);

/// True if a handler with this filter has a site at `instruction` of the unit.
bool chooses(const cod::InstructionFilter& filter, const ptx::InstrumentationUnit& unit,
             const ptx::Instruction& instruction);

struct Place {
  std::string function;     ///< mangled
  std::uint32_t block = 0;  ///< basicBlockId()
  std::uint32_t line = 0;   ///< in the PTX
  std::string file;         ///< source file; empty: unknown
  std::uint32_t source_line = 0;
  std::string instruction;  ///< text of the instruction at the site; may be empty
};

struct HandlerPlaces {
  std::uint32_t handler = 0;  ///< in Specification::handlers()
  std::vector<Place> places;
  std::string hint;  ///< if there are no sites: the reason, and what would match
};

/// Returns one entry per handler, in order. Parses `module` as needed. Fails if the kernel does not exist or
/// the PTX does not parse.
Result<std::vector<HandlerPlaces>> find_places(ptx::Module& module, const std::string& kernel,
                                               const cod::Specification& specification);

}  // namespace lynxpp::engine
