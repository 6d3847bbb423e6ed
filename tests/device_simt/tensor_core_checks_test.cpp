// Seeded faults of kernels with tensor memory (tcgen05) in checked launches, and repaired kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tensor_core_fixture.h"

namespace lynxpp::device::cpu::test::tensor_core_faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using enum FindingKind;

std::string texts_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& each : findings) {
    text += std::string(name_of(each.kind)) + ": " + each.place.action + ": " + each.detail;
    if (each.other) text += " (" + each.other->action + ")";
    text += "\n";
  }
  return text;
}

std::set<FindingKind> kinds_of(const std::vector<Finding>& findings) {
  std::set<FindingKind> kinds;
  for (const Finding& each : findings) kinds.insert(each.kind);
  return kinds;
}

struct Code {
  std::string code;
  std::string removed = {};
  std::string added = {};
};

std::vector<Finding> run(const Code& code) {
  const TensorProduct form{"f16", "f32", "f16", "f16"};
  TensorProgram program;
  program.tensor[0] = numbered_image(program.columns);
  program.idesc = form.idesc();
  const auto zero = [](unsigned, unsigned) { return 0u; };
  program.a = tensor_core_descriptor({}, place_matrix(program.image[0], {}, 16, 128, 16, zero));
  program.b = tensor_core_descriptor({}, place_matrix(program.image[0], {}, 16, 32, 16, zero));
  program.code = code.code;
  program.removed = code.removed;
  program.added = code.added;
  LaunchChecks checks{{.memory = true, .race = true, .init = false, .sync = true}};
  program.run(&checks);
  return std::move(checks.findings);
}

const std::string product = "  @%first tcgen05.mma.cta_group::1.kind::f16 [%taddr], %da, %db, %idesc, %p;\n";
const std::string copy = "  @%first tcgen05.cp.cta_group::1.128x256b [%taddr], %da;\n";
const std::string commit =
    "  @%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n";
const std::string wait = R"(again:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra again;
  setp.ge.u32 %q, %t, 32;
  tcgen05.fence::after_thread_sync;
)";
const std::string load = R"(  add.u32 %at, %taddr, %lanes;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v1}, [%at];
)";
const std::string store = R"(  add.u32 %at, %taddr, %lanes;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%t};
)";
const std::string wait_load = "  tcgen05.wait::ld.sync.aligned;\n";
const std::string wait_store = "  tcgen05.wait::st.sync.aligned;\n";
const std::string meet =
    "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n";
const std::string overwrite = "  @%first st.shared.b32 [tile], %t;\n";
const std::string dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, 512;";

struct Fault {
  const char* name;
  std::set<FindingKind> kinds;
  Code wrong;
  Code right;
};

const Fault faults[] = {
    {"accumulators read before the wait",
     {unfinished_operation},
     {product + commit + load + wait},
     {product + commit + wait + load + wait_load}},
    {"no wait", {unfinished_operation, copies_in_flight}, {product + commit}, {product + commit + wait}},
    {"no commit", {unfinished_operation, copies_in_flight}, {product}, {product + commit + wait}},
    {"wait for the other parity",
     {unfinished_operation},
     {product + commit + "  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 1;\n" + load + wait},
     {product + commit + wait + load + wait_load}},
    {"commit by another thread",
     {unfinished_operation, copies_in_flight},
     {product + "  setp.eq.u32 %first, %t, 32;\n" + commit + wait},
     {"  setp.eq.u32 %first, %t, 32;\n" + product + commit + wait}},
    {"commit before the product",
     {unfinished_operation, copies_in_flight},
     {commit + product + wait},
     {product + commit + wait}},
    {"operand overwritten during the product",
     {unfinished_operation},
     {product + commit + overwrite + wait},
     {product + commit + wait + overwrite}},
    {"no proxy fence for the operands",
     {missing_proxy_fence},
     {product + commit + wait, "fence.proxy.async.shared::cta;"},
     {product + commit + wait}},
    {"no wait for a store of the accumulators",
     {unfinished_operation},
     {store + meet + product + commit + wait},
     {store + wait_store + meet + product + commit + wait}},
    {"store and load without a wait",
     {unfinished_operation},
     {store + load + wait_load + wait_store},
     {store + wait_store + load + wait_load}},
    {"no wait for a load of the accumulators",
     {unfinished_operation},
     {load + meet + product + commit + wait},
     {load + wait_load + meet + product + commit + wait}},
    {"product over what another warp loads",
     {unfinished_operation},
     {load + wait_load + product + commit + wait},
     {load + wait_load + meet + product + commit + wait}},
    {"copied words read before the wait",
     {unfinished_operation},
     {copy + commit + load + wait},
     {copy + commit + wait + load + wait_load}},
    {"no deallocation", {unreleased_memory}, {wait_load, dealloc}, {wait_load}},
};

TEST(TensorCoreFaults, AreFoundAndTheirRepairsAreNot) {
  for (const Fault& each : faults) {
    SCOPED_TRACE(each.name);
    const std::vector<Finding> found = run(each.wrong);
    EXPECT_EQ(kinds_of(found), each.kinds) << texts_of(found);
    const std::vector<Finding> repaired = run(each.right);
    EXPECT_THAT(repaired, IsEmpty()) << texts_of(repaired);
  }
}

TEST(TensorCoreFaults, OperationsOfTheTensorCoreNeedNoWaitBetweenThem) {
  const std::vector<Finding> found = run({copy + product + product + commit + wait});
  EXPECT_THAT(found, IsEmpty()) << texts_of(found);
  // Another thread issues the copy and synchronizes with the first one.
  const std::string other = "  setp.eq.u32 %first, %t, 64;\n" + copy + "  setp.eq.u32 %first, %t, 0;\n";
  const std::vector<Finding> threads = run({other + meet + product + commit + wait});
  EXPECT_THAT(threads, IsEmpty()) << texts_of(threads);
}

