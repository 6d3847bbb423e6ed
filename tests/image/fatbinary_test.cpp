#include "image/fatbinary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "tests/image/image_builder.h"

namespace lynxpp::image {
namespace {

using test::as_bytes;
using test::Compression;
using test::ContainerBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_elf = 2;
constexpr std::uint64_t architecture_specific_flag = 0x100000;
constexpr std::uint64_t family_specific_flag = 0x200000;

std::string module_for(int sm) {
  std::string text = ".version 9.0\n.target sm_" + std::to_string(sm) + "\n.address_size 64\n";
  for (int i = 0; i < 40; ++i) text += ".visible .entry kernel_" + std::to_string(i) + "() { ret; }\n";
  return text;
}

std::vector<std::string> modules(const std::string& image, int sm) {
  auto result = ptx_modules(as_bytes(image), sm);
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().diagnostics.front().message);
  return result ? *result : std::vector<std::string>{};
}

std::string error_of(const std::string& image) {
  const auto result = ptx_modules(as_bytes(image), 0);
  return result ? "no error" : result.error().diagnostics.front().message;
}

TEST(Fatbinary, ListsEntriesOfEveryCompression) {
  const std::string image = ContainerBuilder()
                                .add(kind_elf, 80,
                                     "\x7f"
                                     "ELF...")
                                .add(kind_ptx, 75, module_for(75), Compression::none)
                                .add(kind_ptx, 80, module_for(80), Compression::lz4)
                                .add(kind_ptx, 90, module_for(90), Compression::zstd)
                                .add(16, 90, "something newer")
                                .build();
  const auto entries = list_entries(as_bytes(image));
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 5u);
  EXPECT_EQ((*entries)[0].kind, EntryKind::cubin);
  EXPECT_EQ((*entries)[4].kind, EntryKind::other);
  for (const int i : {1, 2, 3}) {
    const Entry& entry = (*entries)[i];
    EXPECT_EQ(entry.kind, EntryKind::ptx);
    const auto text = ptx_text(entry);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, module_for(static_cast<int>(entry.sm)));
  }
  EXPECT_FALSE(ptx_text((*entries)[0]).ok());
}

TEST(Fatbinary, SelectsTheBestModuleOfEachContainer) {
  const std::string first = ContainerBuilder()
                                .add(kind_ptx, 75, module_for(75))
                                .add(kind_ptx, 90, module_for(90))
                                .add(kind_ptx, 80, module_for(80), Compression::zstd)
                                .build();
  const std::string second = ContainerBuilder().add(kind_ptx, 86, "// second\n").build();
  const std::string image = first + second;
  EXPECT_THAT(modules(image, 0), ElementsAre(module_for(90), "// second\n"));
  EXPECT_THAT(modules(image, 100), ElementsAre(module_for(90), "// second\n"));
  EXPECT_THAT(modules(image, 86), ElementsAre(module_for(80), "// second\n"));
  EXPECT_THAT(modules(image, 80), ElementsAre(module_for(80)));
  EXPECT_THAT(modules(image, 70), IsEmpty());
}

TEST(Fatbinary, OlderModulesFollowTheBestOne) {
  const std::string image = ContainerBuilder()
                                .add(kind_ptx, 75, module_for(75))
                                .add(kind_ptx, 90, module_for(90))
                                .add(kind_ptx, 60, module_for(60))
                                .add(kind_ptx, 86, module_for(86))
                                .add(kind_ptx, 80, module_for(80))
                                .build();
  const auto versions = ptx_versions(as_bytes(image), 86);
  ASSERT_TRUE(versions.ok());
  ASSERT_EQ(versions->size(), 1u);
  std::vector<std::uint32_t> architectures;
  for (const Entry& each : versions->front()) architectures.push_back(each.sm);
  EXPECT_THAT(architectures, ElementsAre(86, 80, 75, 60)) << "none of a newer device";
}

TEST(Fatbinary, ArchitectureAndFamilySpecificModulesRunOnlyOnMatchingDevices) {
  const std::string image =
      ContainerBuilder()
          .add(kind_ptx, 80, "// portable 80\n")
          .add(kind_ptx, 90, "// only 90\n", Compression::none, architecture_specific_flag)
          .add(kind_ptx, 90, "// portable 90\n")
          .add(kind_ptx, 100, "// family of 100\n", Compression::none, family_specific_flag)
          .build();
  EXPECT_THAT(modules(image, 89), ElementsAre("// portable 80\n"));
  EXPECT_THAT(modules(image, 90), ElementsAre("// only 90\n"));
  EXPECT_THAT(modules(image, 103), ElementsAre("// family of 100\n"));
  EXPECT_THAT(modules(image, 120), ElementsAre("// portable 90\n"));
}

