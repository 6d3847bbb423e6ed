// Shared by the tests of this folder: the body of a kernel ▶ its analyses.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ptx/analysis/analyses.h"
#include "tests/ptx/parse.h"

namespace lynxpp::ptx {

inline const std::string declarations =
    ".reg .pred %p<20>; .reg .b16 %rs<20>; .reg .b32 %r<60>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 "
    "%fd<9>;\n";

/// The kernel k(u64 A, u64 B, u32 n) with that body; declares registers with nvcc's names.
class Analysed {
 public:
  explicit Analysed(const std::string& body)
      : module_(module_of(".visible .entry k(.param .u64 A, .param .u64 B, .param .u32 n)\n{\n" +
                          declarations + body + "\n}\n")),
        analyses_(parsed(module_)) {}

  FunctionAnalyses& operator*() { return analyses_; }
  FunctionAnalyses* operator->() { return &analyses_; }
  const Body& body() const { return *analyses_.function().body; }

  /// Index of the only instruction whose text contains `text`.
  std::uint32_t at(const std::string& text) const {
    std::uint32_t found = 0;
    int count = 0;
    for (std::uint32_t index = 0; index < body().instructions.size(); ++index) {
      if (module_.text(body().instructions[index].text).find(text) == std::string_view::npos) continue;
      found = index;
      ++count;
    }
    EXPECT_EQ(count, 1) << text;
    return found;
  }
  RegisterId reg(const std::string& name) {
    for (RegisterId id = 0; id < analyses_.registers().registers().size(); ++id) {
      if (analyses_.registers().registers()[id].name == name) return id;
    }
    ADD_FAILURE() << "no register " << name;
    return no_register;
  }
  std::uint32_t block(const std::string& label) { return analyses_.graph().block_of_label(label); }

 private:
  static const Function& parsed(Module& module) {
    const Status status = parse_all_bodies(module, "test.ptx");
    if (!status) ADD_FAILURE() << render(status.error().diagnostics, module.source());
    return module.functions.at(0);
  }

  Module module_;
  FunctionAnalyses analyses_;
};

}  // namespace lynxpp::ptx
