// The pass manager: order, names in failures, verification, and observers.
#include "ptx/passes/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/reach.h"
#include "engine/register_estimate.h"
#include "engine/verify.h"
#include "ptx/parser/parser.h"
#include "support/check.h"

namespace lynxpp::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* text =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry k()\n{\n  .reg .b32 %r<3>;\n  mov.u32 %r1, %tid.x;\n  add.u32 %r2, %r1, %r1;\nend:\n  "
    "ret;\n}\n";

class PassPipeline : public ::testing::Test {
 protected:
  PassPipeline() : module_(std::move(*parse_module(text))), unit_(module_) {
    unit_.reached = std::move(*engine::find_reachable(module_, "k"));
  }

  std::uint32_t body_begin() const { return unit_.reached.kernel().function->body_text.begin + 1; }

  PassManager::Run inserting(const std::string& at_begin) {
    return [this, at_begin](InstrumentationUnit& unit) -> Status {
      unit.edits.insert_before(body_begin(), at_begin);
      return success();
    };
  }

  /// Returns the first message of a verified run with one pass.
  std::string complaint_of(const std::string& inserted, EditState leaves = EditState::readable) {
    InstrumentationUnit unit(module_);
    unit.reached = unit_.reached;
    PassManager manager;
    manager.verify_with(engine::verify);
    manager.add("spoil", leaves, inserting(inserted));
    const Status ran = manager.run(unit);
    return ran ? "" : ran.error().diagnostics.front().message;
  }

  Module module_;
  InstrumentationUnit unit_;
};

TEST_F(PassPipeline, TheTableIsInOrder) {
  EXPECT_THAT(pass_names(), ::testing::IsSupersetOf(
                                {"count-plan", "share-variables", "splice", "hidden-parameter", "extract"}));
  EXPECT_EQ(pass_names().front(), "word-plan");
  EXPECT_EQ(pass_names().back(), "extract");
  for (const PassDescription& description : pass_table()) EXPECT_FALSE(description.summary.empty());
}

TEST_F(PassPipeline, FailureNamesThePassAndStops) {
  PassManager manager;
  bool reached = false;
  manager.add("first", EditState::readable, [](InstrumentationUnit&) -> Status { return success(); });
  manager.add("second", EditState::readable,
              [](InstrumentationUnit&) -> Status { return failure("no room"); });
  manager.add("third", EditState::readable, [&](InstrumentationUnit&) -> Status {
    reached = true;
    return success();
  });
  const Status ran = manager.run(unit_);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().diagnostics.front().message, "pass 'second': no room");
  EXPECT_FALSE(reached);
  EXPECT_EQ(manager.timings().size(), 1U);
}

