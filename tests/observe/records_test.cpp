// Conversion of records to observations, and the specification that creates the records.
#include "observe/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cod/specification.h"
#include "observe/specification.h"

namespace lynxpp::observe {
namespace {

using models::Observation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Numbers = std::vector<std::uint64_t>;

struct Entry {
  std::uint64_t block, first, lanes, instruction, warp, bytes, arithmetic, kind;
};
constexpr std::uint64_t leaves = 2;  // the kernel has this number of instructions
constexpr std::uint64_t all = 0xffffffff;

struct RunRecords {
  std::vector<Entry> entries;
  Numbers addresses;
  std::uint64_t dropped = 0;
  std::uint32_t blocks = 2;

  void access(std::uint64_t block, std::uint64_t lanes, std::uint64_t instruction, std::uint64_t kind = 0) {
    entries.push_back({block, addresses.size(), lanes, instruction, 0, 4, 7, kind});
    for (std::uint64_t left = lanes; left != 0; left &= left - 1)
      addresses.push_back(0x1000 + 4 * static_cast<unsigned>(std::countr_zero(left)));
  }
  void leave(std::uint64_t block, std::uint64_t lanes, std::uint64_t seen = 2) {
    entries.push_back({block, 0, lanes, leaves, 0, 0, 0, seen});
  }

  std::vector<report::Record> records() const {
    report::SitesRecord sites;
    sites.kernel = "k";
    sites.opcodes = {"ld.global.f32", "st.shared.f32"};
    sites.files = {"src/k.cu"};
    sites.labels = {{"MEM_READ", "GLOBAL"}, {"MEM_WRITE", "SHARED"}};
    sites.instructions = {{0, 0, 0, 31, 0, 5}, {0, 1, 1, 32, 0, 6}};
    report::LaunchRecord launch;
    launch.kernel = "k";
    launch.grid[0] = blocks;
    launch.block[0] = 32;
    launch.sites = 0;
    const auto add = [&](const std::string& name, Numbers values) {
      launch.results.push_back({name, {values.size()}, values, ""});
    };
    const auto column = [&](const char* name, std::uint64_t Entry::*member) {
      Numbers values;
      for (const Entry& each : entries) values.push_back(each.*member);
      add("accesses." + std::string(name), values);
    };
    column("block", &Entry::block), column("first", &Entry::first), column("lanes", &Entry::lanes);
    column("instruction", &Entry::instruction), column("warp", &Entry::warp), column("bytes", &Entry::bytes);
    column("arithmetic", &Entry::arithmetic), column("kind", &Entry::kind);
    add("addresses.value", addresses);
    add("dropped", {dropped});
    add("executions", {64, 32});
    // In allocation order.
    launch.results.push_back({"arrays.address", {4}, Numbers{0x9000, 0x400, 0x1000, 0x5000}, ""});
    launch.results.back().labels = {"#0 parameter 1", "tile", "#1 parameter 0", "#2 parameter 2"};
    add("arrays.bytes", {4096, 64, 4096, 256});
    add("arrays.shared", {0, 1, 0, 0});
    return {sites, launch};
  }
  Observation observation(const Transfers* transfers = nullptr) const {
    auto found = observations_of(records(), [&](const std::string&) { return transfers; });
    EXPECT_TRUE(found) << (found ? "" : found.error().diagnostics[0].message);
    return found ? found->at(0) : Observation{};
  }
};

TEST(ObservedRecords, AreParsed) {
  RunRecords run;
  run.access(0, 0x5, 0);
  run.access(0, all, 1, 3);
  run.leave(0, all);
  const Transfers transfers{{{32, 31}}, {}, {}};
  const Observation observation = run.observation(&transfers);
  ASSERT_EQ(observation.sites.size(), 2u);
  EXPECT_EQ(observation.sites[0].opcode, "ld.global.f32");
  EXPECT_EQ(location_of(observation.sites[1]), "k.cu:6");
  EXPECT_EQ(observation.sites[0].executions, 64u);
  EXPECT_EQ(observation.sites[1].fetched_by, 0u);
  EXPECT_EQ(observation.sites[1].kind, models::AccessKind::write);
  ASSERT_EQ(observation.accesses.size(), 2u);
  EXPECT_THAT(observation.addresses_of(observation.accesses[0]), ElementsAre(0x1000u, 0x1008u));
  EXPECT_EQ(observation.accesses[0].arithmetic, 7u);
  EXPECT_FALSE(observation.accesses[0].is_shared);
  EXPECT_TRUE(observation.accesses[1].is_shared && observation.accesses[1].writes);
  std::vector<std::string> arrays;
  for (const models::ObservedArray& each : observation.arrays) arrays.push_back(each.name);
  EXPECT_THAT(arrays, ElementsAre("#0 parameter 1", "tile", "#1 parameter 0", "#2 parameter 2"));
}

TEST(ObservedRecords, BlockIsCompleteIfAllItsThreadsHaveExited) {
  RunRecords run;
  run.access(0, all, 0);
  run.leave(0, 0xffff);
  EXPECT_THAT(run.observation().blocks, IsEmpty());
  run.leave(0, 0xffff0000);
  EXPECT_THAT(run.observation().blocks, ElementsAre(0u));
  EXPECT_FALSE(run.observation().is_whole());
  run.leave(1, all);
  EXPECT_TRUE(run.observation().is_whole());
}

TEST(ObservedRecords, BlockWithMissingAddressesIsOmitted) {
  RunRecords run;
  run.access(0, all, 0);
  run.access(1, all, 0);
  run.leave(0, all);
  run.leave(1, all);
  run.addresses.resize(40);  // dropped entries
  run.dropped = 3;
  const Observation observation = run.observation();
  EXPECT_THAT(observation.blocks, ElementsAre(0u));
  EXPECT_EQ(observation.first_blocks, 1u);
  EXPECT_EQ(observation.dropped, 3u);
}

TEST(ObservedRecords, ChannelBlocksAreNotChosen) {
  RunRecords run;
  run.blocks = 3;
  run.leave(0, all, 1);
  run.leave(1, all, 2);
  run.leave(2, all, 1);
  EXPECT_THAT(run.observation().blocks, ElementsAre(1u));
  EXPECT_EQ(run.observation().first_blocks, 3u);
}

TEST(ObservedRecords, ForeignRecordsAreRejected) {
  std::vector<report::Record> records = RunRecords().records();
  std::get<report::LaunchRecord>(records[1])
      .results.erase(std::get<report::LaunchRecord>(records[1]).results.begin());
  const auto found = observations_of(records, [](const std::string&) { return nullptr; });
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().diagnostics[0].message, HasSubstr("'accesses.block'"));
  records.erase(records.begin());
  EXPECT_FALSE(observations_of(records, [](const std::string&) { return nullptr; }));
}

TEST(ObservingSpecification, ContainsTheChoice) {
  const std::string text = specification_text({7, 5, 3, 1000, 2000});
  EXPECT_THAT(text, HasSubstr("chosen_blocks = 7;"));
  EXPECT_THAT(text, HasSubstr("seed = 5;"));
  EXPECT_THAT(text, HasSubstr("first_blocks = 3;"));
  EXPECT_THAT(text, HasSubstr("accesses[1000];"));
  EXPECT_THAT(text, HasSubstr("addresses[2000];"));
  const auto specification = cod::compile(text, "memory_accesses.cod");
  ASSERT_TRUE(specification);
  EXPECT_TRUE((*specification)->lists_arrays());
}

}  // namespace
}  // namespace lynxpp::observe
