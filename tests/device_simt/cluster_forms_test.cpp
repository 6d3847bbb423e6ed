// One test per form of an instruction that accesses the shared memory of another block of the cluster or
// synchronizes with its threads, compared with the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <ostream>
#include <vector>

#include "cluster_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

struct Form {
  std::string name;
  std::string code;
  std::function<std::uint32_t(std::uint32_t rank, std::uint32_t lane)> expected;
  friend std::ostream& operator<<(std::ostream& to, const Form& form) { return to << form.name; }
};

std::uint32_t of_next(std::uint32_t rank, std::uint32_t lane) { return value_of(next(rank), lane); }
std::uint32_t of_previous(std::uint32_t rank, std::uint32_t lane) { return value_of(previous(rank), lane); }
auto always(std::uint32_t value) {
  return [value](std::uint32_t, std::uint32_t) { return value; };
}

std::vector<Form> address_forms() {
  return {
      {"mapa.shared::cluster.u32", "  ld.shared::cluster.u32 %d, [%remote_at];\n", of_next},
      {"mapa.shared::cluster.u64",
       "  cvt.u64.u32 %l, %at;\n  mapa.shared::cluster.u64 %m, %l, %peer;\n  cvt.u32.u64 %e, %m;\n"
       "  ld.shared::cluster.u32 %d, [%e];\n",
       of_next},
      {"mapa of a name",
       "  mapa.shared::cluster.u32 %e, words, %peer;\n  ld.shared::cluster.u32 %d, [%e+8];\n",
       [](std::uint32_t rank, std::uint32_t) { return value_of(next(rank), 2); }},
      {"mapa.u64", "  mapa.u64 %m, %g_at, %peer;\n  ld.u32 %d, [%m];\n", of_next},
      {"mapa of what was mapped",
       "  mapa.shared::cluster.u32 %e, %remote_at, %rank;\n  ld.shared::cluster.u32 %d, [%e];\n", value_of},
      {"mapa.u64 of what was mapped", "  mapa.u64 %m, %gremote_at, %rank;\n  ld.u32 %d, [%m];\n", value_of},
      {"getctarank.shared::cluster.u32", "  getctarank.shared::cluster.u32 %d, %remote_at;\n",
       [](std::uint32_t rank, std::uint32_t) { return next(rank); }},
      {"getctarank of the block's own", "  getctarank.shared::cluster.u32 %d, %at;\n",
       [](std::uint32_t rank, std::uint32_t) { return rank; }},
      {"getctarank.u32", "  getctarank.u64 %m, %gremote_at;\n  cvt.u32.u64 %d, %m;\n",
       [](std::uint32_t rank, std::uint32_t) { return next(rank); }},
      {"isspacep.shared::cluster",
       "  isspacep.shared::cluster %p, %gremote_at;\n  isspacep.shared::cluster %q, %g_at;\n  selp.u32 %d, "
       "1, 0, %p;\n"
       "  @%q add.u32 %d, %d, 2;\n  isspacep.shared::cluster %q, %in;\n  @%q add.u32 %d, %d, 4;\n",
       always(3)},
      {"isspacep.shared::cta",
       "  isspacep.shared::cta %p, %gremote_at;\n  isspacep.shared %q, %g_at;\n  selp.u32 %d, 1, 0, %p;\n"
       "  @%q add.u32 %d, %d, 2;\n",
       always(2)},
      {"isspacep.global",
       "  isspacep.global %p, %gremote_at;\n  isspacep.global %q, %in;\n  selp.u32 %d, 1, 0, %p;\n"
       "  @%q add.u32 %d, %d, 2;\n",
       always(2)},
      {"cvta.shared::cluster.u64",
       "  cvt.u64.u32 %l, %remote_at;\n  cvta.shared::cluster.u64 %m, %l;\n  ld.u32 %d, [%m];\n", of_next},
      {"cvta.to.shared::cluster.u64",
       "  cvta.to.shared::cluster.u64 %m, %gremote_at;\n  cvt.u32.u64 %e, %m;\n  ld.shared::cluster.u32 %d, "
       "[%e];\n",
       of_next},
      {"cvta.to.shared::cluster of the block's own",
       "  cvta.to.shared::cluster.u64 %m, %g_at;\n  cvt.u32.u64 %e, %m;\n  ld.shared.u32 %d, [%e];\n",
       value_of},
  };
}

