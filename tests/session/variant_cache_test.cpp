// The variants that launches share, without a compiler; and their creation, without launches.
#include "interposer/session/variant_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <future>
#include <thread>

#include "interposer/session/variant_maker.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::HasSubstr;

class VariantCacheTest : public ::testing::Test {
 protected:
  using Known = VariantCache::Known;
  using Wanted = VariantCache::Wanted;

  /// Also counts the calls.
  KernelPtr get(const Wanted& wanted, const std::function<void(InstrumentedKernel&)>& fill = {}) {
    return cache_.get(wanted, [&](InstrumentedKernel& kernel) {
      ++made_;
      if (fill) fill(kernel);
      return kernel.learned;
    });
  }
  void drop_all() {
    cache_.drop([](const InstrumentedKernel&) { return true; });
  }

  Seen seen_;
  FakeDevice device_, other_device_;
  std::atomic<int> made_ = 0;
  VariantCache cache_;
  Wanted wanted_{&seen_, &device_, 1, {}, {}, std::make_shared<Attached>(), {}};
};

TEST_F(VariantCacheTest, ThreadsThatWantTheSameVariantCreateItOnce) {
  std::promise<void> begun, other_begun, may_end;
  KernelPtr first, second;
  std::thread creating([&] {
    first = get(wanted_, [&](InstrumentedKernel&) {
      begun.set_value();
      may_end.get_future().wait();
    });
  });
  begun.get_future().wait();
  std::thread waiting([&] {
    other_begun.set_value();
    second = get(wanted_);
  });
  other_begun.get_future().wait();
  EXPECT_EQ(cache_.known(wanted_), Known::yes);
  may_end.set_value();
  creating.join();
  waiting.join();
  EXPECT_EQ(made_, 1);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, second);
}

TEST_F(VariantCacheTest, VariantsOfTwoKernelsAreCreatedConcurrently) {
  Seen other;
  Wanted second = wanted_;
  second.kernel = &other;
  std::barrier both(2);
  const auto wait = [&](InstrumentedKernel&) { both.arrive_and_wait(); };
  std::thread thread([&] { get(second, wait); });
  get(wanted_, wait);  // hangs if one waits for the other
  thread.join();
  EXPECT_EQ(made_, 2);
}

TEST_F(VariantCacheTest, AFailureIsRemembered) {
  const auto fail = [](InstrumentedKernel& kernel) { kernel.problem = "no room"; };
  EXPECT_EQ(get(wanted_, fail)->problem, "no room");
  EXPECT_EQ(get(wanted_)->problem, "no room");
  EXPECT_EQ(made_, 1);
}

TEST_F(VariantCacheTest, AnExceptionIsAFailure) {
  const auto fail = [](InstrumentedKernel&) { throw std::runtime_error("a fault"); };
  EXPECT_EQ(get(wanted_, fail)->problem, "internal failure: a fault");
  EXPECT_EQ(cache_.known(wanted_), Known::yes);
}

TEST_F(VariantCacheTest, OtherSpecificationsReplaceIt) {
  const KernelPtr before = get(wanted_);
  wanted_.attached = std::make_shared<Attached>();
  EXPECT_EQ(cache_.known(wanted_), Known::outdated);
  const KernelPtr now = get(wanted_);
  EXPECT_NE(now, before);
  EXPECT_FALSE(cache_.holds(seen_, *before));
  EXPECT_TRUE(cache_.holds(seen_, *now));
}

TEST_F(VariantCacheTest, PropertiesThatItsCreationShowsAreItsOwn) {
  cache_.get(wanted_, [](InstrumentedKernel&) { return Learned{.replays = false}; });
  EXPECT_EQ(cache_.known(wanted_), Known::outdated);
  wanted_.learned.replays = false;
  EXPECT_EQ(cache_.known(wanted_), Known::yes);
}

TEST_F(VariantCacheTest, DevicesImagesAndBlocksHaveTheirOwn) {
  get(wanted_);
  Wanted other = wanted_;
  other.device = &other_device_;
  EXPECT_EQ(cache_.known(other), Known::no);
  other = wanted_;
  other.image = 2;
  EXPECT_EQ(cache_.known(other), Known::no);
  other = wanted_;
  other.room.threads = 32;
  EXPECT_EQ(cache_.known(other), Known::no);
  EXPECT_EQ(cache_.known(wanted_), Known::yes);
}

