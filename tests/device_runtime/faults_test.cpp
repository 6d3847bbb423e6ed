// Kernels with seeded faults: the error, its message, that it sticks, and that the process is unharmed; and
// legal accesses that must not be reported.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/device_runtime/runtime_fixture.h"
#include "tests/device_simt/code_tier.h"
#include "tests/support/readable_name.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;
using testing::HasSubstr;

/// Returns a kernel whose thread (3, 0, 0) of block (1, 0, 0) executes `code` under the guard %p: %a holds
/// the first parameter, %n the second. 2 blocks of 4 threads.
std::string victim(const std::string& code) {
  return R"(.version 8.0
.target sm_90
.address_size 64
.file 1 "app.cu"
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);
.visible .const .align 4 .b8 coefficients[16];
.visible .global .align 4 .b8 table[16];
.global .align 4 .b8 behind_table[16];
.func (.param .b32 r) depth(.param .b32 n)
{
  .local .align 16 .b8 room[256];
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [n];
  st.local.u32 [room], %r1;
  { .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; call.uni (y), depth, (x); ld.param.b32 %r2, [y]; }
  st.param.b32 [r], %r2;
  ret;
}
.func put(.param .b64 where)
{
  .reg .b64 %q;
  ld.param.u64 %q, [where];
  .loc 1 7 1
  st.u32 [%q], 1;
  ret;
}
.visible .entry victim(.param .u64 pa, .param .u64 pn)
{
  .reg .pred %p, %s;
  .reg .b32 %r<8>;
  .reg .b64 %a, %n, %g, %l<4>;
  .local .align 16 .b8 stack[32];
  .shared .align 16 .b8 tile[64];
  ld.param.u64 %a, [pa];
  ld.param.u64 %n, [pn];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %p, %r1, 3;
  setp.eq.and.u32 %p, %r2, 1, %p;
  .loc 1 42 3
)" + code +
         "\n  ret;\n}\n";
}

/// Returns code that makes `call` in the guilty thread only.
std::string guarded_call(const std::string& call) { return "@!%p bra $out;\n" + call + "\n$out:"; }

class FaultTest : public RuntimeTest {
 protected:
  FaultTest() {
    data_ = device_ints(std::vector<int>(100, 5));  // 400 bytes
    next_ = device_ints(std::vector<int>(100, 6));
  }

  /// Launches the victim and returns the messages printed.
  std::string run(const std::string& code, const void* a, std::uint64_t n, cudaError_t expected) {
    programs_.push_back(std::make_unique<Program>(victim(code)));
    void* arguments[] = {&a, &n};
    testing::internal::CaptureStderr();
    const void* const kernel = programs_.back()->kernel("victim");
    const cudaError_t launched =
        CUDA(cudaLaunchKernel)(kernel, dim3(2, 1, 1), dim3(4, 1, 1), arguments, 0, nullptr);
    const cudaError_t ended = CUDA(cudaDeviceSynchronize)();
    std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(launched == cudaSuccess || launched == expected) << launched;
    EXPECT_EQ(ended, expected) << code << "\n" << printed;
    return printed;
  }

  /// Checks that the error remains until the reset, which restores the device.
  static void expect_sticky(cudaError_t error) {
    void* pointer = nullptr;
    int value = 0;
    EXPECT_EQ(CUDA(cudaMalloc)(&pointer, 4), error);
    EXPECT_EQ(CUDA(cudaMemcpy)(&value, &value, 4, cudaMemcpyHostToHost), error);
    EXPECT_EQ(CUDA(cudaGetLastError)(), error);
    EXPECT_EQ(CUDA(cudaStreamSynchronize)(nullptr), error);
    EXPECT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
    CUDA(cudaGetLastError)();
    EXPECT_EQ(CUDA(cudaMalloc)(&pointer, 4), cudaSuccess);
    EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  }