TEST(TensorCoreFaults, AreExplained) {
  EXPECT_THAT(texts_of(run({product})),
              AllOf(HasSubstr("an asynchronous matrix product with an operand in lane "),
                    HasSubstr("tcgen05.commit is missing")));
  EXPECT_THAT(texts_of(run({store + load + wait_load + wait_store})),
              AllOf(HasSubstr("an asynchronous load from lane "),
                    HasSubstr("tcgen05.wait::st is missing after the store")));
  EXPECT_THAT(texts_of(run({product + commit + load + wait})), HasSubstr("at which tcgen05.commit arrives"));
  EXPECT_THAT(texts_of(run({wait_load, dealloc})),
              HasSubstr("before tcgen05.dealloc has released the columns"));
}

TEST(TensorCoreFaults, InvalidUsesAreFindings) {
  const std::vector<Finding> lanes = run({"  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v1}, [%taddr];\n"});
  EXPECT_EQ(kinds_of(lanes), std::set{out_of_bounds}) << texts_of(lanes);
  const std::vector<Finding> shape = run({"  mov.u32 %idesc, 4;\n" + product});
  EXPECT_EQ(kinds_of(shape), std::set{invalid_tensor}) << texts_of(shape);
}

// ---------------------------------------------------------------- two blocks

/// Runs code in a cluster of two blocks. `%q` is true in the second one.
std::vector<Finding> run_pair(const std::string& code, std::string* failure = nullptr) {
  TensorProduct form{"f16", "f32", "f16", "f16", 256, 32};
  form.blocks = 2;
  TensorProgram program;
  program.blocks = 2;
  program.idesc = form.idesc();
  const auto zero = [](unsigned, unsigned) { return 0u; };
  for (unsigned block = 0; block < 2; ++block) {
    program.tensor[block] = numbered_image(program.columns);
    program.a = tensor_core_descriptor({}, place_matrix(program.image[block], {}, 16, 128, 16, zero));
    program.b = tensor_core_descriptor({}, place_matrix(program.image[block], {}, 16, 16, 16, zero));
  }
  program.code =
      "  .reg .b16 %mask;\n  mov.b16 %mask, 3;\n  mov.u32 %rank, %cluster_ctarank;\n"
      "  setp.ne.u32 %q, %rank, 0;\n" +
      code + "  setp.ge.u32 %q, %t, 32;\n";
  LaunchChecks checks{{.memory = true, .race = true, .init = false, .sync = true}};
  const std::string text = program.run(&checks);
  if (failure != nullptr) *failure = text;
  return std::move(checks.findings);
}

std::string in_second_block(const std::string& name, const std::string& code) {
  return "  setp.ne.u32 %q, %rank, 0;\n  @!%q bra " + name + ";\n" + code + name + ":\n";
}
const std::string write_operand = "  @%first st.shared.b32 [tile], %t;\n";
const std::string fence_proxies = "  @%first fence.proxy.async.shared::cta;\n";
const std::string meet_cluster = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
std::string product_of_pair(const std::string& commit_of_pair) {
  return "  setp.ne.u32 %q, %rank, 0;\n  @%q bra issued;\n"
         "  @%first tcgen05.mma.cta_group::2.kind::f16 [%taddr], %da, %db, %idesc, %p;\n  @%first " +
         commit_of_pair + "issued:\n";
}
const std::string commit_to_both = product_of_pair(
    "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], "
    "%mask;\n");
const std::string commit_to_one =
    product_of_pair("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n");

struct PairFault {
  const char* name;
  std::set<FindingKind> kinds;
  std::string wrong;
  std::string right;
};
const PairFault pair_faults[] = {
    {"no wait for the operands of the other block",
     {unfinished_operation},
     in_second_block("written", write_operand + fence_proxies) + commit_to_both + wait,
     in_second_block("written", write_operand + fence_proxies) + meet_cluster + commit_to_both + wait},
    {"no proxy fence in the other block",
     {missing_proxy_fence},
     in_second_block("written", write_operand) + meet_cluster + commit_to_both + wait,
     in_second_block("written", write_operand + fence_proxies) + meet_cluster + commit_to_both + wait},
    {"the other block overwrites its operand",
     {unfinished_operation},
     commit_to_both + in_second_block("written", write_operand) + wait,
     commit_to_both + wait + in_second_block("written", write_operand)},
    {"the other block loads sums before the wait",
     {unfinished_operation},
     commit_to_both + in_second_block("loaded", load) + wait,
     commit_to_both + wait + in_second_block("loaded", load + wait_load)},
};

TEST(TensorCoreFaults, TwoBlocksHaveFaultsAndRepairs) {
  for (const PairFault& each : pair_faults) {
    SCOPED_TRACE(each.name);
    const std::vector<Finding> found = run_pair(each.wrong);
    EXPECT_EQ(kinds_of(found), each.kinds) << texts_of(found);
    const std::vector<Finding> repaired = run_pair(each.right);
    EXPECT_THAT(repaired, IsEmpty()) << texts_of(repaired);
  }
}

TEST(TensorCoreFaults, ACommitToOneBlockLeavesTheOtherWaiting) {
  std::string failure;
  run_pair(commit_to_one + wait, &failure);
  EXPECT_THAT(failure,
              AllOf(HasSubstr("in block (1, 0, 0) warps 0 to 3 wait at the mbarrier at shared array 'bar'"),
                    HasSubstr("1 of 1 arrivals missing")));
  EXPECT_THAT(run_pair(commit_to_both + wait, &failure), IsEmpty());
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::tensor_core_faults