TEST_F(PassPipeline, VerificationNamesTheFirstPassThatSpoilsTheCode) {
  PassManager manager;
  manager.verify_with(engine::verify);
  manager.add("first", EditState::readable, inserting("mov.u32 %r1, 1;\n"));
  manager.add("spoil", EditState::readable, inserting("mov.u32 %r1, %lynxpp_r9;\n"));
  manager.add("last", EditState::readable, inserting("bra nowhere;\n"));
  const Status ran = manager.run(unit_);
  ASSERT_FALSE(ran);
  EXPECT_EQ(render(ran.error().diagnostics),
            "<instrumented>:6:0: error: pass 'spoil' produced code that is not well-formed: register "
            "'%lynxpp_r9' of 'k' is not declared, in 'mov.u32 %r1, %lynxpp_r9;'\n"
            "  hint: print it with 'lynxpp ptx instrument --print-after spoil'\n");
}
TEST_F(PassPipeline, VerificationFindsOverlappingReplacements) {
  PassManager manager;
  manager.verify_with(engine::verify);
  manager.add("spoil", EditState::readable, [](InstrumentationUnit& unit) -> Status {
    const auto at = static_cast<std::uint32_t>(unit.module.source().find("add.u32"));
    unit.edits.replace({at, at + 7}, "sub.u32");
    unit.edits.replace({at + 4, at + 11}, "u32 %r1");
    return success();
  });
  const Status ran = manager.run(unit_);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().diagnostics.front().message,
              HasSubstr("the replacements of 'add.u32' and 'u32 %r2' overlap"));
}
TEST_F(PassPipeline, VerificationFindsUndeclaredNamesWhereAllAreDeclared) {
  const std::string read = "ld.param.u32 %r1, [__lynxpp_probe];\n";
  EXPECT_EQ(complaint_of(read), "") << "a later pass declares it";
  EXPECT_THAT(complaint_of(read, EditState::complete),
              HasSubstr("name '__lynxpp_probe' of 'k' is not declared"));
}
TEST_F(PassPipeline, PassesThatPlanMayNotAddEdits) {
  if (!checks_are_on) GTEST_SKIP() << "built without LYNXPP_CHECKS";
  PassManager manager;
  manager.add("plan", EditState::unchanged, inserting("// x\n"));
  EXPECT_DEATH((void)manager.run(unit_), "a pass that plans has added edits");
}
TEST_F(PassPipeline, VerificationFindsUndeclaredGuards) {
  EXPECT_THAT(complaint_of("@%lynxpp_p1 bra end;"), HasSubstr("'%lynxpp_p1' of 'k' is not declared"));
}
TEST_F(PassPipeline, VerificationFindsMissingLabels) {
  EXPECT_THAT(complaint_of("bra $lynxpp_3;"), HasSubstr("label '$lynxpp_3' of 'k' is not defined"));
}
TEST_F(PassPipeline, VerificationFindsDuplicateLabels) {
  EXPECT_THAT(complaint_of("$lynxpp_3:\n$lynxpp_3:\n"), HasSubstr("is defined twice"));
}
TEST_F(PassPipeline, VerificationFindsDuplicateRegisters) {
  EXPECT_THAT(complaint_of(".reg .b32 %lynxpp_x;\n.reg .b64 %lynxpp_x;\n"), HasSubstr("declared twice"));
}
TEST_F(PassPipeline, VerificationFindsReadsOfUnwrittenRegisters) {
  const std::string outer = ".reg .b32 %lynxpp_x;\nmov.b32 %lynxpp_x, 1;\n";
  EXPECT_THAT(complaint_of(outer + "{\n.reg .b32 %lynxpp_x;\nmov.b32 %lynxpp_x, %lynxpp_x;\n}\n"),
              HasSubstr("register '%lynxpp_x' of 'k' is read before it is written"));
}
TEST_F(PassPipeline, VerificationFindsReadsAfterPathsWithoutWrites) {
  EXPECT_THAT(complaint_of(".reg .pred %lynxpp_p;\n.reg .b32 %lynxpp_y;\nsetp.eq.u32 %lynxpp_p, 1, 2;\n"
                           "@%lynxpp_p bra $lynxpp_1;\nmov.b32 %lynxpp_y, 1;\n$lynxpp_1:\n"
                           "mov.b32 %lynxpp_y, %lynxpp_y;\n"),
              HasSubstr("register '%lynxpp_y' of 'k' is read before it is written"));
}
TEST_F(PassPipeline, VerificationFindsCodeThatPtxasMiscompiles) {
  EXPECT_THAT(complaint_of(".reg .b32 %lynxpp_x;\nbfe.u32 %lynxpp_x, %r1, %r1, 1;\n"),
              HasSubstr("is the result of a bfe with its position in a register"));
}
TEST_F(PassPipeline, VerificationAcceptsFixedBitFieldsAndThoseOfTheProgram) {
  EXPECT_EQ(complaint_of(".reg .b32 %lynxpp_x;\nbfe.u32 %lynxpp_x, %r1, 2, 1;\nbfe.u32 %r1, %r1, %r1, 1;\n"),
            "");
}
// The target is unknown, but cannot be a label that a pass has added.
TEST_F(PassPipeline, VerificationAssumesUnlistedTargetsAreProgramLabels) {
  const std::string added =
      ".reg .pred %lynxpp_p;\n.reg .b32 %lynxpp_y;\n@%p1 brx.idx %r1, nowhere;\n"
      "setp.eq.u32 %lynxpp_p, 1, 2;\n@%lynxpp_p bra $lynxpp_1;\nmov.b32 %lynxpp_y, 1;\nbra $lynxpp_2;\n"
      "$lynxpp_1:\nmov.b32 %lynxpp_y, 2;\n$lynxpp_2:\nmov.b32 %r1, %lynxpp_y;\n";
  PassManager manager;
  manager.verify_with(engine::verify);
  manager.add("add", EditState::readable, inserting(added));
  const Status ran = manager.run(unit_);
  EXPECT_TRUE(ran) << render(ran.error().diagnostics);
}
// A removed target list does not make a branch's targets unknown.
TEST_F(PassPipeline, VerificationFindsLostTargetLists) {
  Module module = std::move(*parse_module(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n  .reg .b32 %r<3>;\n"
      "ts: .branchtargets end;\n  mov.u32 %r1, 0;\n  brx.idx %r1, ts;\nend:\n  ret;\n}\n"));
  const auto complaint = [&](std::string_view old, const std::string& replacement) {
    InstrumentationUnit listed(module);
    listed.reached = std::move(*engine::find_reachable(module, "k"));
    PassManager manager;
    manager.verify_with(engine::verify);
    manager.add("spoil", EditState::readable, [&](InstrumentationUnit& unit) -> Status {
      unit.edits.insert_before(unit.reached.kernel().function->body_text.begin + 1, ".reg .b32 %lynxpp_y;\n");
      const auto end = static_cast<std::uint32_t>(module.source().rfind("end:"));
      unit.edits.insert_before(end, "bra $lynxpp_2;\n$lynxpp_1:\nmov.b32 %r1, %lynxpp_y;\n$lynxpp_2:\n");
      const auto begin = static_cast<std::uint32_t>(module.source().find(old));
      unit.edits.replace({begin, begin + static_cast<std::uint32_t>(old.size())}, replacement);
      return success();
    });
    const Status ran = manager.run(listed);
    return ran ? std::string() : ran.error().diagnostics.front().message;
  };
  EXPECT_EQ(complaint("ts: .branchtargets end", "ts: .branchtargets end"), "");
  EXPECT_THAT(complaint("ts: .branchtargets end;", ""), HasSubstr("'%lynxpp_y' of 'k' is read before"));
  EXPECT_THAT(complaint("ts: .branchtargets end;", "us: .branchtargets end;"),
              HasSubstr("'%lynxpp_y' of 'k' is read before"));
  EXPECT_THAT(complaint("ts: .branchtargets end;", "ts: .branchtargets $lynxpp_9;"),
              HasSubstr("label '$lynxpp_9' of 'k' is not defined"));
}
TEST_F(PassPipeline, VerificationFindsMalformedPtx) {
  EXPECT_THAT(complaint_of("mov.u32 %r1, ;;"),
              HasSubstr("pass 'spoil' produced code that is not well-formed"));
}