  void expect_fault(const std::string& code, const void* a, std::uint64_t n, cudaError_t error,
                    const std::vector<std::string>& words) {
    const std::string printed = run(code, a, n, error);
    for (const std::string& word : words) EXPECT_THAT(printed, HasSubstr(word)) << code;
    EXPECT_THAT(printed, HasSubstr("kernel victim failed on the cpu device: ")) << code;
    EXPECT_THAT(printed, HasSubstr("by thread (3, 0, 0) of block (1, 0, 0)")) << code;
    EXPECT_THAT(printed, HasSubstr("(PTX line ")) << code;
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
    // Device memory is host memory: the fault must not have changed it.
    EXPECT_THAT(std::vector<int>(data_, data_ + 100), Each(5)) << code;
    EXPECT_THAT(std::vector<int>(next_, next_ + 100), Each(6)) << code;
    expect_sticky(error);
  }

  int* data_;
  int* next_;
  std::vector<std::unique_ptr<Program>> programs_;
};

const std::string store = "add.u64 %g, %a, %n;\n@%p st.global.u32 [%g], 1;";

TEST_F(FaultTest, OneElementPastTheEnd) {
  expect_fault(store, data_, 400, cudaErrorIllegalAddress,
               {"illegal address: a store of 4 bytes to 0x", "app.cu:42",
                "just past the end of 400 bytes at 0x", "device memory allocated by ", "device_ints"});
}

TEST_F(FaultTest, PartOfAnElementPastTheEnd) {
  void* odd = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&odd, 10), cudaSuccess);
  expect_fault(store, odd, 8, cudaErrorIllegalAddress, {"offset 8 of 10 bytes at 0x"});
}

TEST_F(FaultTest, BeforeTheBeginning) {
  expect_fault(store, data_, static_cast<std::uint64_t>(-4), cudaErrorIllegalAddress,
               {"4 bytes before 400 bytes at 0x"});
}

TEST_F(FaultTest, NullPointersWithAnOffset) {
  expect_fault(store, nullptr, 8, cudaErrorIllegalAddress, {"a store of 4 bytes to 0x8", "a null pointer"});
}

TEST_F(FaultTest, WildPointers) {
  expect_fault(store, nullptr, 0x1234'5678'9000, cudaErrorIllegalAddress, {"nothing is allocated there"});
}

TEST_F(FaultTest, AddressesOutsideOfUserSpace) {
  expect_fault("@%p ld.global.u64 %l1, [%n];", nullptr, 0xdead'0000'0000'0000, cudaErrorIllegalAddress,
               {"a load of 8 bytes from 0xdead000000000000"});
}

TEST_F(FaultTest, UnregisteredHostMemory) {
  std::vector<int> host(1 << 20, 7);
  expect_fault(store, host.data() + (1 << 19), 0, cudaErrorIllegalAddress,
               {"host memory that the device cannot access", "cudaHostRegister"});
  EXPECT_THAT(host, Each(7));
}

TEST_F(FaultTest, UseAfterFree) {
  int* const gone = device_ints({1, 2, 3, 4});
  ASSERT_EQ(CUDA(cudaFree)(gone), cudaSuccess);
  const int* const other = device_ints({1, 2, 3, 4});
  EXPECT_NE(gone, other) << "its addresses are not reused at once";
  expect_fault(store, gone, 8, cudaErrorIllegalAddress,
               {"offset 8 of freed memory: 16 bytes at 0x", "allocated by ", "freed by ", "UseAfterFree"});
}

TEST_F(FaultTest, UseAfterFreeAsync) {
  void* pool = nullptr;
  ASSERT_EQ(CUDA(cudaMallocAsync)(&pool, 64, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaFreeAsync)(pool, nullptr), cudaSuccess);
  expect_fault(store, pool, 0, cudaErrorIllegalAddress, {"freed memory: 64 bytes", "pool memory"});
}

TEST_F(FaultTest, UseAfterReset) {
  int* const gone = data_;
  ASSERT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  data_ = device_ints(std::vector<int>(100, 5));
  next_ = device_ints(std::vector<int>(100, 6));
  expect_fault(store, gone, 0, cudaErrorIllegalAddress, {"freed memory: 400 bytes"});
}

