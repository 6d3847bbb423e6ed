// Each file golden/NAME.ptx is a test: a kernel k(out), and what perturbations add to it. The key
// `perturbations` names them. The variants compute what the kernel does.
#include <gtest/gtest.h>

#include <cstdio>

#include "ptx/emitter/emitter.h"
#include "support/text.h"
#include "tests/passes/splice_fixture.h"
#include "tests/perturb/fixture.h"
#include "tests/support/golden_file.h"
#include "tests/support/readable_name.h"

namespace lynxpp::ptx::testing {
namespace {

const std::string folder = LYNXPP_SOURCE_DIR "/tests/perturb/golden/";

void expect_assembles(const std::string& text) {
  std::string messages;
  bool available = false;
  const bool accepted = assemble(text, messages, available);
  if (!available) std::printf("ptxas is not installed: the text was compared, not assembled\n");
  EXPECT_TRUE(accepted || !available) << messages << text;
}

/// A launch of the file's kernel, with 64 KiB of memory.
KernelRun run_of(const GoldenFile& file) {
  KernelRun run{file.input, "k", 3, {64, 1}, {std::vector<std::byte>(65536)}};
  for (std::size_t i = 0; i < run.buffers[0].size(); ++i)
    run.buffers[0][i] = static_cast<std::byte>(i * i / 7);
  return run;
}

std::string notes_of(const engine::Instrumented& variant) {
  std::string notes;
  for (const PerturbedSite& site : variant.perturbed) {
    if (site.note.empty()) continue;
    notes += "line " + std::to_string(site.ptx_line) + ": " + (site.is_perturbed ? "" : "left out: ") +
             site.note + "\n";
  }
  return notes;
}

std::string section_of(const GoldenFile& file, const std::string& name,
                       const std::vector<std::vector<std::byte>>& native) {
  const Result<Perturbation> perturbation = parse_perturbation(name);
  if (!perturbation) return ADD_FAILURE() << render(perturbation.error().diagnostics), "";
  std::string before, changed;
  const PassObserver observer{
      [&](std::string_view, const InstrumentationUnit& unit) { before = emit(unit.module, unit.edits); },
      [&](std::string_view pass, const InstrumentationUnit& unit) {
        if (pass == "perturb") changed = changed_lines(before, emit(unit.module, unit.edits));
      }};
  const engine::Instrumented variant = perturbed(file.input, "k", *perturbation, observer);
  expect_assembles(variant.ptx);
  EXPECT_EQ(buffers_after(run_of(file), variant.ptx, variant.probe), native)
      << name << " changes the kernel's results";
  return golden_section(name, changed + notes_of(variant));
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, ShowsWhatIsAdded) {
  const GoldenFile file = read_golden(folder + GetParam() + ".ptx");
  const auto native = buffers_after(run_of(file), file.input, {});
  std::string sections;
  for (const std::string& name : split(file.value("perturbations"), ' '))
    sections += section_of(file, name, native);
  expect_sections(file, sections);
}

INSTANTIATE_TEST_SUITE_P(Perturbations, Golden, ::testing::ValuesIn(golden_names(folder)),
                         [](const auto& instance) { return name_of_text(instance.param); });

TEST(GoldenFiles, ShowEveryPerturbation) {
  std::string shown;
  for (const std::string& name : golden_names(folder))
    shown += read_golden(folder + name + ".ptx").value("perturbations") + " ";
  for (const Perturbation& each : all_perturbations())
    EXPECT_NE(shown.find(to_text(each)), std::string::npos) << to_text(each);
}

}  // namespace
}  // namespace lynxpp::ptx::testing