TEST_F(PassPipeline, ObserversSeeEveryPassBeforeAndAfter) {
  PassManager manager;
  std::vector<std::string> seen;
  manager.observe_with(
      {[&](std::string_view pass, const InstrumentationUnit& unit) {
         seen.push_back("before " + std::string(pass) + " " + std::to_string(unit.edits.edits().size()));
       },
       [&](std::string_view pass, const InstrumentationUnit& unit) {
         seen.push_back("after " + std::string(pass) + " " + std::to_string(unit.edits.edits().size()));
       }});
  manager.add("one", EditState::readable, inserting("// x\n"));
  manager.add("two", EditState::unchanged, [](InstrumentationUnit&) -> Status { return success(); });
  ASSERT_TRUE(manager.run(unit_));
  EXPECT_THAT(seen, ElementsAre("before one 0", "after one 1", "before two 1", "after two 1"));
  ASSERT_EQ(manager.timings().size(), 2U);
  EXPECT_EQ(manager.timings()[0].edits, 1U);
  EXPECT_EQ(manager.timings()[1].edits, 0U);
}

TEST_F(PassPipeline, RegistersAreEstimatedBeforeAndAfter) {
  const std::string variant =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k()\n{\n  .reg .b32 %r<3>;\n  .reg .b64 %x;\n  mov.u64 %x, %clock64;\n  mov.u32 %r1, "
      "%tid.x;\n"
      "  add.u32 %r2, %r1, %r1;\nend:\n  st.global.u64 [%x], %x;\n  ret;\n}\n";
  const Result<engine::RegisterEstimate> estimate = engine::estimate_registers(unit_.reached, variant);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->original, 1U);
  EXPECT_EQ(estimate->instrumented, 3U);
}

}  // namespace
}  // namespace lynxpp::ptx