TEST_F(FaultTest, UseAfterUnregister) {
  alignas(64) static int own[16] = {};
  ASSERT_EQ(CUDA(cudaHostRegister)(own, sizeof own, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaHostUnregister)(own), cudaSuccess);
  expect_fault(store, own, 0, cudaErrorIllegalAddress, {"host memory that the device cannot access"});
  EXPECT_EQ(own[0], 0);
}

TEST_F(FaultTest, MisalignedAccesses) {
  expect_fault(store, data_, 2, cudaErrorMisalignedAddress,
               {"misaligned address: a store of 4 bytes to 0x", "not a multiple of 4", "app.cu:42"});
}

TEST_F(FaultTest, MisalignedVectors) {
  expect_fault("add.u64 %g, %a, %n;\n@%p ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%g];", data_, 8,
               cudaErrorMisalignedAddress, {"a load of 16 bytes", "not a multiple of 16"});
}

TEST_F(FaultTest, MisalignmentIsReportedBeforeAnInvalidAddress) {
  expect_fault(store, nullptr, 0x1234'5678'9002, cudaErrorMisalignedAddress, {"not a multiple of 4"});
}

TEST_F(FaultTest, VectorsThatCrossTheEnd) {
  void* odd = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&odd, 24), cudaSuccess);
  expect_fault("add.u64 %g, %a, %n;\n@%p ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%g];", odd, 16,
               cudaErrorIllegalAddress, {"a load of 16 bytes", "offset 16 of 24 bytes"});
}

TEST_F(FaultTest, AtomicsAndReductions) {
  expect_fault("add.u64 %g, %a, %n;\n@%p atom.global.add.u32 %r3, [%g], 1;", data_, 400,
               cudaErrorIllegalAddress, {"an atomic operation on 4 bytes at 0x", "just past the end"});
  data_ = device_ints(std::vector<int>(100, 5));
  next_ = device_ints(std::vector<int>(100, 6));
  expect_fault("add.u64 %g, %a, %n;\n@%p red.add.u64 [%g], 1;", data_, 404, cudaErrorMisalignedAddress,
               {"an atomic operation on 8 bytes at 0x"});
}

TEST_F(FaultTest, SharedMemory) {
  expect_fault(
      "cvt.u32.u64 %r3, %n;\nmov.u32 %r4, tile;\nadd.u32 %r3, %r3, %r4;\n@%p st.shared.u32 [%r3], 1;",
      nullptr, 64, cudaErrorIllegalAddress,
      {"shared memory access out of range: address 0x40, the block has 64 bytes", "app.cu:42"});
  data_ = device_ints(std::vector<int>(100, 5));
  next_ = device_ints(std::vector<int>(100, 6));
  expect_fault("cvt.u32.u64 %r3, %n;\n@%p ld.shared.u32 %r4, [%r3];", nullptr, 2, cudaErrorMisalignedAddress,
               {"a load of 4 bytes from 0x2"});
}

TEST_F(FaultTest, SharedMemoryByGenericAddresses) {
  expect_fault("mov.u64 %g, tile;\ncvta.shared.u64 %g, %g;\nadd.u64 %g, %g, %n;\n@%p st.u32 [%g], 1;",
               nullptr, 64, cudaErrorIllegalAddress,
               {"0 bytes past the end of the block's 64 bytes of shared memory"});
}

TEST_F(FaultTest, GlobalAccessesToSharedMemory) {
  expect_fault("mov.u64 %g, tile;\ncvta.shared.u64 %g, %g;\n@%p st.global.u32 [%g], 1;", nullptr, 0,
               cudaErrorInvalidAddressSpace, {"address of the wrong space: ", "st.global.u32"});
}

TEST_F(FaultTest, LocalMemory) {
  expect_fault("mov.u64 %g, stack;\nadd.u64 %g, %g, %n;\n@%p st.local.u32 [%g], 1;", nullptr, 1 << 20,
               cudaErrorIllegalAddress, {"local memory access out of range"});
}

