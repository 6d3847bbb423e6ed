// Random functions, compiled by this machine's C compiler and by lynxpp: for the device, where a handler runs
// them on the cpu device, and for the report. Every bit must match.
//
//   LYNXPP_DIFFERENTIAL_FUNCTIONS=100000 LYNXPP_DIFFERENTIAL_SEED=7 cod_differential_test     more and others
//   LYNXPP_DIFFERENTIAL_EXPORT=folder cod_differential_test      also writes specifications with
//                                                                expected results, for a GPU
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"
#include "tests/cod/random_program.h"
#include "tests/cod/test_support.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::cod {
namespace {

constexpr std::size_t batch_size = 40;  // functions per specification

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Batch {
  std::string name;
  std::vector<RandomProgram::Function> functions;
  std::vector<std::uint64_t> integers;
  std::vector<double> reals;

  std::string function_name(std::size_t i) const { return name + "_" + std::to_string(i); }

  std::string texts() const {
    std::string text;
    for (const auto& each : functions) text += each.text;
    return text;
  }

  /// "integers[0] = b0_0();" …
  std::string calls() const {
    std::string text;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const std::string array = functions[i].is_real ? "reals[" : "integers[";
      text += "  " + array + std::to_string(i) + "] = " + function_name(i) + "();\n";
    }
    return text;
  }

  std::string specification(bool on_host, const std::string& report) const {
    const std::string size = "[" + std::to_string(functions.size()) + "];\n";
    const std::string arrays = "global unsigned long integers" + size + "global double reals" + size;
    const std::string code = RandomProgram::prelude() + texts() + arrays;
    if (on_host) return code + "ON_REPORT: {\n" + calls() + "}\n";
    return code + "ON_KERNEL_EXIT: {\n  if (globalThreadId() == 0) {\n" + calls() + "  }\n}\nON_REPORT: {\n" +
           report + "}\n";
  }
};

std::vector<Batch> batches() {
  const std::uint64_t functions = setting("LYNXPP_DIFFERENTIAL_FUNCTIONS", 1000);
  RandomProgram program(setting("LYNXPP_DIFFERENTIAL_SEED", 1));
  std::vector<Batch> result;
  for (std::uint64_t made = 0; made < functions; ++made) {
    if (made % batch_size == 0) result.push_back({"b" + std::to_string(result.size()), {}, {}, {}});
    Batch& batch = result.back();
    batch.functions.push_back(program.function(batch.function_name(batch.functions.size())));
  }
  std::printf("%lu functions with %lu operations\n", functions, program.operations());
  return result;
}

/// Computes the expected results with the C compiler; false if it does not exist.
bool compute_expected(std::vector<Batch>& batches) {
  const TemporaryFolder folder;
  std::string source = RandomProgram::prelude();
  for (const Batch& batch : batches) {
    source += batch.texts() + "void run_" + batch.name + "(unsigned long *integers, double *reals) {\n" +
              batch.calls() + "}\n";
  }
  const std::string base = folder.file("functions");
  write_file(base + ".c", source);
  const std::string command =
      "cc -std=gnu11 -w -O0 -fwrapv -ffp-contract=off -fPIC -shared -o " + base + ".so " + base + ".c";
  const bool compiled = std::system(command.c_str()) == 0;
  void* library = compiled ? ::dlopen((base + ".so").c_str(), RTLD_NOW) : nullptr;
  if (library == nullptr) return false;
  for (Batch& batch : batches) {
    batch.integers.resize(batch.functions.size());
    batch.reals.resize(batch.functions.size());
    void* symbol = ::dlsym(library, ("run_" + batch.name).c_str());
    reinterpret_cast<void (*)(std::uint64_t*, double*)>(symbol)(batch.integers.data(), batch.reals.data());
  }
  ::dlclose(library);
  return true;
}