std::vector<Form> access_forms() {
  std::vector<Form> forms = {
      {"ld.shared::cluster of the block's own", "  ld.shared::cluster.u32 %d, [%at];\n", value_of},
      {"ld.shared::cluster.v2.u32",
       "  and.b32 %f, %off, 248;\n  add.u32 %f, %remote, %f;\n  ld.shared::cluster.v2.u32 {%d, %e}, [%f];\n"
       "  add.u32 %d, %d, %e;\n",
       [](std::uint32_t rank, std::uint32_t lane) { return 2 * value_of(next(rank), lane / 2 * 2) + 1; }},
      {"ld.shared::cluster.u8", "  ld.shared::cluster.u8 %d, [%remote_at];\n",
       [](std::uint32_t rank, std::uint32_t lane) { return value_of(next(rank), lane) & 255; }},
      {"ld.shared::cluster.b64",
       "  and.b32 %f, %off, 248;\n  add.u32 %f, %remote, %f;\n"
       "  ld.shared::cluster.b64 %l, [%f];\n  shr.u64 %l, %l, 32;\n  cvt.u32.u64 %d, %l;\n",
       [](std::uint32_t rank, std::uint32_t lane) { return value_of(next(rank), lane / 2 * 2 + 1); }},
      {"ld.acquire.cluster.shared::cluster", "  ld.acquire.cluster.shared::cluster.u32 %d, [%remote_at];\n",
       of_next},
      {"ld.u32", "  ld.u32 %d, [%gremote_at];\n", of_next},
      {"st.shared::cluster.u32",
       "  st.shared::cluster.u32 [%remote_at+128], %value;\n" + std::string(meet) +
           "  ld.shared.u32 %d, [%at+128];\n",
       of_previous},
      {"st.shared::cluster.v2.b32",
       "  shl.b32 %f, %t, 3;\n  add.u32 %f, %remote, %f;\n  st.shared::cluster.v2.b32 [%f+512], {%value, "
       "%t};\n" +
           std::string(meet) +
           "  shl.b32 %f, %t, 3;\n  add.u32 %f, %own, %f;\n  ld.shared.v2.u32 {%d, %e}, [%f+512];\n"
           "  add.u32 %d, %d, %e;\n",
       [](std::uint32_t rank, std::uint32_t lane) { return of_previous(rank, lane) + lane; }},
      {"st.release.cluster.shared::cluster",
       "  st.release.cluster.shared::cluster.u32 [%remote_at+128], %value;\n" + std::string(meet) +
           "  ld.shared.u32 %d, [%at+128];\n",
       of_previous},
      {"st.u32",
       "  st.u32 [%gremote_at+128], %value;\n" + std::string(meet) + "  ld.shared.u32 %d, [%at+128];\n",
       of_previous},
  };
  struct Atomic {
    const char* name;
    const char* operands;
    std::function<std::uint32_t(std::uint32_t old, std::uint32_t value)> next;
  };
  const Atomic atomics[] = {
      {"add.u32", "%value", [](auto old, auto value) { return old + value; }},
      {"min.u32", "%value", [](auto old, auto value) { return std::min(old, value); }},
      {"max.s32", "%value", [](auto old, auto value) { return std::max(old, value); }},
      {"and.b32", "%value", [](auto old, auto value) { return old & value; }},
      {"or.b32", "%value", [](auto old, auto value) { return old | value; }},
      {"xor.b32", "%value", [](auto old, auto value) { return old ^ value; }},
      {"exch.b32", "%value", [](auto, auto value) { return value; }},
      {"inc.u32", "%value", [](auto old, auto value) { return old >= value ? 0 : old + 1; }},
      {"dec.u32", "%value", [](auto old, auto value) { return old == 0 || old > value ? value : old - 1; }},
      {"cas.b32", "%h, %value", [](auto, auto value) { return value; }},
  };
  for (const Atomic& each : atomics) {
    const std::string name = each.name;
    const bool returns_only = name.starts_with("exch") || name.starts_with("cas");
    const std::string operands = each.operands;
    // The old value, and the value after the other blocks have updated their next ones.
    for (const std::string space : {".shared::cluster", ""}) {
      const std::string place = space.empty() ? "[%gremote_at+256]" : "[%remote_at+256]";
      forms.push_back(
          {"atom" + space + "." + name,
           "  add.u32 %h, %t, 500;\n  atom" + space + "." + name + " %d, " + place + ", " + operands + ";\n",
           [](std::uint32_t, std::uint32_t lane) { return 500 + lane; }});
      const std::string code = "  add.u32 %h, %t, 500;\n  " + std::string(returns_only ? "atom" : "red") +
                               space + "." + name + (returns_only ? " %e, " : " ") + place + ", " + operands +
                               ";\n" + meet + "  ld.shared.u32 %d, [%at+256];\n";
      forms.push_back({(returns_only ? "effect of atom" : "red") + space + "." + name, code,
                       [next_of = each.next](std::uint32_t rank, std::uint32_t lane) {
                         return next_of(500 + lane, of_previous(rank, lane));
                       }});
    }
  }
  forms.push_back({"red.shared::cluster.add.u32 of all to one word",
                   "  mapa.shared::cluster.u32 %e, %own, 0;\n  red.relaxed.cluster.shared::cluster.add.u32 "
                   "[%e+128], 1;\n" +
                       std::string(meet) + "  ld.shared.u32 %d, [%own+128];\n",
                   [](std::uint32_t rank, std::uint32_t) { return rank == 0 ? cluster_blocks * lanes : 0; }});
  forms.push_back({"atom.shared::cluster.add.u64",
                   "  shl.b32 %f, %t, 3;\n  add.u32 %f, %remote, %f;\n  atom.shared::cluster.add.u64 %l, "
                   "[%f+512], %long;\n" +
                       std::string(meet) +
                       "  shl.b32 %f, %t, 3;\n  add.u32 %f, %own, %f;\n"
                       "  ld.shared.u64 %l, [%f+512];\n  cvt.u32.u64 %d, %l;\n",
                   of_previous});
  return forms;
}

