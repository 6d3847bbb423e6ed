#include "operation_fixture.h"

#include <gtest/gtest.h>

#include "form_table.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

std::string operands_of(const std::vector<OperandGroup>& groups, const std::string& name,
                        const std::vector<std::string>& selectors) {
  std::string text;
  unsigned at = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::string registers;
    for (unsigned i = 0; i < groups[group].count; ++i)
      registers += (i == 0 ? "" : ", ") + name + std::to_string(at++);
    if (group < selectors.size()) registers += selectors[group];
    text += (text.empty() ? "" : ", ") + (groups[group].count > 1 ? "{" + registers + "}" : registers);
  }
  return text;
}

std::string place_of(const std::string& pointer, unsigned index) {
  return "[" + pointer + "+" + std::to_string(index * 256) + "]";
}

}  // namespace

unsigned registers_of(const std::vector<OperandGroup>& groups) {
  unsigned count = 0;
  for (const OperandGroup& group : groups) count += group.count;
  return count;
}

std::string kernel_of(const InstructionForm& form) {
  std::string declarations;
  std::string before;
  std::string after;
  const auto each = [](const std::vector<OperandGroup>& groups, const auto& visit) {
    unsigned at = 0;
    for (const OperandGroup& group : groups) {
      for (unsigned i = 0; i < group.count; ++i) visit(at++, group.bits);
    }
  };
  const auto declare = [&](const std::string& name, unsigned bits) {
    declarations +=
        bits == 1 ? "  .reg .pred " + name + ";\n" : "  .reg .b" + std::to_string(bits) + " " + name + ";\n";
  };
  each(form.sources, [&](unsigned at, unsigned bits) {
    const std::string name = "%s" + std::to_string(at);
    declare(name, bits);
    if (bits == 1) {
      before += "  ld.global.b32 %t, " + place_of("%in", at) + ";\n  setp.ne.b32 " + name + ", %t, 0;\n";
    } else {
      before += "  ld.global.b" + std::to_string(bits) + " " + name + ", " + place_of("%in", at) + ";\n";
    }
  });
  each(form.results, [&](unsigned at, unsigned bits) {
    const std::string name = "%d" + std::to_string(at);
    declare(name, bits);
    if (bits == 1) {
      after += "  selp.b32 %t, 1, 0, " + name + ";\n  st.global.b32 " + place_of("%out", at) + ", %t;\n";
    } else {
      after += "  st.global.b" + std::to_string(bits) + " " + place_of("%out", at) + ", " + name + ";\n";
    }
  });
  const std::string results = operands_of(form.results, "%d", {form.result_selector});
  const std::string sources = operands_of(form.sources, "%s", form.selectors);
  return ".visible .entry test(.param .u64 p0, .param .u64 p1) {\n  .reg .b64 %in, %out, %at;\n"
         "  .reg .b32 %t;\n" +
         declarations +
         "  mov.u32 %t, %tid.x;\n  mul.wide.u32 %at, %t, 8;\n  ld.param.u64 %in, [p0];\n"
         "  ld.param.u64 %out, [p1];\n  add.u64 %in, %in, %at;\n  add.u64 %out, %out, %at;\n" +
         before + "  " + form.opcode + " " + results + (!results.empty() && !sources.empty() ? ", " : "") +
         sources + form.tail + ";\n" + after + "  ret;\n}\n";
}

std::vector<WarpValues> run_form(const InstructionForm& form, const std::vector<WarpValues>& in) {
  std::vector<WarpValues> out(registers_of(form.results));
  EXPECT_EQ(in.size(), registers_of(form.sources));
  const auto module = load(kernel_of(form));
  if (module == nullptr) return out;
  const WarpValues* const from = in.data();
  WarpValues* const to = out.data();
  EXPECT_EQ(text_of(module->launch("test", {{1, 1, 1}, {32, 1, 1}, 0}, Arguments(from, to).bytes(), nullptr)),
            "")
      << form.opcode;
  return out;
}

void check_form(const FormCase& form) {
  std::size_t rounds = 1;
  for (const Registers& values : form.values) rounds = std::max(rounds, (values.size() + 31) / 32);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<WarpValues> in(form.values.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      for (std::size_t lane = 0; lane < 32; ++lane)
        in[i][lane] = form.values[i][(round * 32 + lane) % form.values[i].size()];
    }
    const std::vector<WarpValues> out = run_form(form.form, in);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      Registers sources;
      for (const WarpValues& values : in) sources.push_back(values[lane]);
      const Registers expected = form.expected(sources);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(out[i][lane], expected[i]) << form.form.opcode << " of " << std::hex << sources[0];
    }
  }
}

}  // namespace lynxpp::device::cpu::test
