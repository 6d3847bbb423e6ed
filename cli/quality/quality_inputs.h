// From records of a run to what the criteria of Pro++ are made of (models/proplusplus).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/proplusplus/criteria.h"
#include "models/proplusplus/hardware.h"
#include "report/reader.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::cli::rating {

using models::proplusplus::Criteria;
using models::proplusplus::Criterion;
using models::proplusplus::Hardware;
using models::proplusplus::PerCriterion;
using models::proplusplus::Primitive;

/// Where kernel times come from.
enum class Times { measured, modelled };

/// A kernel, a named range or the whole program.
struct Subject {
  enum class Kind { program, range, kernel };
  Kind kind = Kind::program;
  std::string name;  ///< of a range its path, "outer/inner"; of a kernel its demangled name
  Primitive primitive;
  Criteria criteria;
  PerCriterion<std::string> sites;  ///< what costs the criterion most; empty: nothing does
  std::vector<std::string> path;    ///< of a range: the names of its path
  std::uint64_t launches = 0;       ///< that are in `primitive`
  std::uint64_t left_out = 0;       ///< launches without counts
  std::uint64_t problem_arrays = 0;
};

struct Inputs {
  Hardware hardware;
  std::string device;  ///< the GPU, or the machine whose time is modelled
  bool assumes_hardware = false;
  Times times = Times::modelled;
  bool estimates_registers = false;
  std::vector<Subject> subjects;  ///< the program, ranges in order of appearance, kernels
};

/// What a program did, run once with the specification `quality` and once more as it is, with its kernels
/// timed.
struct Runs {
  std::vector<report::Record> counted;
  std::vector<report::Record> timed;
  std::optional<models::Machine> modelled;     ///< the machine whose clock has timed them; nullopt: a GPU
  std::optional<std::uint64_t> problem_bytes;  ///< given by the user, for every subject
};

/// Failure: no kernel was launched, or none could be instrumented.
Result<Inputs> inputs_of(const Runs& runs);

}  // namespace lynxpp::cli::rating