TEST(Fatbinary, ZerosBetweenContainersAreSkipped) {
  const std::string container = ContainerBuilder().add(kind_ptx, 75, "// a\n").build();
  const std::string image = container + std::string(24, '\0') + container + std::string(13, '\0');
  EXPECT_THAT(modules(image, 0), ElementsAre("// a\n", "// a\n"));
}

TEST(Fatbinary, AcceptsPlainTextAndCubins) {
  const std::string text = module_for(75);
  EXPECT_THAT(modules(text, 90), ElementsAre(text));
  EXPECT_THAT(modules(text + std::string(5, '\0'), 90), ElementsAre(text));
  EXPECT_THAT(modules(std::string("\x7f"
                                  "ELF\x02\x01",
                                  6),
                      90),
              IsEmpty());
}

/// A few thousand bytes of zstd may expand to gigabytes of zeros; modules do not.
TEST(Fatbinary, RejectsImplausiblyLargeEntries) {
  const std::string large = "//" + std::string(std::size_t{64} << 20, ' ');
  EXPECT_THAT(error_of(ContainerBuilder().add(kind_ptx, 75, large, Compression::zstd).build()),
              testing::EndsWith("bytes claims an uncompressed size of 67108866"));
  const std::string table = "//" + std::string(std::size_t{1} << 20, '0') + module_for(75);
  EXPECT_THAT(modules(ContainerBuilder().add(kind_ptx, 75, table, Compression::zstd).build(), 0),
              ElementsAre(table));
}

/// Larger than the first step of decompression.
TEST(Fatbinary, LargeEntriesAreFullyDecompressed) {
  std::string large;
  for (std::uint32_t i = 0; large.size() < (std::size_t{5} << 20); ++i)
    large += std::to_string(i * 2654435761U) + "\n";
  for (const Compression compression : {Compression::lz4, Compression::zstd}) {
    std::string image = ContainerBuilder().add(kind_ptx, 75, large, compression).build();
    EXPECT_THAT(modules(image, 0), ElementsAre(large));
    for (const int error : {-1, 1}) {
      ContainerBuilder::put(image, 16 + 56, std::uint64_t{large.size() + error});
      EXPECT_NE(error_of(image), "no error");
    }
  }
}

TEST(Fatbinary, DamageIsReported) {
  const std::string good = ContainerBuilder().add(kind_ptx, 75, module_for(75), Compression::zstd).build();
  EXPECT_EQ(error_of(""), "the program image is neither a fatbinary, a cubin nor PTX text");
  EXPECT_EQ(error_of("\x01\x02\x03\x04"), "the program image is neither a fatbinary, a cubin nor PTX text");
  EXPECT_EQ(error_of(good.substr(0, good.size() - 1)), "the fatbinary container is truncated");
  EXPECT_EQ(error_of(good.substr(0, 10)), "the bytes are not a fatbinary container");
  EXPECT_EQ(error_of(good + "garbage"), "the bytes are not a fatbinary container");
  EXPECT_EQ(error_of(good + "abc"), "the bytes are not a fatbinary container");

  std::string image = good;
  ContainerBuilder::put(image, 16 + 8, std::uint64_t{1} << 60);
  EXPECT_EQ(error_of(image), "a fatbinary entry extends past its container");
  image = good;
  ContainerBuilder::put(image, 16 + 4, std::uint32_t{0});
  EXPECT_EQ(error_of(image), "a fatbinary entry has an invalid header size");
  image = good;
  ContainerBuilder::put(image, 16 + 16, std::uint32_t{0x7fffffff});
  EXPECT_EQ(error_of(image), "a compressed fatbinary entry extends past its payload");
  image = good;
  ContainerBuilder::put(image, 16 + 56, std::uint64_t{module_for(75).size() - 1});
  EXPECT_EQ(error_of(image), "a zstd fatbinary entry is larger than its header says");
  image = good;
  ContainerBuilder::put(image, 16 + 56, std::uint64_t{module_for(75).size() + 1});
  EXPECT_EQ(error_of(image), "a zstd fatbinary entry is smaller than its header says");
  image = good;
  ContainerBuilder::put(image, 16 + 56, std::uint64_t{1} << 62);
  EXPECT_THAT(error_of(image), testing::EndsWith("bytes claims an uncompressed size of 4611686018427387904"));
  image = good;
  ContainerBuilder::put(image, 16 + 64, std::uint32_t{0});
  EXPECT_THAT(error_of(image), testing::StartsWith("a fatbinary entry is not valid zstd: "));

  image = ContainerBuilder().add(kind_ptx, 75, module_for(75), Compression::lz4).build();
  ContainerBuilder::put(image, 16 + 56, std::uint64_t{1} << 18);
  EXPECT_EQ(error_of(image), "an LZ4 fatbinary entry has an invalid size");
  ContainerBuilder::put(image, 16 + 56, std::uint64_t{module_for(75).size() + 3});
  EXPECT_EQ(error_of(image), "a fatbinary entry is not valid LZ4");
}

