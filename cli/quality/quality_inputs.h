// Computes the inputs of the criteria of Pro++ (models/proplusplus) from records of a run.
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

/// How kernel times are obtained.
enum class Times { measured, modelled };

/// A kernel, a named range or the whole program.
struct Subject {
  enum class Kind { program, range, kernel };
  Kind kind = Kind::program;
  std::string name;  ///< a range's path, "outer/inner"; a kernel's demangled name
  Primitive primitive;
  Criteria criteria;
  PerCriterion<std::string> sites;  ///< the site or copy that costs the criterion most; empty: none
  std::vector<std::string> path;    ///< of a range: the names along its path
  std::uint64_t launches = 0;       ///< launches in `primitive`
  std::uint64_t left_out = 0;       ///< launches without counts
  std::uint64_t problem_arrays = 0;
};

struct Inputs {
  Hardware hardware;
  std::string device;  ///< the GPU, or the modelled machine
  bool assumes_hardware = false;
  Times times = Times::modelled;
  bool estimates_registers = false;
  bool clocks_warps = false;      ///< LB and SO of all counted launches are measured by clocks
  std::vector<Subject> subjects;  ///< the program, ranges in order of appearance, kernels
};

/// The records of a program that ran once with the specification `quality`, once natively with its kernels
/// timed, and on a GPU once with the specification barrier_waits.h.
struct Runs {
  std::vector<report::Record> counted;
  std::vector<report::Record> timed;
  std::vector<report::Record> clocked;         ///< with barrier_waits.h, on a GPU
  std::optional<models::Machine> modelled;     ///< the machine whose clock timed them; nullopt: a GPU
  std::optional<std::uint64_t> problem_bytes;  ///< set by the user, for every subject
};

/// Fails if no kernel was launched or none could be instrumented.
Result<Inputs> inputs_of(const Runs& runs);

}  // namespace lynxpp::cli::rating