TEST_F(VariantCacheTest, EqualTextsShareALoadedVariant) {
  const auto load = [&](InstrumentedKernel& kernel) {
    kernel.name = "k";
    kernel.instrumented.ptx = "text";
    kernel.variant = cache_.same_text(kernel);
    if (kernel.variant == nullptr) kernel.variant = std::make_shared<device::Variant>();
  };
  const KernelPtr first = get(wanted_, load);
  wanted_.room.threads = 32;
  EXPECT_EQ(get(wanted_, load)->variant, first->variant);
  wanted_.image = 2;
  EXPECT_NE(get(wanted_, load)->variant, first->variant);
}

TEST_F(VariantCacheTest, ADroppedKernelIsCreatedAgain) {
  const KernelPtr kernel = get(wanted_, [&](InstrumentedKernel&) { drop_all(); });
  EXPECT_NE(kernel, nullptr) << "its launch goes on";
  EXPECT_EQ(cache_.known(wanted_), Known::no);
  get(wanted_);
  EXPECT_EQ(made_, 2);
}

TEST_F(VariantCacheTest, NoThreadWaitsAfterTheEnd) {
  std::promise<void> begun, may_end;
  std::thread creating([&] {
    get(wanted_, [&](InstrumentedKernel&) {
      begun.set_value();
      may_end.get_future().wait();
    });
  });
  begun.get_future().wait();
  cache_.stop();
  EXPECT_EQ(get(wanted_), nullptr);
  may_end.set_value();
  creating.join();
}

class VariantMakerTest : public VariantCacheTest {
 protected:
  void SetUp() override {
    const std::string path = folder_.file("sevens.cod");
    std::ofstream(path) << "global unsigned long sevens;\nON_KERNEL_EXIT: { atomicAdd(&sevens, 1); }\n";
    const auto attached = std::make_shared<Attached>();
    ASSERT_EQ(attached->add_all(path), "");
    wanted_.attached = attached;
  }
  KernelPtr make() {
    const KernelSource source{"k", 1, [&] { return ptx_; }};
    device::Launch launch;
    launch.block[0] = 32;
    return cache_.get(wanted_, [&](InstrumentedKernel& made) { return maker_.make(made, launch, source); });
  }

  const TemporaryFolder folder_;
  const Configuration configuration_;
  Result<KernelPtx> ptx_ = KernelPtx{kernel_ptx, "a file"};
  VariantMaker maker_{configuration_, false, cache_, [](const std::string&) { return true; }};
};

TEST_F(VariantMakerTest, LoadsAVariant) {
  const KernelPtr kernel = make();
  EXPECT_EQ(kernel->problem, "");
  EXPECT_NE(kernel->variant, nullptr);
  EXPECT_EQ(kernel->name, "k");
  EXPECT_EQ(kernel->ptx_origin, "a file");
  ASSERT_EQ(device_.loaded.size(), 1u);
  EXPECT_EQ(device_.loaded[0], kernel->instrumented.ptx);
}

TEST_F(VariantMakerTest, SaysWhyThereIsNone) {
  device_.refuses_load = true;
  const KernelPtr kernel = make();
  EXPECT_EQ(kernel->problem, "no room");
  EXPECT_EQ(kernel->variant, nullptr);
  EXPECT_FALSE(kernel->lacks_ptx);
}

TEST_F(VariantMakerTest, SaysIfThePtxIsMissing) {
  ptx_ = failure("the image has no PTX");
  const KernelPtr kernel = make();
  EXPECT_THAT(kernel->problem, HasSubstr("the image has no PTX"));
  EXPECT_TRUE(kernel->lacks_ptx);
}

TEST_F(VariantMakerTest, ContainsInternalFailures) {
  const KernelSource source{"k", 1, []() -> Result<KernelPtx> { throw std::runtime_error("a fault"); }};
  const KernelPtr kernel =
      cache_.get(wanted_, [&](InstrumentedKernel& made) { return maker_.make(made, {}, source); });
  EXPECT_EQ(kernel->problem, "internal failure: a fault");
}

}  // namespace
}  // namespace lynxpp::interposer
