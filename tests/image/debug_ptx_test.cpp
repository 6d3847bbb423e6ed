// PTX text in the debug information of cubins.
#include "image/debug_ptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "image/cubin_ptx.h"
#include "image/debug_lines.h"
#include "image/fatbinary.h"
#include "image/program_file.h"
#include "support/text.h"
#include "tests/image/image_builder.h"

namespace lynxpp::image {
namespace {

using test::as_bytes;
using test::CubinBuilder;
using testing::HasSubstr;

constexpr std::uint32_t without_bits = 8;
constexpr std::uint64_t compressed = 0x800;

std::string text_for(const std::string& target, const std::string& body = "") {
  return ".version 8.0\n.target " + target + "\n.address_size 64\n.visible .entry k()\n{\n" + body +
         "ret;\n}\n";
}

/// Returns the text as stored by ptxas: lines end in a zero byte.
std::string kept(std::string text) {
  std::ranges::replace(text, '\n', '\0');
  return text;
}

CubinBuilder cubin_with(const std::string& text) {
  return CubinBuilder().add(".text.k", "code").add(".nv_debug_ptx_txt", kept(text));
}

CubinPtx found_in(const CubinBuilder& cubin, PtxUse use = {.sm = 90}) {
  const std::string bytes = cubin.build();
  return ptx_of_cubin(as_bytes(bytes), use);
}

TEST(DebugPtx, PreservesLineNumbers) {
  const CubinPtx found = found_in(cubin_with("\n\n" + text_for("sm_90")));
  EXPECT_THAT(found.texts, testing::ElementsAre("\n\n" + text_for("sm_90")));
  EXPECT_EQ(found.origin, PtxOrigin::debug_section);
  EXPECT_TRUE(found_in(CubinBuilder().add(".text.k", "code")).problem.empty()) << "it contains none";
  EXPECT_TRUE(found_in(CubinBuilder().add(".nv_debug_ptx_txt_other", "x")).problem.empty());
}

TEST(DebugPtx, LinkedCodeHasSeveralModules) {
  const std::string first = text_for("sm_90"), second = text_for("sm_80");
  EXPECT_THAT(
      found_in(
          CubinBuilder().add(".nv_debug_ptx_txt.1234", kept(first)).add(".nv_debug_ptx_txt.98", kept(second)))
          .texts,
      testing::ElementsAre(first, second));
  EXPECT_THAT(found_in(CubinBuilder().add(".nv_debug_ptx_txt", kept("\n" + first + second))).texts,
              testing::ElementsAre("\n" + first, second))
      << "in one section";
}

TEST(DebugPtx, UnusableTextIsReported) {
  const std::string text = text_for("sm_90");
  const auto problem = [](const CubinBuilder& cubin, PtxUse use = {.sm = 90}) {
    const CubinPtx found = found_in(cubin, use);
    EXPECT_TRUE(found.texts.empty());
    return found.problem;
  };
  EXPECT_THAT(problem(CubinBuilder().add(".nv_debug_ptx_txt", text.substr(0, text.size() - 1))),
              HasSubstr("ends in the middle of a line"));
  EXPECT_THAT(problem(CubinBuilder().add(".nv_debug_ptx_txt", "")),
              HasSubstr("ends in the middle of a line"));
  EXPECT_THAT(problem(CubinBuilder().add(".nv_debug_ptx_txt", text, 1, compressed)), HasSubstr("compressed"));
  EXPECT_THAT(problem(CubinBuilder().add(".nv_debug_ptx_txt", text, without_bits)), HasSubstr("truncated"));
  EXPECT_THAT(problem(CubinBuilder().add(".nv_debug_ptx_txt", kept(".version\n\x01\n"))),
              HasSubstr("not text"));
  EXPECT_THAT(problem(CubinBuilder().add(".nv_debug_ptx_txt", kept("ret;\n}\n"))), HasSubstr(".version"));
  EXPECT_THAT(problem(cubin_with(text), {.sm = 80}), HasSubstr("does not match the device"));
  EXPECT_THAT(problem(cubin_with(text_for("sm_90a")), {.sm = 100}), HasSubstr("does not match the device"));
  EXPECT_THAT(problem(cubin_with(text_for("sm_100f, debug")), {.sm = 120}),
              HasSubstr("does not match the device"));
  EXPECT_FALSE(found_in(cubin_with(text_for("sm_90a"))).texts.empty());
  EXPECT_FALSE(found_in(cubin_with(text_for("sm_100f, debug")), {.sm = 103}).texts.empty());
  EXPECT_FALSE(found_in(cubin_with(text_for("sm_75"))).texts.empty());
  EXPECT_FALSE(found_in(cubin_with(text_for("sm_100a")), {}).texts.empty()) << "on any device";
}

TEST(DebugPtx, RejectsTextThatMustNotBeContracted) {
  const auto assembled = [](const std::string& body, const std::string& options) {
    return cubin_with(text_for("sm_90", body))
        .add(".note.nv.tkinfo", "ptxas" + std::string(1, '\0') + options, 7);
  };
  const std::string open = "mul.f32 %f1, %f2, %f3;\n";
  EXPECT_THAT(found_in(assembled(open, "-arch sm_90 -fmad false ")).problem, HasSubstr("--fmad=false"));
  EXPECT_THAT(found_in(assembled("mul.ftz.f16x2 %r1, %r2, %r3;\n", "--fmad=false")).problem,
              HasSubstr("--fmad=false"));
  EXPECT_FALSE(found_in(assembled(open, "-fmad false"), {.sm = 90, .contracts = false}).texts.empty());
  EXPECT_FALSE(found_in(assembled(open, "-arch sm_90 -fmad true")).texts.empty());
  EXPECT_FALSE(found_in(assembled("mul.rn.f32 %f1, %f2, %f3;\nmul.lo.s32 %r1, %r2, %r3;\n", "-fmad false"))
                   .texts.empty())
      << "as emitted by nvcc -fmad=false";
}

TEST(DebugPtx, DamagedCubinsAreHandled) {
  const std::string cubin = cubin_with(text_for("sm_90"))
                                .add(".note.nv.tkinfo", "-fmad", 7)
                                .add(".nv_debug_ptx_txt.1", "x")
                                .build();
  // A truncated file may yield nothing, but never a partial text.
  const std::string usable = cubin_with(text_for("sm_90")).build();
  const std::vector<std::string> whole = ptx_of_cubin(as_bytes(usable), {.sm = 90}).texts;
  EXPECT_FALSE(whole.empty());
  for (std::size_t size = 0; size < usable.size(); ++size) {
    const std::vector<std::string> found = ptx_of_cubin(as_bytes(usable.substr(0, size)), {.sm = 90}).texts;
    EXPECT_TRUE(found.empty() || found == whole) << size << " bytes";
  }
  std::uint32_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = cubin;
    for (int change = 0; change < 3; ++change) {
      random = random * 1664525U + 1013904223U;
      damaged[(random >> 8) % damaged.size()] = static_cast<char>(random);
    }
    static_cast<void>(ptx_of_cubin(as_bytes(damaged), {.sm = 90}));
    static_cast<void>(functions_of(as_bytes(damaged)));
  }
}

TEST(DebugPtx, FunctionsAreThoseWithCode) {
  const std::string cubin =
      CubinBuilder().add(".text.k", "code").add(".text.f", "code").add(".text", "").build();
  EXPECT_THAT(functions_of(as_bytes(cubin)), testing::ElementsAre("k", "f"));
}

#ifdef LYNXPP_IMAGE_TEST_DATA

std::vector<CubinPtx> found_in_file(const std::string& name) {
  const auto file = containers_in_file(std::string(LYNXPP_IMAGE_TEST_DATA) + "/" + name);
  std::vector<CubinPtx> found;
  if (!file) return found;
  for (const FileImage& image : file->images) {
    auto more = ptx_of_machine_code(image.bytes);
    if (!more) continue;
    for (CubinPtx& each : *more) {
      if (!each.texts.empty()) found.push_back(std::move(each));
    }
  }
  return found;
}

TEST(DebugPtx, FindsTextFromTheToolkit) {
  for (const char* name : {"lines.cubin", "lines.fatbin", "program_lines"}) {
    const std::vector<CubinPtx> found = found_in_file(name);
    ASSERT_EQ(found.size(), 1u) << name;
    ASSERT_EQ(found[0].texts.size(), 1u) << name << ": " << found[0].problem;
    EXPECT_THAT(found[0].texts[0], HasSubstr("_Z4fillPi"));
    EXPECT_THAT(found[0].texts[0], HasSubstr(".target sm_90"));
  }
  EXPECT_EQ(found_in_file("program_lines_rdc").at(0).texts.size(), 1u) << "linked from one translation unit";
  EXPECT_TRUE(found_in_file("kernels.cubin").empty());
}

/// Returns the source line of the .loc before each line of the text; 0 if there is no .loc or it specifies
/// line 0.
std::vector<int> places_of(const std::string& text) {
  std::vector<int> places;
  int place = 0;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (words.starts_with(".visible")) place = 0;
    if (words.starts_with(".loc")) {
      const std::size_t file = words.find_first_of("0123456789");
      place = std::atoi(words.substr(words.find(' ', file)).data());
    }
    places.push_back(place);
  }
  return places;
}