TEST_F(FaultTest, LocalMemoryOfAnotherThread) {
  expect_fault("mov.u64 %g, stack;\ncvta.local.u64 %g, %g;\nsub.u64 %g, %g, %n;\n@%p st.u32 [%g], 1;",
               nullptr, 64, cudaErrorIllegalAddress, {"local memory of another thread"});
}

TEST_F(FaultTest, VariablesHaveExactBounds) {
  expect_fault("mov.u64 %g, table;\nadd.u64 %g, %g, %n;\n@%p st.global.u32 [%g], 1;", nullptr, 16,
               cudaErrorIllegalAddress, {"just past the end of variable 'table' of 16 bytes"});
  data_ = device_ints(std::vector<int>(100, 5));
  next_ = device_ints(std::vector<int>(100, 6));
  expect_fault("mov.u64 %g, coefficients;\nadd.u64 %g, %g, %n;\n@%p ld.const.u32 %r3, [%g];", nullptr, 16,
               cudaErrorIllegalAddress, {"no .const variable is at this address"});
}

TEST_F(FaultTest, ParametersHaveExactBounds) {
  expect_fault("@%p ld.param.u64 %l1, [pn+8];", nullptr, 0, cudaErrorIllegalAddress,
               {"no kernel parameter is at this address"});
}

TEST_F(FaultTest, InAFunction) {
  expect_fault(
      "add.u64 %g, %a, %n;\n" + guarded_call("{ .param .b64 x; st.param.b64 [x], %g; call.uni put, (x); }"),
      data_, 400, cudaErrorIllegalAddress, {"in function 'put'", "app.cu:7", "just past the end"});
}

TEST_F(FaultTest, CallsOfNonFunctions) {
  const std::string prototype = "$proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n";
  expect_fault(prototype + guarded_call("{ .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; "
                                        "call (y), %n, (x), $proto; }"),
               nullptr, 0x77770, cudaErrorInvalidPc, {"a call through 0x77770", "app.cu:42"});
}

TEST_F(FaultTest, EndlessRecursion) {
  const std::string printed =
      run(guarded_call("{ .param .b32 x; st.param.b32 [x], %r1; .param .b32 y; call.uni (y), depth, (x); }"),
          nullptr, 0, cudaErrorIllegalAddress);
  EXPECT_THAT(printed, HasSubstr("stack overflow"));
}

TEST_F(FaultTest, Traps) {
  expect_fault("@%p trap;", nullptr, 0, cudaErrorLaunchFailure, {"the kernel executed trap", "app.cu:42"});
}

TEST_F(FaultTest, TextsOfPrintf) {
  const auto print = [](const std::string& format) {
    return guarded_call(
        "{ .param .b64 f; st.param.b64 [f], " + format +
        "; .param .b64 v; st.param.b64 [v], %a; .param .b32 r; call.uni (r), vprintf, (f, v); }");
  };
  expect_fault(print("%n"), nullptr, 0x1234'5678'9000, cudaErrorIllegalAddress,
               {"a string at 0x123456789000", "app.cu:42"});
  void* format = nullptr;
  void* arguments = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&format, 3), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMalloc)(&arguments, 8), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemcpy)(format, "%s", 3, cudaMemcpyHostToDevice), cudaSuccess);
  const std::uint64_t wild = 0x1234'5678'a000;
  ASSERT_EQ(CUDA(cudaMemcpy)(arguments, &wild, 8, cudaMemcpyHostToDevice), cudaSuccess);
  data_ = device_ints(std::vector<int>(100, 5));
  next_ = device_ints(std::vector<int>(100, 6));
  expect_fault(print("%n"), arguments, reinterpret_cast<std::uint64_t>(format), cudaErrorIllegalAddress,
               {"a string at 0x12345678a000"});
}

const std::string device_malloc =
    "{ .param .b64 b; st.param.b64 [b], 24; .param .b64 r; call.uni (r), malloc, (b); ld.param.b64 %l1, [r]; "
    "}\n";