/// A copy in a heap block of its exact size, so AddressSanitizer detects the first byte read past its end.
class ExactBytes {
 public:
  explicit ExactBytes(const std::string& image)
      : size_(image.size()), bytes_(std::make_unique<std::byte[]>(size_)) {
    std::memcpy(bytes_.get(), image.data(), size_);
  }
  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }
  std::size_t offset_of(const Entry& entry) const {
    return static_cast<std::size_t>(entry.payload.data() - bytes_.get());
  }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

void expect_message(const Failure& failure) {
  ASSERT_FALSE(failure.diagnostics.empty());
  EXPECT_NE(failure.diagnostics.front().message, "");
}

/// Texts of the PTX entries, keyed by the offsets of their payloads. Checks that every entry is inside the
/// image and has the size in its header, or that there is a message; nullopt if the entire image is rejected.
std::optional<std::map<std::size_t, std::string>> texts_of(const std::string& image) {
  const ExactBytes exact(image);
  const auto entries = list_entries(exact.bytes());
  const auto modules = ptx_modules(exact.bytes(), 90);
  if (!modules) expect_message(modules.error());
  if (!entries) {
    expect_message(entries.error());
    EXPECT_FALSE(modules.ok());
    return std::nullopt;
  }
  std::map<std::size_t, std::string> texts;
  for (const Entry& entry : *entries) {
    if (!entry.payload.empty()) {
      EXPECT_LE(exact.offset_of(entry) + entry.payload.size(), image.size());
    }
    const auto text = ptx_text(entry);
    if (!text) {
      expect_message(text.error());
      continue;
    }
    EXPECT_EQ(entry.kind, EntryKind::ptx);
    EXPECT_LE(text->size(), entry.uncompressed_size);
    texts.emplace(exact.offset_of(entry), *text);
  }
  for (const std::string& module : modules ? *modules : std::vector<std::string>{}) {
    EXPECT_TRUE(std::ranges::any_of(texts, [&](const auto& each) { return each.second == module; }));
  }
  return texts;
}

const std::string first_container = ContainerBuilder()
                                        .add(kind_elf, 80,
                                             "\x7f"
                                             "ELF....")
                                        .add(kind_ptx, 75, module_for(75))
                                        .add(kind_ptx, 80, module_for(80), Compression::lz4)
                                        .add(kind_ptx, 90, module_for(90), Compression::zstd)
                                        .build();
const std::string two_containers =
    first_container + ContainerBuilder().add(kind_ptx, 86, module_for(86), Compression::lz4).build();

TEST(Fatbinary, TruncatedImagesAreRejectedExceptBetweenContainers) {
  const auto whole = texts_of(two_containers);
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->size(), 4U);
  const std::map first_three(whole->begin(), std::prev(whole->end()));
  // Text shorter than the magic number could be PTX.
  for (std::size_t size = 4; size < two_containers.size(); ++size) {
    const auto texts = texts_of(two_containers.substr(0, size));
    ASSERT_EQ(texts.has_value(), size == first_container.size()) << size << " bytes";
    EXPECT_EQ(texts.value_or(first_three), first_three);
  }
}

