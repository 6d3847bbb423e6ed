#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse.h"
#include "ptx/analysis/flow/control_flow_graph.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Calls {
  explicit Calls(const std::string& body)
      : module(module_of(".extern .func vprintf;\n.func f();\n.func g() { ret; }\n.entry k()\n{\n" + body +
                         "\n}\n")) {
    const Status status = parse_all_bodies(module);
    if (!status) ADD_FAILURE() << render(status.error().diagnostics, module.source());
    sites = find_calls(module, *module.find_function("k"));
  }
  Module module;
  CallSites sites;
};

TEST(CallSites, ListDirectCallsOnce) {
  const Calls calls("call.uni (r), g, (a);\ncall f;\ncall.uni g, (b);\n@%p1 call vprintf, (x, y);\nret;");
  EXPECT_THAT(calls.sites.direct, ElementsAre("g", "f", "vprintf"));
  EXPECT_THAT(calls.sites.address_taken, IsEmpty());
  EXPECT_FALSE(calls.sites.indirect);
}

TEST(CallSites, FindAddressesAndIndirectCalls) {
  const Calls calls(
      ".reg .b64 %rd<4>;\nmov.u64 %rd1, g;\nst.global.u64 [%rd2], f;\n"
      "p: .callprototype _ (.param .b64 _);\ncall (r), %rd1, (a), p;\nret;");
  EXPECT_THAT(calls.sites.direct, IsEmpty());
  EXPECT_THAT(calls.sites.address_taken, ElementsAre("g", "f"));
  EXPECT_TRUE(calls.sites.indirect);
}

TEST(CallSites, FindFunctionsPassedToCallsAndCallTargets) {
  const Calls calls(".reg .b64 target;\nts: .calltargets vprintf, g;\ncall target, (f), ts;\nret;");
  EXPECT_THAT(calls.sites.address_taken, ElementsAre("f", "vprintf", "g"));
  EXPECT_TRUE(calls.sites.indirect);
}

TEST(CallSites, LocalNamesHideFunctions) {
  const Calls calls(
      ".reg .b32 g;\n.shared .b32 k;\nmov.u32 g, 1;\nst.shared.u32 [k], g;\n"
      "{ .reg .b32 f; mov.u32 f, g; }\nf: bra f;");
  EXPECT_THAT(calls.sites.direct, IsEmpty());
  EXPECT_THAT(calls.sites.address_taken, IsEmpty());
}

TEST(CallSites, InnerNamesEndWithTheirScope) {
  const Calls calls(".reg .b64 %rd<2>;\n{ .reg .b64 g; mov.u64 g, 1; }\nmov.u64 %rd1, g;\nret;");
  EXPECT_THAT(calls.sites.address_taken, ElementsAre("g"));
}

TEST(CallSites, AreEmptyWithoutCalls) {
  const Calls calls("mov.u32 %r1, %tid.x;\nL: bra L;");
  EXPECT_THAT(calls.sites.direct, IsEmpty());
  EXPECT_THAT(calls.sites.address_taken, IsEmpty());
  EXPECT_FALSE(calls.sites.indirect);
}

}  // namespace
}  // namespace lynxpp::ptx
