// Runs kernels and their perturbed variants on the cpu device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/instrument.h"
#include "ptx/perturb/perturbation.h"

namespace lynxpp::ptx::testing {

/// A launch of one kernel, whose parameters are pointers to these buffers.
struct KernelRun {
  std::string ptx;
  std::string kernel;
  std::uint32_t blocks = 1;
  std::uint32_t threads[2] = {32, 1};
  std::vector<std::vector<std::byte>> buffers;  ///< initial contents
};

/// All perturbations of code, in both forms.
std::vector<Perturbation> all_perturbations();

/// Builds a variant. A failure is a test failure, and yields no text.
engine::Instrumented perturbed(const std::string& ptx, const std::string& kernel,
                               const Perturbation& perturbation, const PassObserver& observer = {});

/// Returns the buffers after a launch of the text's kernel, with the words of the variant if it is one.
/// Writes what it counted to `results`: result_words, or the maps of Operation::bytes.
std::vector<std::vector<std::byte>> buffers_after(const KernelRun& run, const std::string& text,
                                                  const std::vector<engine::ProbeWord>& words,
                                                  std::vector<std::uint64_t>* results = nullptr);

}  // namespace lynxpp::ptx::testing