std::vector<Form> barrier_forms() {
  std::vector<Form> forms;
  for (const std::string arrive : {"arrive", "arrive.release", "arrive.relaxed", "arrive.aligned",
                                   "arrive.release.aligned", "arrive.relaxed.aligned"}) {
    for (const std::string wait : {"wait", "wait.acquire", "wait.aligned", "wait.acquire.aligned"}) {
      forms.push_back({"barrier.cluster." + arrive + ", " + wait,
                       "  st.shared::cluster.u32 [%remote_at+128], %value;\n  barrier.cluster." + arrive +
                           ";\n  add.u32 %e, %t, 1;\n  barrier.cluster." + wait +
                           ";\n  ld.shared.u32 %d, [%at+128];\n",
                       of_previous});
    }
  }
  forms.push_back(
      {"mbarrier.arrive at another block's",
       "  st.shared::cluster.u32 [%remote_at+128], %value;\n"
       "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rbar];\nagain:\n"
       "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%b], 0;\n  @!%q bra again;\n"
       "  ld.shared.u32 %d, [%at+128];\n",
       of_previous});
  forms.push_back(
      {"mbarrier.arrive with a count at another block's",
       "  st.shared::cluster.u32 [%remote_at+128], %value;\n" + std::string("  bar.sync 0;\n") +
           "  @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rbar], 32;\nagain:\n"
           "  mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %q, [%b], 0;\n  @!%q bra again;\n"
           "  ld.shared.u32 %d, [%at+128];\n",
       of_previous});
  forms.push_back(
      {"mbarrier.arrive.expect_tx and complete_tx at another block's",
       "  st.shared::cluster.u32 [%remote_at+128], %value;\n"
       "  mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%rbar], 8;\n"
       "  mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%rbar], 8;\nagain:\n"
       "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%b], 0;\n  @!%q bra again;\n"
       "  ld.shared.u32 %d, [%at+128];\n",
       of_previous});
  return forms;
}