TEST(DebugPtx, HasTheSourceLinesOfTheCubin) {
  std::string original;
  ASSERT_TRUE(read_file(std::string(LYNXPP_IMAGE_TEST_DATA) + "/lines.ptx", original));
  const std::string found = found_in_file("lines.cubin").at(0).texts.at(0);
  EXPECT_THAT(found, HasSubstr("kernels.cu\"\n"));
  const std::vector<int> expected = places_of(original);
  const std::vector<int> places = places_of(found);
  ASSERT_GE(places.size() + 1, expected.size()) << "line numbers are preserved";
  std::set<int> known;
  for (std::size_t i = 0; i < expected.size() && i < places.size(); ++i) {
    if (places[i] == 0) continue;
    EXPECT_EQ(places[i], expected[i]) << "line " << i + 1;
    known.insert(places[i]);
  }
  EXPECT_GE(known.size(), 2u) << found;
}

TEST(DebugPtx, DamagedLineTablesAreHandled) {
  std::string cubin;
  ASSERT_TRUE(read_file(std::string(LYNXPP_IMAGE_TEST_DATA) + "/lines.cubin", cubin));
  std::uint32_t random = 1;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = cubin;
    for (int change = 0; change < 8; ++change) {
      random = random * 1664525U + 1013904223U;
      damaged[(random >> 8) % damaged.size()] = static_cast<char>(random);
    }
    std::vector<std::string> modules{text_for("sm_90", "\nret;\n")};
    add_source_lines(as_bytes(damaged), modules);
    add_source_lines(as_bytes(damaged.substr(0, (random >> 4) % damaged.size())), modules);
  }
}

#endif  // LYNXPP_IMAGE_TEST_DATA

}  // namespace
}  // namespace lynxpp::image
