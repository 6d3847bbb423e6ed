// Alternative implementations of a kernel: each matches its name, and the paper's advice is reproduced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/cumapz/changes.h"
#include "models/cumapz/exploration.h"
#include "support/text.h"
#include "tests/models/analyse.h"

namespace lynxpp::models::cumapz {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Changes = std::vector<std::pair<std::string, std::string>>;

Exploration explored(const std::string& text, const Given& given = {}) {
  const Result<Description> description = parse_description(text, "d.access");
  EXPECT_TRUE(description) << (description ? "" : render(description.error().diagnostics, text));
  const Result<Exploration> found = explore(*description, given, paper_machine());
  EXPECT_TRUE(found) << (found ? "" : render(found.error().diagnostics, text));
  return *found;
}

/// The variant with these changes.
const Alternative& alternative(const Exploration& exploration, const Changes& changes) {
  for (const Alternative& each : exploration.alternatives) {
    if (each.changes == changes) return each;
  }
  ADD_FAILURE() << "no such variant: " << (changes.empty() ? "as written" : changes[0].first);
  return exploration.alternatives.front();
}

std::string example(const std::string& name) {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/advise/" + name + ".access", text));
  return text;
}

const Given columns{{"MAX", 1024}, {"shift", 1}, {"rows", 0}, {"padding", 0}, {"transposed", 0}};

// Tables I and II, starting from the paper's second kernel: fetch another reference, pad, or lay out by rows.
TEST(Exploration, FindsThePapersBestVariant) {
  const Exploration found = explored(example("product"), columns);
  EXPECT_TRUE(found.is_complete);
  Given best = columns;
  best["shift"] = 0;
  best["rows"] = 1;
  const Terms rows = analyse(example("product"), best).terms;
  const Alternative& first = found.alternatives.front();
  EXPECT_GE(first.terms.estimate, rows.estimate);
  EXPECT_EQ(alternative(found, {{"fetch(tile)", "in[at]"}, {"layout(tile)", "columns"}}).terms.estimate,
            rows.estimate);
  best["rows"] = 0;
  best["padding"] = 1;
  EXPECT_EQ(alternative(found, {{"fetch(tile)", "in[at]"}, {"pad(tile)", "1"}}).terms.estimate,
            analyse(example("product"), best).terms.estimate);
  EXPECT_EQ(alternative(found, {}).terms.estimate, analyse(example("product"), columns).terms.estimate);
}

TEST(Exploration, RemovingAFetchRemovesSharedMemory) {
  Given none = columns;
  none["shift"] = -1;
  const Terms expected = analyse(example("product"), none).terms;
  const Exploration all = explored(example("product"), columns);
  const Alternative& found = alternative(all, {{"fetch(tile)", "nothing"}});
  EXPECT_EQ(found.terms.estimate, expected.estimate);
  EXPECT_EQ(found.variant.bytes_of_shared(), 0);
}

TEST(Exploration, SwappedThreadsMatchThePapersBackprop) {
  const Given small{{"INPUTS", 4096}, {"switched", 0}};
  Given switched = small;
  switched["switched"] = 1;
  const Exploration found = explored(example("backprop"), small);
  EXPECT_EQ(alternative(found, {{"threads", "swapped"}}).terms.estimate,
            analyse(example("backprop"), switched).terms.estimate);
}

TEST(Exploration, DiagonalBlocksMatchThePapersTranspose) {
  const auto transpose = [](const std::string& order) {
    return "const N = 512; grid (N / 32, N / 32); block (32, 8); registers 10; array in of 4; array out of "
           "4;" +
           order +
           "shared tile[32 * 32] of 4;"
           "for (j = 0; j < 32; j += 8) fetch tile[(threadIdx.y + j) * 32 + threadIdx.x] ="
           "  in[(blockIdx.y * 32 + threadIdx.y + j) * N + blockIdx.x * 32 + threadIdx.x];"
           "for (j = 0; j < 32; j += 8) { read tile[threadIdx.x * 32 + threadIdx.y + j];"
           "  write out[(blockIdx.x * 32 + threadIdx.y + j) * N + blockIdx.y * 32 + threadIdx.x]; }";
  };
  const Exploration found = explored(transpose(""));
  EXPECT_THAT(found.alternatives.front().changes,
              ElementsAre(Pair("pad(tile)", "1"), Pair("blocks", "diagonal")));
  EXPECT_EQ(found.alternatives.front().terms.estimate, 1);
  EXPECT_EQ(alternative(found, {{"blocks", "diagonal"}}).terms.estimate,
            analyse(transpose("order ((blockIdx.x + blockIdx.y) % gridDim.x, blockIdx.x);")).terms.estimate);
  for (const Alternative& each : found.alternatives) {
    EXPECT_TRUE(each.changes.empty() || !each.changes[0].first.starts_with("fetch"))
        << "the tile is read by name";
  }
}

TEST(Exploration, TriesBlockSizesThatPreserveTheWork) {
  const std::string text =
      "const T = 16; grid (1024 / T, 48 / T); block (T, T); array a of 4;"
      "read a[(blockIdx.y * T + threadIdx.y) * 1024 + blockIdx.x * T + threadIdx.x];";
  const Exploration found = explored(text);
  EXPECT_EQ(alternative(found, {{"T", "8"}}).terms.estimate, analyse(text, {{"T", 8}}).terms.estimate);
  for (const Alternative& each : found.alternatives) EXPECT_EQ(each.terms.accesses, 1024 * 48);
  EXPECT_GT(found.left_out, 0) << "32 does not divide 48, and has more threads than the machine's blocks";
  for (const Alternative& each : explored(text, {{"T", 16}}).alternatives) {
    for (const auto& [name, value] : each.changes) EXPECT_NE(name, "T") << "its value is fixed";
  }
}

TEST(Exploration, SearchesGreedilyIfThereAreTooManyVariants) {
  const Exploration found = explored(example("wavelet"), {{"N", 4096}});
  EXPECT_FALSE(found.is_complete);
  EXPECT_THAT(found.alternatives.size(), testing::Lt(2000u));
  for (std::size_t i = 1; i < found.alternatives.size(); ++i)
    ASSERT_GE(found.alternatives[i - 1].terms.estimate, found.alternatives[i].terms.estimate);
}

TEST(Exploration, FailsIfTheDescriptionDoes) {
  const Result<Description> description =
      parse_description("block (16); array a of 4; shared s[16] of 4; fetch s[threadIdx.x + 1] = a[0];", "d");
  ASSERT_TRUE(description);
  EXPECT_FALSE(explore(*description, {}, paper_machine()));
}

// ---- possible changes

std::vector<std::string> names_of(const std::string& text) {
  const Result<Description> description = parse_description(text, "d");
  EXPECT_TRUE(description);
  std::vector<std::string> names;
  for (const Change& change : changes_of(*description, {})) {
    std::string values;
    for (const std::string& value : change.values) values += " " + value;
    names.push_back(change.name + ":" + values);
  }
  return names;
}

TEST(Changes, FetchesOfferReferencesKnownAtThatPoint) {
  const std::string head = "block (8); array a of 4; array b of 4; shared s[8] of 4; let x = threadIdx.x;";
  EXPECT_THAT(names_of(head + "fetch s[x] = a[x]; let y = x; read a[x + 1]; read a[y]; read b[x]; read a[x];"
                              "for (k = 0; k < 2; k += 1) read a[k];"),
              testing::Contains("fetch(s): a[x] a[x + 1] nothing"));
  EXPECT_THAT(names_of(head + "for (k = 0; k < 2; k += 1) { fetch s[x] = a[x]; read a[x + k]; }"),
              testing::Contains("fetch(s): a[x] a[x + k] nothing"));
  EXPECT_THAT(names_of(head + "fetch s[x] = a[x]; read s[7 - x]; read a[x + 1];"),
              testing::Each(testing::Not(testing::HasSubstr("fetch"))));
}

TEST(Changes, ConstantsAreThoseOfTheBlockSize) {
  EXPECT_THAT(names_of("const N = 64; const T = 8; const half = T / 2; grid (N); block (half);"),
              ElementsAre("threads: as written swapped", "blocks: as launched diagonal", "T: 8 4 16"));
}

TEST(Changes, RowsAreConstantFactorsOfAnIndex) {
  const auto row = [](const std::string& text) {
    const Result<Description> description =
        parse_description("const T = 16; block (T); shared s[256] of 4;" + text, "d");
    EXPECT_TRUE(description);
    return row_of(*description, variants_of(*description, {})->front(), 0);
  };
  EXPECT_EQ(row("read s[threadIdx.y * T + threadIdx.x];"), 16);
  EXPECT_EQ(row("let at = (threadIdx.y + 1) * (T * 2); read s[at % 256];"), 32);
  EXPECT_EQ(row("read s[threadIdx.y * blockDim.x];"), 16);
  EXPECT_EQ(row("read s[threadIdx.x * 17];"), 0) << "17 does not divide 256";
  EXPECT_EQ(row("read s[threadIdx.x];"), 0);
}

TEST(Layouts, PlaceElementsAsDocumented) {
  const Result<Description> description = parse_description("block (1); shared s[12] of 4;", "d");
  ASSERT_TRUE(description);
  Variant variant = variants_of(*description, {})->front();
  variant.layouts = {{4, 1, false}};
  EXPECT_EQ(variant.position_in_shared(0, 7), 8);
  EXPECT_EQ(variant.elements_of_shared(0), 14) << "no padding after the last row";
  variant.layouts = {{4, 0, true}};
  EXPECT_EQ(variant.position_in_shared(0, 7), 3 * 3 + 1);
  variant.layouts = {{4, 1, true}};
  EXPECT_EQ(variant.position_in_shared(0, 7), 3 * 4 + 1);
  EXPECT_EQ(variant.bytes_of_shared(), 4 * 15);
}

}  // namespace
}  // namespace lynxpp::models::cumapz