std::string device_free(const std::string& pointer) {
  return "{ .param .b64 b; st.param.b64 [b], " + pointer + "; call.uni free, (b); }\n";
}

TEST_F(FaultTest, FreeOfMemoryNotFromMalloc) {
  expect_fault(guarded_call(device_free("%a")), data_, 0, cudaErrorIllegalAddress,
               {"free of a pointer that device malloc did not return", "offset 0 of 400 bytes"});
}

TEST_F(FaultTest, UseAfterFreeInTheSameKernel) {
  // The first store is valid, so the code may remember its address as valid.
  expect_fault(guarded_call(device_malloc +
                            "mov.u32 %r3, 0;\n$again:\nst.u32 [%l1+8], 1;\n"
                            "setp.eq.u32 %s, %r3, 1;\n@%s bra $out;\nmov.u32 %r3, 1;\n" +
                            device_free("%l1") + "bra $again;"),
               nullptr, 0, cudaErrorIllegalAddress,
               {"offset 8 of freed memory: 24 bytes", "the device's malloc"});
}

TEST_F(FaultTest, OneLaneOfAWarpPastTheEnd) {
  const std::string code =
      "mul.wide.u32 %l1, %r1, 4;\nadd.u64 %g, %a, %l1;\nld.global.u32 %r3, [%g];\nst.global.u32 [%g], %r3;";
  const auto launch = [&](std::size_t bytes) {
    void* exact = nullptr;
    EXPECT_EQ(CUDA(cudaMalloc)(&exact, bytes), cudaSuccess);
    std::uint64_t n = 0;
    void* arguments[] = {&exact, &n};
    programs_.push_back(std::make_unique<Program>(victim(code)));
    const void* const kernel = programs_.back()->kernel("victim");
    testing::internal::CaptureStderr();
    CUDA(cudaLaunchKernel)(kernel, dim3(1, 1, 1), dim3(64, 1, 1), arguments, 0, nullptr);
    CUDA(cudaDeviceSynchronize)();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(launch(256), "");
  const std::string printed = launch(252);
  EXPECT_THAT(printed, HasSubstr("by thread (63, 0, 0) of block (0, 0, 0)"));
  EXPECT_THAT(printed, HasSubstr("just past the end of 252 bytes"));
}

/// A warp walks through memory, so that code that remembers valid ranges has seen valid accesses: in each of
/// four iterations, lanes below 16 advance by the first number of bytes, the others by the second.
class FaultsOfHalfWarps : public FaultTest, public testing::WithParamInterface<Tier> {
 protected:
  std::string walk(std::size_t bytes, const std::string& first, const std::string& second) {
    const ChosenTier chosen(GetParam());
    const std::string code =
        "mul.wide.u32 %l1, %r1, 4;\nadd.u64 %g, %a, %l1;\nsetp.lt.u32 %s, %r1, 16;\nselp.u64 %l2, " + first +
        ", " + second +
        ", %s;\nmov.u32 %r4, 0;\n$next: ld.global.u32 %r3, [%g];\nst.global.u32 [%g], %r3;\nadd.u64 %g, %g, "
        "%l2;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %s, %r4, 4;\n@%s bra $next;";
    void* exact = nullptr;
    EXPECT_EQ(CUDA(cudaMalloc)(&exact, bytes), cudaSuccess);
    std::uint64_t n = 0;
    void* arguments[] = {&exact, &n};
    programs_.push_back(std::make_unique<Program>(victim(code)));
    const void* const kernel = programs_.back()->kernel("victim");
    testing::internal::CaptureStderr();
    CUDA(cudaLaunchKernel)(kernel, dim3(1, 1, 1), dim3(32, 1, 1), arguments, 0, nullptr);
    CUDA(cudaDeviceSynchronize)();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_P(FaultsOfHalfWarps, LastLanePastTheEnd) {
  EXPECT_EQ(walk(320, "64", "64"), "");
  const std::string printed = walk(316, "64", "64");
  EXPECT_THAT(printed, HasSubstr("by thread (31, 0, 0)"));
  EXPECT_THAT(printed, HasSubstr("just past the end of 316 bytes"));
}

TEST_P(FaultsOfHalfWarps, OnlyTheFirstHalfPastTheEnd) {
  EXPECT_EQ(walk(256, "64", "32"), "");
  EXPECT_THAT(walk(252, "64", "32"), HasSubstr("by thread (15, 0, 0)"));
}

TEST_P(FaultsOfHalfWarps, FirstHalfMisaligned) {
  EXPECT_THAT(walk(320, "62", "64"), HasSubstr("by thread (0, 0, 0)"));
}

TEST_P(FaultsOfHalfWarps, SecondHalfMisaligned) {
  EXPECT_EQ(walk(320, "64", "56"), "");
  const std::string printed = walk(320, "64", "62");
  EXPECT_THAT(printed, HasSubstr("misaligned address: a load of 4 bytes"));
  EXPECT_THAT(printed, HasSubstr("by thread (16, 0, 0)"));
}

INSTANTIATE_TEST_SUITE_P(Tiers, FaultsOfHalfWarps, testing::ValuesIn(tiers),
                         [](const auto& each) { return name_of_text(each.param.name); });

// ---------------------------------------------------------------- legal accesses

class LegalAccessTest : public FaultTest {
 protected:
  /// Adds 1 to the memory word at `where`, by generic and by global accesses.
  void expect_reached(void* where) {
    EXPECT_EQ(run("@%p ld.u32 %r3, [%a];\nadd.u32 %r3, %r3, 1;\n@%p st.global.u32 [%a], %r3;\n"
                  "@%p red.add.u32 [%a], 1;",
                  where, 0, cudaSuccess),
              "");
  }
};

TEST_F(LegalAccessTest, MemoryOfEveryKindToItsLastByte) {
  void *pool = nullptr, *managed = nullptr, *host = nullptr, *pitched = nullptr;
  alignas(64) static int own[16];
  std::size_t pitch = 0;
  ASSERT_EQ(CUDA(cudaMallocAsync)(&pool, 100, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocManaged)(&managed, 100, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocHost)(&host, 100), cudaSuccess);
  ASSERT_EQ(CUDA(cudaHostRegister)(own, sizeof own, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocPitch)(&pitched, &pitch, 12, 3), cudaSuccess);
  for (void* const last : {static_cast<void*>(data_ + 99), static_cast<void*>(static_cast<char*>(pool) + 96),
                           static_cast<void*>(static_cast<char*>(managed) + 96),
                           static_cast<void*>(static_cast<char*>(host) + 96), static_cast<void*>(own + 15),
                           static_cast<void*>(static_cast<char*>(pitched) + 3 * pitch - 4)}) {
    int before = 0;
    std::memcpy(&before, last, 4);
    expect_reached(last);
    int after = 0;
    std::memcpy(&after, last, 4);
    EXPECT_EQ(after, before + 2);
  }
  EXPECT_EQ(CUDA(cudaHostUnregister)(own), cudaSuccess);
}

TEST_F(LegalAccessTest, OwnWindowsByGenericAddresses) {
  EXPECT_EQ(run("mov.u64 %g, tile;\ncvta.shared.u64 %g, %g;\nst.u32 [%g+60], 1;\nld.u32 %r3, [%g+60];\n"
                "mov.u64 %l1, stack;\ncvta.local.u64 %l1, %l1;\nst.v4.u32 [%l1+16], {%r3, %r3, %r3, %r3};\n"
                "ld.u32 %r4, [%l1+28];\nmov.u64 %l2, pn;\ncvta.param.u64 %l2, %l2;\nld.u64 %l3, [%l2];\n"
                "add.u32 %r3, %r3, %r4;\n@%p st.global.u32 [%a], %r3;",
                data_, 9, cudaSuccess),
            "");
  EXPECT_EQ(data_[0], 2);
}

TEST_F(LegalAccessTest, VariablesUnknownToTheHost) {
  EXPECT_EQ(run("mov.u64 %g, behind_table;\n@%p st.global.u32 [%g+12], 1;\nmov.u64 %l1, coefficients;\n"
                "@%p ld.global.u32 %r3, [%l1+12];\n@%p ld.const.u32 %r3, [coefficients+12];",
                nullptr, 0, cudaSuccess),
            "");
}

TEST_F(LegalAccessTest, DeviceMallocOutlivesItsKernel) {
  EXPECT_EQ(run(guarded_call(device_malloc + "st.u64 [%l1+16], 8;\nst.global.u64 [%a], %l1;"), data_, 0,
                cudaSuccess),
            "");
  void* made = nullptr;
  std::memcpy(&made, data_, sizeof made);
  expect_reached(made);
  EXPECT_EQ(cpu_device().allocations()->find(reinterpret_cast<std::uintptr_t>(made)), nullptr);
  EXPECT_EQ(run(guarded_call(device_free("%a")), made, 0, cudaSuccess), "");
  EXPECT_THAT(run(store, made, 0, cudaErrorIllegalAddress), HasSubstr("freed memory: 24 bytes"));
}

TEST_F(LegalAccessTest, FalseGuardsPreventFaults) {
  EXPECT_EQ(
      run("setp.ne.u32 %s, %r1, %r1;\n@%s st.global.u32 [%n], 1;\n@%s atom.global.add.u32 %r3, [%n], 1;",
          nullptr, 0x1234'5678'9002, cudaSuccess),
      "");
}

// ---------------------------------------------------------------- variants

bool run_variant(const Launch& launch, const KernelIdentity& kernel) {
  Device& device = cpu_device();
  auto variant = device.load(*kernel.ptx, "victim", launch, {});
  auto buffer = device.allocate_zeroed(16, launch);
  if (!variant.ok() || !buffer.ok()) return false;
  const ParameterSlot slots[] = {{0, 8}, {8, 8}};
  EXPECT_TRUE(device.launch(**variant, launch, slots, {}, **buffer).ok()) << "the launch itself succeeds";
  auto readback = device.read_back(std::move(*buffer), launch);
  const auto bytes = (*readback)->wait();
  EXPECT_FALSE(bytes.ok());
  if (!bytes.ok()) {
    EXPECT_THAT(bytes.error().diagnostics[0].message, HasSubstr("just past the end of 400 bytes"));
  }
  return true;
}

TEST_F(FaultTest, InAVariant) {
  set_launch_interceptor(&run_variant);
  run(store, data_, 400, cudaErrorIllegalAddress);
  set_launch_interceptor(nullptr);
  expect_sticky(cudaErrorIllegalAddress);
}

std::uint64_t probe_offset = 0;
bool run_with_probe(const Launch& launch, const KernelIdentity& kernel) {
  Device& device = cpu_device();
  auto variant = device.load(*kernel.ptx, "victim", launch, {});
  auto buffer = device.allocate_zeroed(16, launch);
  const std::uint64_t target = (*buffer)->address();
  const void* parameters[] = {&target, &probe_offset};
  Launch own = launch;
  own.parameters = const_cast<void**>(parameters);
  const ParameterSlot slots[] = {{0, 8}, {8, 8}};
  EXPECT_TRUE(device.launch(**variant, own, slots, {}, **buffer).ok());
  auto readback = device.read_back(std::move(*buffer), launch);
  EXPECT_EQ((*readback)->wait().ok(), probe_offset + 4 <= 16);
  return true;
}

TEST_F(FaultTest, ProbeBuffersAreAccessibleToTheLastByte) {
  set_launch_interceptor(&run_with_probe);
  probe_offset = 12;
  EXPECT_EQ(run(store, nullptr, 0, cudaSuccess), "");
  probe_offset = 16;
  run(store, nullptr, 0, cudaErrorIllegalAddress);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
