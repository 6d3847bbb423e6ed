#include "ptx/passes/probes/short_branches.h"

#include <gtest/gtest.h>

#include <string>

#include "ptx/emitter/code_printer.h"
#include "ptx/ir/code_builder.h"

namespace lynxpp::ptx {
namespace {

/// Returns the code of a branch over one instruction with the opcode, without short branches.
std::string branch_over(const std::string& opcode) {
  NameSource names;
  CodeBuilder code(names);
  const Label done = code.fresh_label();
  code.branch_if(Name{"%p1"}, done);
  code.emit(opcode, {Name{"%r1"}});
  code.place(done);
  Code result = code.take();
  remove_short_branches(result);
  return print(result);
}

TEST(ShortBranches, BecomeGuards) { EXPECT_EQ(branch_over("mov.u32"), "\t@!%p1 mov.u32 %r1;\n"); }

TEST(ShortBranches, GuardABranchInsteadOfBranchingOverIt) {
  NameSource names;
  CodeBuilder code(names);
  const Label body = code.fresh_label();
  const Label end = code.fresh_label();
  code.branch_if(Name{"%p1"}, body);
  code.emit("bra.uni", {end});
  code.place(body);
  code.emit("mov.u32", {Name{"%r1"}, 1});
  code.emit("mov.u32", {Name{"%r2"}, 1});
  code.place(end);
  Code result = code.take();
  remove_short_branches(result);
  EXPECT_EQ(print(result), "\t@!%p1 bra $lynxpp_1;\n\tmov.u32 %r1, 1;\n\tmov.u32 %r2, 1;\n$lynxpp_1:\n");
}

TEST(ShortBranches, StayIfTheLanesMatter) {
  for (const std::string opcode : {"activemask.b32", "redux.sync.add.u32", "bar.sync", "call"})
    EXPECT_EQ(branch_over(opcode), "\t@%p1 bra $lynxpp_0;\n\t" + opcode + " %r1;\n$lynxpp_0:\n");
}

TEST(ShortBranches, DropBranchesToTheNextStatement) {
  NameSource names;
  CodeBuilder code(names);
  const Label loop = code.fresh_label();
  const Label next = code.fresh_label();
  code.place(loop);
  code.branch(next);
  code.place(next);
  code.branch_if(Name{"%p1"}, loop);
  Code result = code.take();
  remove_short_branches(result);
  EXPECT_EQ(print(result), "$lynxpp_0:\n\t@%p1 bra $lynxpp_0;\n");
}

}  // namespace
}  // namespace lynxpp::ptx