/// Ignores the sign of zero: GCC 12 compiles `0 - x` as -x for an x converted from an integer, which yields
/// -0 instead of 0 for x = 0.
bool is_same(double a, double b) {
  if (a == 0 && b == 0) return true;
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void compare(const Batch& batch, const std::uint64_t* integers, const double* reals,
             const std::string& where) {
  for (std::size_t i = 0; i < batch.functions.size(); ++i) {
    const RandomProgram::Function& function = batch.functions[i];
    const bool is_right =
        function.is_real ? is_same(batch.reals[i], reals[i]) : batch.integers[i] == integers[i];
    if (is_right) continue;
    ADD_FAILURE() << where << " computes "
                  << (function.is_real ? testing::PrintToString(reals[i]) : std::to_string(integers[i]))
                  << ", C "
                  << (function.is_real ? testing::PrintToString(batch.reals[i])
                                       : std::to_string(batch.integers[i]))
                  << ":\n"
                  << function.text;
    return;  // one failure per batch is enough
  }
}

/// A constant of the language.
std::string constant(double value) {
  if (std::isnan(value)) return "1e308 * 10 - 1e308 * 10";
  if (std::isinf(value)) return value > 0 ? "1e308 * 10" : "-1e308 * 10";
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

/// Writes the handler, its expected results, and a report that counts differences.
void write_exported(const Batch& batch, const std::string& folder) {
  std::string integers;
  std::string reals;
  for (std::size_t i = 0; i < batch.functions.size(); ++i) {
    integers += (i == 0 ? "" : ", ") + std::to_string(batch.integers[i]) + "u";
    reals += (i == 0 ? "" : ", ") + constant(batch.reals[i]);
  }
  const std::string size = std::to_string(batch.functions.size());
  const std::string report =
      "  long mismatches = 0;\n"
      "  for (int i = 0; i < " +
      size +
      "; ++i) {\n"
      "    double r = reals[i];\n    double e = expected_reals[i];\n"
      "    if (integers[i] == expected_integers[i] && (r == e || (r != r && e != e))) continue;\n"
      "    ++mismatches;\n"
      "    print(\"function %d: %lu, not %lu; %.17g, not %.17g\\n\", i, integers[i], expected_integers[i], "
      "r, e);\n"
      "  }\n  emit(\"mismatches\", mismatches);\n  emit(\"functions\", " +
      size + ");\n";
  const std::string tables = "static const unsigned long expected_integers[" + size + "] = {" + integers +
                             "};\nstatic const double expected_reals[" + size + "] = {" + reals + "};\n";
  const std::string text =
      "// Random functions and their results in C\n" + tables + batch.specification(false, report);
  EXPECT_EQ(errors_of(text), "");
  EXPECT_TRUE(write_file(folder + "/differential_" + batch.name + ".cod", text));
}

class Differential : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    all_ = new std::vector<Batch>(batches());
    has_expected_ = compute_expected(*all_);
  }
  static void TearDownTestSuite() { delete all_; }
  void SetUp() override {
    if (!has_expected_) GTEST_SKIP() << "no C compiler on this machine";
  }
  static std::vector<Batch>* all_;
  static bool has_expected_;
};

std::vector<Batch>* Differential::all_ = nullptr;
bool Differential::has_expected_ = false;

TEST_F(Differential, ReportComputesWhatCComputes) {
  for (Batch& batch : *all_) {
    std::vector<std::uint64_t> integers(batch.functions.size());
    std::vector<double> reals(batch.functions.size());
    LaunchView launch;
    launch.arrays = {bytes_of_vector(integers), bytes_of_vector(reals)};
    const ReportRun run = run_report(batch.specification(true, ""), launch);
    ASSERT_EQ(run.failure, "");
    compare(batch, integers.data(), reals.data(), "the report");
  }
}

TEST_F(Differential, DeviceComputesWhatCComputes) {
  const Shape one_thread;
  for (Batch& batch : *all_) {
    const Measured measured = measure(batch.specification(false, ""), one_thread, "straight", false);
    ASSERT_EQ(measured.failure, "") << batch.specification(false, "");
    EXPECT_EQ(measured.dropped, 0u);
    std::vector<double> reals;
    for (const std::uint64_t bits : measured.arrays.at(1)) reals.push_back(std::bit_cast<double>(bits));
    compare(batch, measured.arrays.at(0).data(), reals.data(), "the device");
  }
}

TEST_F(Differential, SpecificationsForAGpuAreExported) {
  const char* folder = std::getenv("LYNXPP_DIFFERENTIAL_EXPORT");
  const TemporaryFolder temporary;
  const std::string target = folder != nullptr ? folder : temporary.path().string();
  std::filesystem::create_directories(target);
  for (const Batch& batch : *all_) {
    write_exported(batch, target);
    if (folder == nullptr) break;
  }
  std::string text;
  ASSERT_TRUE(read_file(target + "/differential_b0.cod", text));
  const Measured measured = measure(text, {}, "straight", false);
  EXPECT_EQ(measured.failure, "");
  EXPECT_EQ(measured["mismatches"], 0);
}

}  // namespace
}  // namespace lynxpp::cod
