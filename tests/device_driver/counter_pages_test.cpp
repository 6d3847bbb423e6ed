// The kernel that summarises counters on a GPU, executed by the cpu device, against the summary on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/kernels.h"
#include "support/counter_page.h"
#include "tests/device_driver/driver_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using Page = std::vector<std::uint32_t>;

/// Runs of used and unused counters, with lengths around multiples of a warp.
Page page_of_runs(std::mt19937& random, std::uint32_t longest, std::uint32_t greatest) {
  Page page(CounterPage::counters);
  bool is_used = random() % 2 != 0;
  for (std::size_t at = 0; at < page.size(); is_used = !is_used) {
    const std::uint32_t value = 1 + random() % greatest;
    const std::size_t end = std::min<std::size_t>(page.size(), at + 1 + random() % longest);
    for (; at < end; ++at) page[at] = !is_used ? 0 : greatest < 4 ? 1 + random() % greatest : value;
  }
  return page;
}

Page page_with_stride(std::uint32_t first, std::uint32_t stride, std::uint32_t value) {
  Page page(CounterPage::counters);
  for (std::size_t at = first; at < page.size(); at += stride) page[at] = value;
  return page;
}

std::vector<Page> pages_of_all_kinds() {
  std::mt19937 random(7);
  std::vector<Page> pages{Page(CounterPage::counters), Page(CounterPage::counters, 1),
                          Page(CounterPage::counters, 0xffffffff)};
  for (const std::uint32_t stride : {2u, 3u, 5u, 31u, 32u, 33u, 64u, 1000u, 16383u}) {
    pages.push_back(page_with_stride(0, stride, 3));
    pages.push_back(page_with_stride(stride - 1, stride, 1u << (stride % 32)));
  }
  for (const std::uint32_t longest : {1u, 2u, 7u, 31u, 32u, 33u, 64u, 65u, 1000u, 40000u}) {
    for (const std::uint32_t greatest : {1u, 3u, 0xffffffffu}) {
      pages.push_back(page_of_runs(random, longest, greatest));
      pages.push_back(page_of_runs(random, longest, greatest));
    }
  }
  return pages;
}

TEST(CounterPages, KernelSummarisesCountersAsTheHostDoes) {
  const std::vector<Page> pages = pages_of_all_kinds();
  ASSERT_EQ(CALL(cuInit, 0), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain, &context, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxSetCurrent, context), CUDA_SUCCESS);
  CUmodule module = nullptr;
  const std::string text(cuda::kernels().front().text);
  ASSERT_EQ(CALL(cuModuleLoadData, &module, text.c_str()), CUDA_SUCCESS);
  CUfunction kernel = nullptr;
  ASSERT_EQ(CALL(cuModuleGetFunction, &kernel, module, "lynxpp_counter_pages"), CUDA_SUCCESS);
  std::vector<std::uint32_t> counters;
  for (const Page& page : pages) counters.insert(counters.end(), page.begin(), page.end());
  std::vector<CounterPage> summaries(pages.size());
  CUdeviceptr from = 0, to = 0;
  const auto allocate = found<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc");
  ASSERT_EQ(allocate(&from, counters.size() * sizeof counters[0]), CUDA_SUCCESS);
  ASSERT_EQ(allocate(&to, summaries.size() * sizeof summaries[0]), CUDA_SUCCESS);
  std::memcpy(reinterpret_cast<void*>(from), counters.data(), counters.size() * sizeof counters[0]);
  auto count = static_cast<std::uint32_t>(pages.size());
  void* parameters[] = {&from, &to, &count};
  ASSERT_EQ(CALL(cuLaunchKernel, kernel, (count + 7) / 8, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(found<CUresult(CUcontext)>("cuCtxSynchronize")(nullptr), CUDA_SUCCESS);
  std::memcpy(static_cast<void*>(summaries.data()), reinterpret_cast<const void*>(to),
              summaries.size() * sizeof summaries[0]);
  for (std::size_t i = 0; i < pages.size(); ++i)
    EXPECT_EQ(summaries[i], summary_of(std::span<const std::uint32_t, CounterPage::counters>(pages[i])))
        << "page " << i;
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
