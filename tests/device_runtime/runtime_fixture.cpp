#include "tests/device_runtime/runtime_fixture.h"

#include <algorithm>
#include <cstring>

namespace lynxpp::device::cpu::test {
namespace {

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Returns an uncompressed fatbinary entry.
std::string entry(std::uint16_t kind, std::string payload, std::uint32_t sm) {
  payload.resize((payload.size() / 8 + 1) * 8, '\0');
  std::string bytes(64, '\0');
  put(bytes, 0, kind);
  put(bytes, 2, std::uint16_t{0x101});
  put(bytes, 4, std::uint32_t{64});
  put(bytes, 8, std::uint64_t{payload.size()});
  put(bytes, 28, sm);
  put(bytes, 40, std::uint64_t{0x11});
  return bytes + payload;
}

std::string container(const std::string& entries) {
  std::string bytes(16, '\0');
  put(bytes, 0, std::uint32_t{0xBA55ED50});
  put(bytes, 4, std::uint16_t{1});
  put(bytes, 6, std::uint16_t{16});
  put(bytes, 8, std::uint64_t{entries.size()});
  return bytes + entries;
}

std::string entries_of(const std::string& ptx) {
  constexpr const char* machine_code =
      "\x7f"
      "ELF, but no more than that";
  return ptx.empty() ? entry(2, machine_code, 75) : entry(1, ptx, 75);
}

}  // namespace

void* lookup(const std::string& name) {
  for (const ApiFunction& function : runtime_api()) {
    if (function.name == name) return function.address;
  }
  ADD_FAILURE() << "the table has no " << name;
  return nullptr;
}

Program::Program(const std::string& ptx) : container_(container(entries_of(ptx))) { register_binary(); }

Program::Program(const std::string& ptx, const std::string& newer_ptx)
    : container_(container(entries_of(ptx) + entry(1, newer_ptx, 90))) {
  register_binary();
}

void Program::register_binary() {
  wrapper_.data = container_.data();
  handle_ = CUDA(__cudaRegisterFatBinary)(&wrapper_);
}

Program::~Program() { unregister(); }

void Program::unregister() {
  if (handle_ != nullptr) CUDA(__cudaUnregisterFatBinary)(handle_);
  handle_ = nullptr;
}

const char* Program::keep(const std::string& name) {
  return names_.emplace_back(std::make_unique<std::string>(name))->c_str();
}

const void* Program::kernel(const std::string& name) {
  const void* stub = stubs_.emplace_back(std::make_unique<void*>()).get();
  const char* kept = keep(name);
  CUDA(__cudaRegisterFunction)
  (handle_, static_cast<const char*>(stub), const_cast<char*>(kept), kept, -1, nullptr, nullptr, nullptr,
   nullptr, nullptr);
  return stub;
}

const void* Program::variable(const std::string& name, std::size_t bytes) {
  void* shadow = stubs_.emplace_back(std::make_unique<void*>()).get();
  const char* kept = keep(name);
  CUDA(__cudaRegisterVar)(handle_, static_cast<char*>(shadow), const_cast<char*>(kept), kept, 0, bytes, 0, 0);
  return shadow;
}

void** Program::managed_variable(const std::string& name, std::size_t bytes) {
  void** pointer = stubs_.emplace_back(std::make_unique<void*>()).get();
  const char* kept = keep(name);
  CUDA(__cudaRegisterManagedVar)(handle_, pointer, const_cast<char*>(kept), kept, 0, bytes, 0, 0);
  return pointer;
}

RuntimeTest::RuntimeTest() {
  CUDA(cudaDeviceReset)();
  CUDA(cudaGetLastError)();
}

RuntimeTest::~RuntimeTest() {
  set_launch_interceptor(nullptr);
  CUDA(cudaDeviceReset)();
}

int* RuntimeTest::device_ints(const std::vector<int>& values) {
  void* pointer = nullptr;
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, values.size() * sizeof(int)), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpy)(pointer, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice),
            cudaSuccess);
  return static_cast<int*>(pointer);
}

std::vector<int> RuntimeTest::host_ints(const int* device, std::size_t count) {
  std::vector<int> values(count);
  EXPECT_EQ(CUDA(cudaMemcpy)(values.data(), device, count * sizeof(int), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}

// scale:   out[i] = in[i] * factor[0] for i < n; total += 1 and *managed_total += 1 per thread that wrote
// reverse: shared memory, 64 static ints and dynamic memory
// bounded: at most 64 threads; dies: executes trap; strange: has an unknown opcode
const char* const test_ptx = R"(.version 7.5
.target sm_75
.address_size 64

.visible .const .align 4 .b8 factor[8];
.visible .global .align 4 .u32 total = 5;
.visible .global .align 4 .u32 managed_total;

.visible .entry scale(
  .param .u64 scale_param_0,
  .param .u64 scale_param_1,
  .param .u32 scale_param_2
)
{
  .reg .pred %p<2>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;

  ld.param.u64 %rd1, [scale_param_0];
  ld.param.u64 %rd2, [scale_param_1];
  ld.param.u32 %r1, [scale_param_2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $done;
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mul.wide.s32 %rd5, %r5, 4;
  add.s64 %rd6, %rd4, %rd5;
  add.s64 %rd7, %rd3, %rd5;
  ld.global.u32 %r6, [%rd6];
  ld/* of the .const bank */.const .u32 %r7, [factor];
  mul.lo.s32 %r8, %r6, %r7;
  st.global.u32 [%rd7], %r8;
  atom.global.add.u32 %r9, [total], 1;
  atom.global.add.u32 %r10, [managed_total], 1;
$done:
  ret;
}

.visible .entry reverse(
  .param .u64 reverse_param_0
)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 tile[256];

  ld.param.u64 %rd1, [reverse_param_0];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, tile;
  add.s32 %r4, %r3, %r2;
  ld.global.u32 %r5, [%rd3];
  st.shared.u32 [%r4], %r5;
  bar.sync 0;
  sub.s32 %r6, 252, %r2;
  add.s32 %r6, %r3, %r6;
  ld.shared.u32 %r7, [%r6];
  st.global.u32 [%rd3], %r7;
  ret;
}

.visible .entry bounded()
.maxntid 64, 1, 1
{
  ret;
}

.visible .entry dies()
{
  trap;
}

.visible .entry strange()
{
  .reg .b32 %r<3>;
  frobnicate.u32 %r1, %r2;
  ret;
}
)";

}  // namespace lynxpp::device::cpu::test