std::vector<Form> asynchronous_forms() {
  const std::string completes = ".mbarrier::complete_tx::bytes";
  std::vector<Form> forms;
  for (const std::string type : {"b32", "u32", "s32"}) {
    for (const std::string weak : {"", ".weak"}) {
      forms.push_back({"st.async" + weak + "." + type,
                       "  st.async" + weak + ".shared::cluster" + completes + "." + type +
                           " [%remote_at+128], %value, [%rbar];\n" + await(4) +
                           "  ld.shared.u32 %d, [%at+128];\n",
                       of_previous});
    }
  }
  for (const std::string type : {"b64", "u64", "s64"}) {
    forms.push_back({"st.async." + type,
                     "  shl.b32 %f, %t, 3;\n  add.u32 %f, %remote, %f;\n  st.async.shared::cluster" +
                         completes + "." + type + " [%f+512], %long, [%rbar];\n" + await(8) +
                         "  shl.b32 %f, %t, 3;\n  add.u32 %f, %own, %f;\n  ld.shared.u64 %l, [%f+512];\n"
                         "  cvt.u32.u64 %d, %l;\n",
                     of_previous});
  }
  forms.push_back(
      {"st.async.v2.b32",
       "  shl.b32 %f, %t, 3;\n  add.u32 %f, %remote, %f;\n  st.async.shared::cluster" + completes +
           ".v2.b32 [%f+512], {%value, %t}, [%rbar];\n" + await(8) +
           "  shl.b32 %f, %t, 3;\n  add.u32 %f, %own, %f;\n  ld.shared.v2.u32 {%d, %e}, [%f+512];\n"
           "  add.u32 %d, %d, %e;\n",
       [](std::uint32_t rank, std::uint32_t lane) { return of_previous(rank, lane) + lane; }});
  forms.push_back(
      {"st.async.v4.u32",
       "  shl.b32 %f, %t, 4;\n  add.u32 %f, %remote, %f;\n  st.async.shared::cluster" + completes +
           ".v4.u32 [%f+512], {%value, %t, %rank, %value}, [%rbar];\n" + await(16) +
           "  shl.b32 %f, %t, 4;\n  add.u32 %f, %own, %f;\n  ld.shared.v4.u32 {%d, %e, %f, %h}, [%f+512];\n"
           "  add.u32 %d, %f, %h;\n",
       [](std::uint32_t rank, std::uint32_t lane) { return of_previous(rank, lane) + previous(rank); }});
  struct Reduction {
    const char* name;
    std::function<std::uint32_t(std::uint32_t old, std::uint32_t value)> next;
  };
  const Reduction reductions[] = {
      {"add.u32", [](auto old, auto value) { return old + value; }},
      {"add.s32", [](auto old, auto value) { return old + value; }},
      {"min.u32", [](auto old, auto value) { return std::min(old, value); }},
      {"min.s32", [](auto old, auto value) { return std::min(old, value); }},
      {"max.u32", [](auto old, auto value) { return std::max(old, value); }},
      {"max.s32", [](auto old, auto value) { return std::max(old, value); }},
      {"inc.u32", [](auto old, auto value) { return old >= value ? 0 : old + 1; }},
      {"dec.u32", [](auto old, auto value) { return old == 0 || old > value ? value : old - 1; }},
      {"and.b32", [](auto old, auto value) { return old & value; }},
      {"or.b32", [](auto old, auto value) { return old | value; }},
      {"xor.b32", [](auto old, auto value) { return old ^ value; }},
  };
  for (const Reduction& each : reductions) {
    forms.push_back({std::string("red.async.") + each.name,
                     "  red.async.relaxed.cluster.shared::cluster" + completes + "." + each.name +
                         " [%remote_at+256], %value, [%rbar];\n" + await(4) +
                         "  ld.shared.u32 %d, [%at+256];\n",
                     [next_of = each.next](std::uint32_t rank, std::uint32_t lane) {
                       return next_of(500 + lane, of_previous(rank, lane));
                     }});
  }
  forms.push_back(
      {"red.async.add.u64",
       "  shl.b32 %f, %t, 3;\n  add.u32 %f, %remote, %f;\n  red.async.relaxed.cluster.shared::cluster" +
           completes + ".add.u64 [%f+512], %long, [%rbar];\n" + await(8) +
           "  shl.b32 %f, %t, 3;\n  add.u32 %f, %own, %f;\n  ld.shared.u64 %l, [%f+512];\n"
           "  cvt.u32.u64 %d, %l;\n",
       of_previous});
  // One thread copies for all, so the barrier gets 31 arrivals without bytes.
  const auto bulk = [&](const std::string& opcode, const std::string& operands) {
    return "  @%first " + opcode + " " + operands +
           ";\n  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128;\n"
           "  @!%first mbarrier.arrive.shared.b64 _, [%b];\nagain:\n"
           "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%b], 0;\n  @!%q bra again;\n"
           "  ld.shared.u32 %d, [%at+128];\n";
  };
  const auto of_first = [](std::uint32_t, std::uint32_t lane) { return value_of(0, lane); };
  forms.push_back(
      {"cp.async.bulk.shared::cluster.shared::cta",
       bulk("cp.async.bulk.shared::cluster.shared::cta" + completes, "[%remote+128], [%own], 128, [%rbar]"),
       of_previous});
  forms.push_back(
      {"cp.async.bulk.shared::cluster.global",
       bulk("cp.async.bulk.shared::cluster.global" + completes, "[%remote+128], [%in], 128, [%rbar]"),
       of_first});
  forms.push_back({"cp.async.bulk.shared::cta.global",
                   bulk("cp.async.bulk.shared::cta.global" + completes, "[%own+128], [%in], 128, [%b]"),
                   of_first});
  // The first block of the cluster copies to all four.
  forms.push_back(
      {"cp.async.bulk.multicast::cluster",
       "  mov.u32 %mask, 15;\n  setp.ne.u32 %p, %rank, 0;\n  or.b32 %e, %rank, %t;\n"
       "  setp.eq.u32 %p, %e, 0;\n  @%p cp.async.bulk.shared::cluster.global" +
           completes + ".multicast::cluster [%own+128], [%in], 128, [%b], %mask;\n" +
           "  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128;\n"
           "  @!%first mbarrier.arrive.shared.b64 _, [%b];\nagain:\n"
           "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%b], 0;\n  @!%q bra again;\n"
           "  ld.shared.u32 %d, [%at+128];\n",
       of_first});
  return forms;
}

std::vector<Form> all_forms() {
  std::vector<Form> all;
  for (auto make : {&address_forms, &access_forms, &barrier_forms, &asynchronous_forms}) {
    for (Form& each : make()) all.push_back(std::move(each));
  }
  return all;
}

class ClusterForms : public testing::TestWithParam<Form> {};

TEST_P(ClusterForms, MatchTheHost) {
  Values out{};
  ASSERT_EQ(run_cluster(kernel_with(GetParam().code), out), "");
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const std::uint32_t rank = i / lanes % cluster_blocks;
    ASSERT_EQ(out[i], GetParam().expected(rank, i % lanes)) << "block " << i / lanes << " lane " << i % lanes;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ClusterForms, testing::ValuesIn(all_forms()),
                         [](const testing::TestParamInfo<Form>& each) {
                           std::string name = std::to_string(each.index) + "_" + each.param.name;
                           std::ranges::replace_if(
                               name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace lynxpp::device::cpu::test