/// Changes up to four bytes of the image.
std::string mutated(std::string image, std::mt19937& random) {
  constexpr std::uint64_t elf_edges[] = {0,    1,    7,    8,          63,         64,
                                         0x7f, 0x80, 0xff, 0x7fffffff, 0xffffffff, ~std::uint64_t{0}};
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes; ++i) {
    const std::size_t offset = random() % (image.size() - 8);
    switch (random() % 3) {
      case 0: image[offset] = static_cast<char>(random()); break;
      case 1:
        ContainerBuilder::put(image, offset & ~std::size_t{3},
                              static_cast<std::uint32_t>(elf_edges[random() % 12]));
        break;
      default: ContainerBuilder::put(image, offset & ~std::size_t{7}, elf_edges[random() % 12]); break;
    }
  }
  return image;
}

TEST(Fatbinary, MutatedImagesKeepTheTextsOfIntactEntries) {
  const auto whole = texts_of(two_containers);
  ASSERT_TRUE(whole);
  std::mt19937 random(20120612);  // the same damage in every run
  std::size_t refused = 0;
  std::size_t kept = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string image = mutated(two_containers, random);
    const auto texts = texts_of(image);
    refused += texts ? 0 : 1;
    for (auto entry = whole->begin(); texts && entry != whole->end(); ++entry) {
      constexpr std::size_t header_bytes = 64;
      const std::size_t begin = entry->first - header_bytes;
      const auto next = std::next(entry);
      const std::size_t end = next == whole->end() ? image.size() : next->first - header_bytes;
      const auto found = texts->find(entry->first);
      // Earlier damage may hide the entry.
      if (found == texts->end() || image.compare(begin, end - begin, two_containers, begin, end - begin) != 0)
        continue;
      ++kept;
      EXPECT_EQ(found->second, entry->second) << "round " << round;
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(kept, 0U);
}

TEST(ImageBytes, MeasuresImagesPassedToTheDriver) {
  const std::string container =
      ContainerBuilder().add(kind_ptx, 75, module_for(75), Compression::zstd).build();
  const auto direct = image_bytes(container.data());
  ASSERT_TRUE(direct.ok());
  EXPECT_EQ(direct->size(), container.size());

  test::Wrapper wrapper;
  wrapper.data = container.data();
  const auto wrapped = image_bytes(&wrapper);
  ASSERT_TRUE(wrapped.ok());
  EXPECT_EQ(static_cast<const void*>(wrapped->data()), container.data());
  EXPECT_EQ(wrapped->size(), container.size());
  EXPECT_TRUE(is_wrapper(&wrapper));
  EXPECT_FALSE(is_wrapper(container.data()));
  EXPECT_FALSE(is_wrapper(nullptr));

  const std::string text = module_for(80);
  const auto measured = image_bytes(text.c_str());
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->size(), text.size());
  EXPECT_THAT(modules(std::string(reinterpret_cast<const char*>(measured->data()), measured->size()), 0),
              ElementsAre(text));
}

TEST(ImageBytes, RejectsInvalidImages) {
  EXPECT_FALSE(image_bytes(nullptr).ok());
  EXPECT_FALSE(image_bytes("").ok());
  EXPECT_FALSE(image_bytes("\x01\x02").ok());
  test::Wrapper wrapper;
  EXPECT_FALSE(image_bytes(&wrapper).ok());
  wrapper.data = "something else";
  EXPECT_FALSE(image_bytes(&wrapper).ok());
  std::string container = ContainerBuilder().add(kind_ptx, 75, "// a\n").build();
  ContainerBuilder::put(container, 8, ~std::uint64_t{0});
  EXPECT_FALSE(image_bytes(container.data()).ok());
}

TEST(ImageBytes, FindsThePrelinkedContainersOfAVersion2Wrapper) {
  const std::string linked = ContainerBuilder()
                                 .add(kind_elf, 75,
                                      "\x7f"
                                      "ELF....")
                                 .build();
  const std::string first = ContainerBuilder().add(kind_ptx, 75, "// a\n").build();
  const std::string second = ContainerBuilder().add(kind_ptx, 75, "// b\n").build();
  const void* list[] = {first.data(), second.data(), nullptr};
  test::Wrapper wrapper;
  wrapper.version = 2;
  wrapper.data = linked.data();
  wrapper.file_name_or_fatbinaries = list;
  const auto containers = prelinked_containers(&wrapper);
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(containers[0].size(), first.size());
  EXPECT_EQ(static_cast<const void*>(containers[1].data()), second.data());

  wrapper.version = 1;
  EXPECT_THAT(prelinked_containers(&wrapper), IsEmpty());
  EXPECT_THAT(prelinked_containers(first.data()), IsEmpty());
}

}  // namespace
}  // namespace lynxpp::image
