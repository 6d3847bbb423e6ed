#include "report/tables/table_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/report/tables.h"

namespace lynxpp::report {
namespace {

TEST(Table, OneLaunch) {
  EXPECT_EQ(table_of({vecadd_launch()}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block  thread_instructions  warp_instructions
vecadd         1    40    256            1,234,567             38,593
)table");
}

TEST(Table, HeaderNamesTheFoldOfSeveralLaunches) {
  LaunchRecord second = vecadd_launch(1);
  second.grid[1] = 2;
  second.block[2] = 3;
  std::vector<Record> records{vecadd_launch(), second};
  for (Record& record : records) {
    auto& results = std::get<LaunchRecord>(record).results;
    results.push_back(number("mean_per_thread", results.size() == 2 ? 18.0 : 0.0, "instructions"));
    results.push_back(number<std::uint64_t>("max_cycles", &record == &records[0] ? 5000 : 70, "cycles"));
  }
  std::get<LaunchRecord>(records[1]).results[2] = number("mean_per_thread", 19.0, "instructions");
  records.emplace_back(launch_of("histogram", {number<std::uint64_t>("thread_instructions", 12)}));
  EXPECT_EQ(table_of(records),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel     launches    grid   block  thread_instructions  warp_instructions
                                                   (sum)              (sum)
vecadd            2  varies  varies            2,469,134             77,186
histogram         1      40     256                   12

kernel          mean_per_thread  max_cycles
           (instructions, mean)       (max)
vecadd                   18.500       5,000
histogram
)table");
}

TEST(Table, SpecificationsAndDevicesHaveSeparateSections) {
  LaunchRecord other = launch_of("k", {number<std::uint64_t>("cycles", 9)});
  other.spec = "kernel_runtime";
  LaunchRecord gpu = vecadd_launch();
  gpu.device = "NVIDIA H200";
  EXPECT_EQ(table_of({vecadd_launch(), other, gpu}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block  thread_instructions  warp_instructions
vecadd         1    40    256            1,234,567             38,593

== lynxpp: kernel_runtime on cpu ==
kernel  launches  grid  block  cycles
k              1    40    256       9

== lynxpp: instruction_count on NVIDIA H200 ==
kernel  launches  grid  block  thread_instructions  warp_instructions
vecadd         1    40    256            1,234,567             38,593
)table");
}

TEST(Table, ArraysAreSummarisedAndShortOnesListed) {
  std::vector<std::uint64_t> threads(1000);
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i] = i;
  const auto results = std::vector<ResultValue>{
      array<std::uint64_t>("instructions", threads, {}, "PTX instructions"),
      array<std::uint64_t>("thread_executions", {1024, 0, 31}),
      array<std::uint64_t>("warp_executions", {32, 0, 1}), array<double>("load", {0.5, 1.5}),
      array<std::uint64_t>("matrix", {1, 2, 3, 4}, {2, 2})};
  EXPECT_EQ(table_of({launch_of("k", results), launch_of("k", results)}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block
k              2    40    256

kernel  array                            elements      sum    min    max
k       instructions (PTX instructions)     1,000  999,000      0    999
k       thread_executions                       3    2,110      0  1,024
k       warp_executions                         3       66      0     32
k       load                                    2    4.000  0.500  1.500
k       matrix                                  4       20      1      4

k
  index  thread_executions  warp_executions
      0              2,048               64
      1                  0                0
      2                 62                2

k
  index   load
      0  1.000
      1  3.000
)table");
}

TEST(Table, ArraysWhoseLengthChangesAreNotListed) {
  EXPECT_EQ(table_of({launch_of("k", {array<std::uint64_t>("a", {1, 2})}),
                      launch_of("k", {array<std::uint64_t>("a", {1, 2, 3})})}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block
k              2    40    256

kernel  array  elements  sum  min  max
k       a             3    9    1    3
)table");
}

TEST(Table, NarrowTerminalDropsDigitsBeforeColumns) {
  const auto results = std::vector<ResultValue>{number<std::uint64_t>("loads", 123456789012345),
                                                number<std::uint64_t>("stores", 4567890123456)};
  EXPECT_EQ(table_of({launch_of("histogram", results)}, 60),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel     launches  grid  block   loads  stores
histogram         1    40    256  123.5T  4.568T
)table");
}

TEST(Table, ColumnsThatDoNotFitGoIntoAnotherTable) {
  const auto results = std::vector<ResultValue>{number<std::uint64_t>("thread_instructions", 123456789012345),
                                                number<std::uint64_t>("warp_instructions", 4567890123456),
                                                number("load_efficiency", 0.875)};
  const LaunchRecord record = launch_of("_ZN3cub6reduceILi128EfEEvPKT0_PS1_i", results);
  EXPECT_EQ(table_of({record}, 80),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel                   launches  grid  block  thread_instructions
cub::reduce<128, float>         1    40    256  123,456,789,012,345

kernel                   warp_instructions  load_efficiency
cub::reduce<128, float>  4,567,890,123,456            0.875
)table");
  EXPECT_EQ(table_of({record}, 60),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel                   launches  grid  block
cub::reduce<128, float>         1    40    256

kernel                   thread_instructions
cub::reduce<128, float>  123,456,789,012,345

kernel                   warp_instructions  load_efficiency
cub::reduce<128, float>  4,567,890,123,456            0.875
)table");
}

TEST(Table, KernelsWithoutInstrumentationAreListedWithTheReason) {
  EXPECT_EQ(
      table_of(
          {vecadd_launch(), CoverageRecord{"_Z6vecaddPKfS0_Pfi", true, "", 1, 1, 4, {}},
           CoverageRecord{"_Z4gemmPf", false, "its image holds no PTX (only sm_75 code)", 12, 0, 0, {}},
           CoverageRecord{"scan", true, "stream capture", 10, 7, 3, {"function pointers are not followed"}},
           CoverageRecord{"empty", true, "", 2, 2, 0, {}}, CoverageRecord{"other", false, "", 1, 0, 0, {}}}),
      R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block  thread_instructions  warp_instructions
vecadd         1    40    256            1,234,567             38,593

== lynxpp: not instrumented ==
kernel        launches  reason
gemm(float*)        12  its image holds no PTX (only sm_75 code)
scan           3 of 10  stream capture
empty                2  no site in this kernel matches the specification
other                1  not selected
note: scan: function pointers are not followed
)table");
}

TEST(Table, NotesOfLaunchesAreCounted) {
  LaunchRecord record = vecadd_launch();
  record.notes = {"3 accesses out of bounds"};
  EXPECT_EQ(table_of({record, vecadd_launch(), record}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block  thread_instructions  warp_instructions
                                             (sum)              (sum)
vecadd         3    40    256            3,703,701            115,779
note: vecadd(float const*, float const*, float*, int): 3 accesses out of bounds (2 launches)
)table");
}

TEST(Table, NotesSayHowOftenAndInHowManyLaunches) {
  LaunchRecord record = launch_of("k", {});
  record.notes = {"slow", "slow", "slow"};
  EXPECT_NE(table_of({record}).find("\nnote: k: slow (3 times)\n"), std::string::npos);
  EXPECT_NE(table_of({record, record}).find("\nnote: k: slow (6 times in 2 launches)\n"), std::string::npos);
}

TEST(Table, ListOfNotesIsLimited) {
  std::vector<Record> records;
  for (int i = 0; i < 40; ++i) {
    LaunchRecord record = launch_of("k", {});
    record.notes = {"block " + std::to_string(i) + "\nis slow\n"};
    records.emplace_back(record);
  }
  const std::string table = table_of(records);
  EXPECT_NE(table.find("note: k: block 15 is slow\nnote: k: 24 more notes: see LYNXPP_OUTPUT\n"),
            std::string::npos)
      << table;
}

TEST(Table, NaNElementsAffectTheSum) {
  EXPECT_EQ(table_of({launch_of("k", {array<double>("a", {1.5, std::nan(""), -2.5}, {3, 1})})}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block
k              1    40    256

kernel  array  elements  sum     min    max
k       a             3    -  -2.500  1.500
)table");
}

TEST(Table, ArraysOfManyKernelsAreNotAllListed) {
  std::vector<Record> records;
  for (int i = 0; i < 10; ++i)
    records.emplace_back(launch_of("k" + std::to_string(i), {array<std::uint64_t>("a", {1})}));
  const std::string table = table_of(records);
  EXPECT_NE(
      table.find(
          "\nk7\n  index  a\n      0  1\n\nshort arrays of kernels:\n  … 2 more: `lynxpp report --all`"),
      std::string::npos)
      << table;
}

TEST(Table, NamesOfCFunctionsAreNotTakenForEncodedTypes) {
  EXPECT_NE(table_of({launch_of("f", {})}).find("\nf  "), std::string::npos);
}

TEST(Table, HistogramsAreListedByTheirBins) {
  ResultValue bins = array<std::uint64_t>("depth", {4, 0, 9});
  bins.bounds = {0, 10, 100, 1000};
  bins.underflow = {2};
  bins.overflow = {3};
  const std::string table = table_of({launch_of("k", {bins}), launch_of("k", {bins})});
  EXPECT_NE(
      table.find("k\n  from  depth\n     0      8  ##################\n    10      0\n"
                 "   100     18  ########################################\n  depth: 4 below, 6 beyond\n"),
      std::string::npos)
      << table;
}

ResultValue column(const std::string& table, const std::string& name, std::vector<std::uint64_t> values,
                   std::optional<Fold> fold = std::nullopt) {
  ResultValue result = array<std::uint64_t>(table + "." + name, std::move(values));
  result.table = table;
  result.fold = fold;
  return result;
}

LaunchRecord numbered(LaunchRecord record, std::uint64_t launch) {
  record.launch = launch;
  return record;
}

TEST(Table, RowsOfTracesStayApartByLaunch) {
  const LaunchRecord launch =
      launch_of("k", {column("hits", "address", {64, 128}), column("hits", "count", {7, 8})});
  EXPECT_NE(table_of({launch}).find(R"table(
k: hits
  index  address  count
      0     0x40      7
      1     0x80      8
)table"),
            std::string::npos)
      << table_of({launch});
  const std::string two = table_of({launch, numbered(launch, 5)});
  EXPECT_NE(two.find(R"table(
k: hits
  launch  index  address  count
       0      0     0x40      7
       0      1     0x80      8
       5      0     0x40      7
       5      1     0x80      8
)table"),
            std::string::npos)
      << two;
  EXPECT_EQ(two.find("384"), std::string::npos) << "addresses are not added up\n" << two;
}

TEST(Table, BitsAreHexadecimal) {
  const std::string table = table_of({launch_of(
      "k", {number<std::uint64_t>("first", 0x7f0012, "address"),
            number<std::uint64_t>("lanes", 0xffff, "mask"), number<std::uint64_t>("mask_count", 17)})});
  EXPECT_NE(table.find("0x7f0012"), std::string::npos) << table;
  EXPECT_NE(table.find("0xffff"), std::string::npos) << table;
  EXPECT_NE(table.find(" 17\n"), std::string::npos) << "an amount\n" << table;
}

TEST(Table, MasksAreNotSummed) {
  const LaunchRecord launch = launch_of("k", {number<std::uint64_t>("lanes", 0xf0, "mask")});
  const std::string table = table_of({launch, numbered(launch, 1)});
  EXPECT_NE(table.find(" 0xf0\n"), std::string::npos) << table;
}

TEST(Table, FullTableHasEveryRowElementAndKernel) {
  std::vector<Record> records;
  for (int i = 0; i < 10; ++i)
    records.emplace_back(
        launch_of("k" + std::to_string(i), {array<std::uint64_t>("a", std::vector<std::uint64_t>(50, 3)),
                                            column("t", "n", std::vector<std::uint64_t>(40, 5))}));
  std::string text;
  TableOptions options{[&](std::string_view written) { text += written; }};
  options.is_whole = true;
  replay(records, *make_table_sink(options));
  EXPECT_EQ(text.find("more"), std::string::npos) << text;
  EXPECT_NE(text.find("\nk9\n  index  a\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n     49  3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n     39  5\n"), std::string::npos) << text;
}

TEST(Table, LongTracesAreTruncated) {
  const LaunchRecord launch = launch_of("k", {column("t", "n", std::vector<std::uint64_t>(20, 3))});
  const std::string table = table_of({launch, numbered(launch, 1)});
  EXPECT_NE(
      table.find("       1     11  3\n  … 8 more: `lynxpp report --all` on the file of LYNXPP_OUTPUT\n"),
      std::string::npos)
      << table;
}

LaunchRecord map_launch(std::vector<std::uint64_t> keys, std::vector<std::uint64_t> counts,
                        std::vector<std::uint64_t> latest) {
  return launch_of("k", {column("lines", "key", std::move(keys), Fold::key),
                         column("lines", "uses", std::move(counts), Fold::sum),
                         column("lines", "last", std::move(latest), Fold::maximum),
                         column("lines", "owner", {4, 4}, Fold::same)});
}

TEST(Table, MapsAreFoldedByKey) {
  const std::string table =
      table_of({map_launch({64, 128}, {9, 8}, {1, 5}), numbered(map_launch({128, 256}, {3, 1}, {4, 7}), 1)});
  EXPECT_NE(table.find(R"table(
k: lines
  key   uses   last   owner
       (sum)  (max)  (same)
  128     11      5       4
   64      9      1       4
  256      1      7       4
)table"),
            std::string::npos)
      << table;
}

TEST(Table, TheFirstEntriesOfMapsStayApartByLaunch) {
  LaunchRecord second = numbered(map_launch({128, 256}, {3, 1}, {4, 7}), 1);
  for (ResultValue& result : second.results) result.left_out = 30;
  const std::string table = table_of({map_launch({64, 128}, {9, 8}, {1, 5}), second});
  EXPECT_NE(table.find(R"table(
k: lines
  launch  key  uses  last  owner
       0   64     9     1      4
       0  128     8     5      4
       1  128     3     4      4
       1  256     1     7      4
  … 30 more: `lynxpp report --all` on the file of LYNXPP_OUTPUT
)table"),
            std::string::npos)
      << table;
}

TEST(Table, RatiosMatchTheSumsNextToThem) {
  const auto launch = [](std::uint64_t asked, std::uint64_t moved) {
    return launch_of("k", {number<std::uint64_t>("asked", asked), number<std::uint64_t>("moved", moved),
                           ratio("efficiency", asked, moved)});
  };
  EXPECT_EQ(table_of({launch(4, 32), launch(128124, 128992)}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block    asked    moved  efficiency
                                 (sum)    (sum)     (ratio)
k              2    40    256  128,128  129,024       0.993
)table");
}

TEST(Table, DifferingGridsAreMarked) {
  LaunchRecord second = vecadd_launch(1);
  second.grid[0] = 41;
  const std::string table = table_of({vecadd_launch(), second});
  EXPECT_NE(table.find("vecadd         2  varies    256"), std::string::npos) << table;
}

TEST(Table, AddressesAreNotSummed) {
  const auto launch = [](std::uint64_t first) {
    return launch_of("k", {number<std::uint64_t>("first", first, "address"),
                           array<std::uint64_t>("all", {first, 4096}, {}, "address")});
  };
  EXPECT_EQ(table_of({launch(4096), launch(8192)}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block            first
                               (address, same)
k              2    40    256           varies

kernel  array          elements  sum     min     max
k       all (address)         2       0x1000  0x2000

k
  index     all
         (same)
      0  varies
      1  0x1000
)table");
}

TEST(Table, ArraysWithNamesAreFoldedByName) {
  const auto launch = [](std::vector<std::string> labels, std::vector<std::uint64_t> accesses,
                         std::vector<std::uint64_t> least) {
    ResultValue first = column("arrays", "accesses", std::move(accesses), Fold::sum);
    ResultValue second = column("arrays", "least", std::move(least), Fold::minimum);
    ResultValue mean = first;
    mean.name = "arrays.mean";
    mean.fold.reset();
    mean.denominators = std::vector<std::uint64_t>(labels.size(), 10);
    first.labels = second.labels = mean.labels = std::move(labels);
    return launch_of("k", {first, second, mean});
  };
  const std::string table =
      table_of({launch({"#0", "#1"}, {10, 20}, {1, 2}), launch({"#1", "#2"}, {40, 7}, {0, 5})});
  EXPECT_NE(table.find(R"table(
k
  arrays  accesses  least     mean
                    (min)  (ratio)
      #0        10      1    1.000
      #1        60      0    3.000
      #2         7      5    0.700
)table"),
            std::string::npos)
      << table;
}

/// A key's numbers may represent other texts in another launch; the texts are the keys.
TEST(Table, KeysOfTextsAreFoldedByText) {
  const auto launch = [](std::vector<std::uint64_t> keys, std::vector<std::string> texts,
                         std::vector<std::uint64_t> loads) {
    ResultValue key = column("loads", "key", std::move(keys), Fold::key);
    key.texts = std::move(texts);
    return launch_of("k", {key, column("loads", "value", std::move(loads), Fold::sum)});
  };
  const std::string table = table_of(
      {launch({4, 9}, {"a.cu:3", "b.cu:7"}, {10, 2}), launch({4, 5}, {"b.cu:7", "a.cu:3"}, {40, 7})});
  EXPECT_NE(table.find(R"table(
k: loads
     key  value
          (sum)
  b.cu:7     42
  a.cu:3     17
)table"),
            std::string::npos)
      << table;
}

/// Records of other programs may declare any fold for texts.
TEST(Table, TextsAreNotAdded) {
  for (const Fold fold : {Fold::sum, Fold::mean, Fold::ratio, Fold::minimum, Fold::maximum, Fold::same}) {
    const auto launch = [fold](std::vector<std::string> texts) {
      ResultValue name = column("loads", "name", {7, 8}, fold);
      name.texts = std::move(texts);
      if (fold == Fold::ratio) name.denominators = Values(std::vector<std::uint64_t>{0, 0});
      return launch_of("k", {column("loads", "key", std::vector<std::uint64_t>{4, 9}, Fold::key), name});
    };
    const std::string table = table_of({launch({"a", "b"}), launch({"c", "b"})});
    EXPECT_NE(table.find("varies"), std::string::npos) << table;
    EXPECT_NE(table.find(" b\n"), std::string::npos) << table;
  }
}

/// If the records declare how to fold every column of a table without keys, rows with the same number are
/// folded.
TEST(Table, RowsAreFoldedAsDeclared) {
  const auto table_with = [](Fold fold) {
    const auto launch = [fold](std::uint64_t index, std::vector<std::uint64_t> cycles) {
      LaunchRecord record = launch_of("k", {column("steps", "cycles", std::move(cycles), fold)});
      record.launch = index;
      return record;
    };
    return table_of({launch(0, {10, 20}), launch(1, {7, 30, 5})});
  };
  const auto has = [&](Fold fold, const std::string& rows) {
    const std::string table = table_with(fold);
    EXPECT_NE(table.find("\nk: steps\n" + rows), std::string::npos) << table;
  };
  has(Fold::maximum, "  index  cycles\n          (max)\n      0      10\n      1      30\n      2       5\n");
  has(Fold::sum, "  index  cycles\n          (sum)\n      0      17\n      1      50\n      2       5\n");
  has(Fold::first, "  index   cycles\n         (first)\n      0       10\n      1       20\n");
  has(Fold::last, "  index  cycles\n         (last)\n      0       7\n      1      30\n      2       5\n");
  has(Fold::concatenate,
      "  launch  index  cycles\n       0      0      10\n       0      1      20\n       1      0       7\n"
      "       1      1      30\n       1      2       5\n");
}

TEST(Table, PicturesOfNamedRowsAreOmitted) {
  ResultValue heat = array<std::uint64_t>("heat", std::vector<std::uint64_t>(128, 3), {2, 64});
  heat.labels = {"a", "b"};
  EXPECT_EQ(table_of({launch_of("k", {heat}), launch_of("k", {heat})}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block
k              2    40    256
)table");
}

TEST(Table, ModelledTimesAreMarked) {
  TimingRecord record{"a", 1, 1, 1, 1, 3};
  record.modelled = "compute_1_3";
  EXPECT_THAT(
      table_of({record, TimingRecord{"b", 1, 1, 1, 1, 3}}),
      testing::HasSubstr("== lynxpp: time in milliseconds; execute is modelled for compute_1_3 ==\n"));
}

TEST(Table, Timings) {
  EXPECT_EQ(table_of({TimingRecord{"a", 1.5, 0.25, 0.125, 12, 3}, TimingRecord{"b", 1, 1, 1, 1, 1000},
                      TimingRecord{"a", 0, 0, 0, 0, 4}}),
            R"table(
== lynxpp: time in milliseconds ==
kernel  parse  instrument   emit    load  execute
a       1.500       0.250  0.125  12.000    7.000
b       1.000       1.000  1.000   1.000  1,000.0
total   2.500       1.250  1.125  13.000  1,007.0
)table");
}

TEST(Table, TimingsShowRegistersAndOccupancy) {
  TimingRecord record{"a", 1, 1, 1, 1, 1};
  record.original = KernelResources{20, 0, 0, 16, 64, 64};
  record.variant = KernelResources{28, 0, 0, 16, 64, 64};
  EXPECT_EQ(table_of({record, TimingRecord{"b", 1, 1, 1, 1, 1}}), R"table(
== lynxpp: time in milliseconds ==
kernel  parse  instrument   emit   load  execute  registers   warps
                                                             per SM
a       1.000       1.000  1.000  1.000    1.000   20 -> 28      64
b       1.000       1.000  1.000  1.000    1.000
total   2.000       2.000  2.000  2.000    2.000
)table");
}

TEST(Table, EndsWithHowFarToTrustItsNumbers) {
  LaunchRecord launch = launch_of("k", {});
  EXPECT_THAT(whole_table_of({launch}),
              testing::EndsWith("\nTrust: counted: instruction_count (exact for PTX); see docs/trust.md\n"));
  launch.spec = "branch_divergence";
  EXPECT_THAT(whole_table_of({launch}), testing::HasSubstr("PTX branches; equal to ncu in 0 of 45 kernels"));
  launch.spec = "of_a_user";
  EXPECT_THAT(whole_table_of({launch}), testing::Not(testing::HasSubstr("Trust: ")));
}

TEST(Table, SpecificationsWithoutResultsShowTheLaunches) {
  EXPECT_EQ(table_of({launch_of("k", {})}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block
k              1    40    256
)table");
}

TEST(Table, TotalsHaveASeparateSection) {
  TotalRecord record{"bytes", {number<std::uint64_t>("all", 12345, "bytes"), number("mean", 1.5)}, {"done"}};
  record.results.push_back(array<std::uint64_t>("few", {7, 8}));
  record.results.push_back(array<std::uint64_t>("many", std::vector<std::uint64_t>(100, 3)));
  EXPECT_EQ(table_of({record}),
            R"table(
== lynxpp: bytes, all launches ==
result        value  unit
all          12,345  bytes
mean          1.500
few[0]            7
few[1]            8
sum of many     300
note: bytes: done
)table");
}

TEST(Table, ReportsThatNoLaunchWasSeen) { EXPECT_EQ(table_of({}), "\nlynxpp: no kernel launch was seen\n"); }

TEST(Table, WritesToStandardErrorOnly) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  make_table_sink()->finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lynxpp: no kernel launch was seen\n");
}

}  // namespace
}  // namespace lynxpp::report
