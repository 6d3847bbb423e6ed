// Finds the sites of handlers in a kernel without instrumenting it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "ptx/analysis/transfers/transfers.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Returns the transfers of the functions, for specifications that use them.
ptx::Transfers find_transfers(const ptx::Module& module, const ptx::ReachedFunctions& reached);

/// Returns the labels of an instruction, including transfers.
cod::LabelSets labels_of(const ptx::Transfers& transfers, const ptx::Instruction& instruction);

/// True if a handler with this filter has a site at `instruction`.
bool chooses(const cod::InstructionFilter& filter, const ptx::Module& module, const ptx::Transfers& transfers,
             const ptx::Instruction& instruction);

struct HandlerSite {
  std::string function;     ///< mangled
  std::uint32_t block = 0;  ///< basicBlockId()
  std::uint32_t line = 0;   ///< in the PTX
  std::string file;         ///< source file; empty: unknown
  std::uint32_t source_line = 0;
  std::string instruction;  ///< text of the instruction at the site; may be empty
};

struct HandlerSites {
  std::uint32_t handler = 0;  ///< in Specification::handlers()
  std::vector<HandlerSite> sites;
  std::string hint;  ///< if there are no sites: the reason, and what would match
};

/// Returns one entry per handler, in order. Parses `module` as needed. Fails if the kernel does not exist or
/// the PTX does not parse.
Result<std::vector<HandlerSites>> find_handler_sites(ptx::Module& module, const std::string& kernel,
                                                     const cod::Specification& specification);

}  // namespace lynxpp::engine
