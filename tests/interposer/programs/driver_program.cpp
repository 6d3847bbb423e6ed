// Launches kernels through the driver API. Usage: driver_program DOOR ACTION...
//   DOOR    linked (bound by the dynamic linker), dlsym, proc (cuGetProcAddress_v2), proc_v1
//           (cuGetProcAddress)
//   ACTION  see actions() at the end
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/interposer/event_log.h"
#include "tests/interposer/programs/driver_api.h"
#include "tests/interposer/programs/graph_actions.h"

namespace {

void images() {
  void* module = nullptr;
  void* function = nullptr;
  launch(loaded_function("module_data"));
  // The program may free the text after the load.
  char* const text = strdup(ptx_text);
  api.cuModuleLoadDataEx(&module, text, 0, nullptr, nullptr);
  memset(text, 1, strlen(text));
  free(text);
  api.cuModuleGetFunction(&function, module, "module_data_ex");
  launch(function);
  api.cuModuleLoadFatBinary(&module, container_bytes);
  api.cuModuleGetFunction(&function, module, "fat_binary");
  launch(function);

  void* library = nullptr;
  void* kernel = nullptr;
  api.cuLibraryLoadData(&library, &wrapper_object, nullptr, nullptr, 0, nullptr, nullptr, 0);
  api.cuLibraryGetKernel(&kernel, library, "library_kernel");
  launch(kernel);
  api.cuKernelGetFunction(&function, kernel);
  launch(function, 7);
  api.cuLibraryGetModule(&module, library);
  api.cuModuleGetFunction(&function, module, "module_of_library");
  launch(function);
  api.cuLibraryLoadData(&library, &linked_wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0);
  api.cuLibraryGetKernel(&kernel, library, "relocatable");
  launch(kernel);
}

void launches() {
  void* const function = loaded_function("kernel");
  launch(function);
  api.cuLaunchKernel_ptsz(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
  int attributes[2] = {};
  const LaunchConfig config = {4, 5, 6, 64, 2, 1, 128, reinterpret_cast<void*>(0x20), attributes, 2};
  api.cuLaunchKernelEx(&config, function, nullptr, nullptr);
  api.cuLaunchKernelEx_ptsz(&config, function, nullptr, nullptr);
  api.cuLaunchCooperativeKernel(function, 8, 1, 1, 96, 1, 1, 0, nullptr, nullptr);
  api.cuLaunchCooperativeKernel_ptsz(function, 8, 1, 1, 96, 1, 1, 0, nullptr, nullptr);
}

void unseen() {
  void* module = nullptr;
  void* function = nullptr;
  api.cuModuleLoad(&module, "/some/file.cubin");
  api.cuModuleGetFunction(&function, module, "from_file");
  launch(function);
  // Handles that are obtained in unobserved ways, from a module and a library that were seen.
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto enumerate =
      reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(driver, "fakeEnumerate"));
  api.cuModuleLoadData(&module, ptx_text);
  enumerate(&function, module, "enumerated_function");
  launch(function);
  void* library = nullptr;
  api.cuLibraryLoadData(&library, &wrapper_object, nullptr, nullptr, 0, nullptr, nullptr, 0);
  enumerate(&function, library, "enumerated_kernel");
  launch(function);
}

void unload() {
  void* module = nullptr;
  void* const function = loaded_function("kernel", &module);
  launch(function);
  // If the driver refuses to unload, the module stays.
  if (api.cuModuleUnload(module) != 0) launch(function);

  void* library = nullptr;
  void* kernel = nullptr;
  void* of_library = nullptr;
  api.cuLibraryLoadData(&library, &wrapper_object, nullptr, nullptr, 0, nullptr, nullptr, 0);
  api.cuLibraryGetKernel(&kernel, library, "library_kernel");
  api.cuLibraryGetModule(&of_library, library);
  launch(kernel);
  api.cuLibraryUnload(library);
}

void synchronisations() {
  api.cuStreamSynchronize(nullptr);
  launch(loaded_function("kernel"));
  api.cuStreamSynchronize(nullptr);
  api.cuStreamSynchronize_ptsz(nullptr);
  api.cuEventSynchronize(nullptr);
  api.cuCtxSynchronize();
  api.cuMemcpy(1, 2, 3);
  api.cuMemcpyDtoH_v2(nullptr, 2, 4);
  api.cuMemcpy2D_v2(nullptr);
  api.cuMemcpy3D_v2(nullptr);
}

void contexts() {
  launch(loaded_function("kernel"));
  int context = 0;
  api.cuDevicePrimaryCtxRelease_v2(1);
  api.cuDevicePrimaryCtxReset_v2(1);
  api.cuDevicePrimaryCtxReset_v2(-1);  // no device
  api.cuCtxDestroy_v2(&context);
  api.cuCtxDestroy_v2(nullptr);
}

void forks() {
  launch(loaded_function("parent"));
  for (const bool orderly : {true, false}) {
    const pid_t child = fork();
    if (child == 0) {
      log_event("child");
      launch(loaded_function("in_child"));
      if (orderly) exit(0);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) fail("the child failed");
  }
  log_event("parent ends");
}

/// Runs eight threads that load, launch and unload concurrently, each with its own modules.
void threads() {
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([i] {
      const std::string name = "thread_" + std::to_string(i);
      for (int round = 0; round < 50; ++round) {
        void* module = nullptr;
        launch(loaded_function(name.c_str(), &module));
        api.cuModuleUnload(module);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void expect_zero(int result) {
  if (result != 0) fail("the environment could not be changed");
}

std::uint64_t allocated(std::size_t bytes) {
  std::uint64_t address = 0;
  succeed(api.cuMemAlloc_v2(&address, bytes));
  return address;
}

void* const stream = nullptr;

/// Allocates one of each kind, of 1, 2, 3, … bytes, and launches; then frees all and launches again.
void memory() {
  std::uint64_t address[6] = {};
  std::size_t pitch = 0;
  succeed(api.cuMemAlloc_v2(&address[0], 1));
  succeed(api.cuMemAllocPitch_v2(&address[1], &pitch, 2, 3, 4));
  succeed(api.cuMemAllocManaged(&address[2], 3, 1));
  succeed(api.cuMemAllocAsync(&address[3], 4, stream));
  succeed(api.cuMemAllocAsync_ptsz(&address[4], 5, stream));
  succeed(api.cuMemAllocFromPoolAsync(&address[5], 6, nullptr, stream));
  std::uint64_t from_pool = 0;
  succeed(api.cuMemAllocFromPoolAsync_ptsz(&from_pool, 7, nullptr, stream));
  succeed(api.cuMemMap(0x7000000, 0x1000, 0, 0, 0));
  succeed(api.cuMemMap(0x7001000, 0x1000, 0, 0, 0));
  void* host[3] = {};
  succeed(api.cuMemAllocHost_v2(&host[0], 8));
  succeed(api.cuMemHostAlloc(&host[1], 9, 0));
  host[2] = reinterpret_cast<void*>(0x8000000);
  succeed(api.cuMemHostRegister_v2(host[2], 10, 0));
  // These calls have no effect.
  std::uint64_t failed = 0x1234;
  if (api.cuMemAlloc_v2(&failed, std::size_t{1} << 41) == 0) fail("so much memory");
  void* const function = loaded_function("kernel");
  launch(function);
  succeed(api.cuMemFree_v2(address[0]));
  succeed(api.cuMemFree_v2(address[1]));
  succeed(api.cuMemFree_v2(address[2]));
  succeed(api.cuMemFreeAsync(address[3], stream));
  succeed(api.cuMemFreeAsync_ptsz(address[4], stream));
  succeed(api.cuMemFree_v2(address[5]));
  succeed(api.cuMemFreeAsync(from_pool, stream));
  succeed(api.cuMemUnmap(0x7000000, 0x2000));
  succeed(api.cuMemFreeHost(host[0]));
  succeed(api.cuMemFreeHost(host[1]));
  succeed(api.cuMemHostUnregister(host[2]));
  launch(function);
}

/// Calls the first versions, which only look-ups by exported name find.
void memory_32() {
  unsigned address[2] = {};
  unsigned pitch = 0;
  void* host = nullptr;
  succeed(api.cuMemAlloc(&address[0], 1));
  succeed(api.cuMemAllocPitch(&address[1], &pitch, 2, 3, 4));
  succeed(api.cuMemAllocHost(&host, 3));
  succeed(api.cuMemHostRegister(reinterpret_cast<void*>(0x8000000), 4, 0));
  void* const function = loaded_function("kernel");
  launch(function);
  succeed(api.cuMemFree(address[0]));
  succeed(api.cuMemFree(address[1]));
  succeed(api.cuMemFreeHost(host));
  launch(function);
}

/// Reuses an address, with and without an observed free.
void memory_again() {
  const std::uint64_t first = allocated(100);
  allocated(200);
  void* const function = loaded_function("kernel");
  launch(function);
  const bool kept = api.cuMemFree_v2(first) != 0;
  launch(function);
  if (!kept && allocated(100) != first) fail("not the same address");
  launch(function);
  succeed(api.cuMemHostRegister_v2(reinterpret_cast<void*>(0x8000000), 0x1000, 0));
  succeed(api.cuMemHostRegister_v2(reinterpret_cast<void*>(0x8000800), 0x1000, 0));
  launch(function);
}

/// Allocates memory that ends with a context.
void memory_of_contexts() {
  const auto set_current =
      reinterpret_cast<void (*)(void*)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakeSetCurrent"));
  char context = 0;
  std::uint64_t address = 0;
  const auto allocate = [&](std::size_t bytes) {
    allocated(bytes);
    succeed(api.cuMemAllocAsync(&address, bytes + 1, stream));
  };
  allocate(10);
  set_current(&context);
  allocate(20);
  succeed(api.cuMemMap(0x7000000, 30, 0, 0, 0));
  set_current(nullptr);
  void* const function = loaded_function("kernel");
  succeed(api.cuCtxDestroy_v2(&context));
  launch(function);
  void* primary = nullptr;
  succeed(api.cuDevicePrimaryCtxRetain(&primary, 0));
  succeed(api.cuDevicePrimaryCtxRelease_v2(0));  // still held
  launch(function);
  succeed(api.cuDevicePrimaryCtxReset_v2(0));
  launch(loaded_function("kernel"));
}

/// Makes a thousand allocations in each of eight threads; the next thread frees every second one.
void memory_of_threads() {
  std::vector<std::vector<std::uint64_t>> addresses(8, std::vector<std::uint64_t>(1000));
  const auto in_threads = [](auto work) {
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < 8; ++i) workers.emplace_back(work, i);
    for (std::thread& worker : workers) worker.join();
  };
  in_threads([&](std::size_t i) {
    for (std::uint64_t& address : addresses[i]) {
      // Some allocations are freed immediately, so that addresses are constantly reused.
      succeed(api.cuMemFree_v2(allocated(64 * i + 64)));
      address = allocated(64 * i + 64);
    }
  });
  void* const function = loaded_function("kernel");
  launch(function);
  in_threads([&](std::size_t i) {
    for (std::size_t j = 0; j < 1000; j += 2) succeed(api.cuMemFree_v2(addresses[(i + 1) % 8][j]));
  });
  launch(function);
}

/// Measures the time to track an allocation: for people, as no test depends on time.
void memory_times() {
  constexpr int rounds = 100000;
  std::vector<std::uint64_t> addresses(rounds);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t& address : addresses) address = allocated(256);
  const auto middle = std::chrono::steady_clock::now();
  for (const std::uint64_t address : addresses) succeed(api.cuMemFree_v2(address));
  const auto end = std::chrono::steady_clock::now();
  const auto nanoseconds = [](auto time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count() / rounds;
  };
  printf("%lld ns to allocate, %lld ns to free\n", static_cast<long long>(nanoseconds(middle - begin)),
         static_cast<long long>(nanoseconds(end - middle)));
}

void holds() {
  launch(loaded_function("kernel"));
  void* context = nullptr;
  for (int i = 0; i < 3; ++i) succeed(api.cuDevicePrimaryCtxRetain(&context, 1));
  for (int i = 0; i < 3; ++i) succeed(api.cuDevicePrimaryCtxRelease_v2(1));
}

void counted_launches() {
  void* const function = loaded_function("kernel");
  succeed(api.cuLaunchGrid(function, 5, 1));
  const DeviceLaunch launches[2] = {{function, {6, 1, 1, 1, 1, 1, 0}, nullptr, nullptr},
                                    {function, {7, 1, 1, 1, 1, 1, 0}, nullptr, nullptr}};
  succeed(api.cuLaunchCooperativeKernelMultiDevice(launches, 2, 0));
}

/// Links the inputs that the letters specify: a and b are texts, r is a text that the driver refuses, c is
/// machine code, f is the file DRIVER_PROGRAM_FILE; m is a text linked without contraction.
void link(const std::string& inputs) {
  constexpr int cubin = 0, ptx = 1;
  int keeps_apart[] = {24};
  void* no[] = {nullptr};
  void* state = nullptr;
  succeed(api.cuLinkCreate_v2(0, nullptr, nullptr, &state));
  for (const char each : inputs) {
    char text[] = "text a";
    text[5] = each;
    if (each == 'f') {
      succeed(api.cuLinkAddFile_v2(state, ptx, getenv("DRIVER_PROGRAM_FILE"), 0, nullptr, nullptr));
      continue;
    }
    const bool is_refused = each == 'r';
    const int result =
        api.cuLinkAddData_v2(state, each == 'c' ? cubin : ptx, text, sizeof text,
                             is_refused ? "refused" : "input", each == 'm' ? 1 : 0, keeps_apart, no);
    if ((result != 0) != is_refused) fail("cuLinkAddData");
  }
  void* image = nullptr;
  std::size_t bytes = 0;
  succeed(api.cuLinkComplete(state, &image, &bytes));
  void* module = nullptr;
  succeed(api.cuModuleLoadData(&module, image));
  succeed(api.cuLinkDestroy(state));
}

void from_files() {
  const char* const path = getenv("DRIVER_PROGRAM_FILE");
  void* module = nullptr;
  void* function = nullptr;
  succeed(api.cuModuleLoad(&module, path));
  succeed(api.cuModuleGetFunction(&function, module, "module_file"));
  launch(function);
  void* library = nullptr;
  succeed(api.cuLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
  succeed(api.cuLibraryGetKernel(&function, library, "library_file"));
  launch(function);
}

void set_specifications(const std::string& value) {
  expect_zero(setenv("LYNXPP_SPEC", value.c_str(), 1));
  if (getenv("LYNXPP_SPEC") != value) fail("setenv does not set");
}

void put_specifications(const std::string& value) {
  static std::string entry;
  entry = "LYNXPP_SPEC=" + value;
  expect_zero(putenv(entry.data()));
  if (getenv("LYNXPP_SPEC") != value) fail("putenv does not put");
}

/// Encodes tensor maps, then launches with each as the first parameter.
void tensor_maps() {
  void* const function = loaded_function("kernel");
  const unsigned box[3] = {64, 5, 3};
  const unsigned steps[3] = {1, 2, 1};
  const auto launch_with = [&](std::uint64_t(&map)[16]) {
    void* parameters[] = {map};
    expect_zero(api.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  };
  std::uint64_t map[16] = {};
  constexpr int f16 = 6;
  void* const address = reinterpret_cast<void*>(0x1000);
  launch_with(map);
  expect_zero(api.cuTensorMapEncodeTiled(map, f16, 3, address, nullptr, nullptr, box, steps, 0, 0, 0, 0));
  launch_with(map);
  expect_zero(api.cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(0x2000)));
  launch_with(map);
  expect_zero(api.cuTensorMapEncodeIm2col(map, f16, 4, address, nullptr, nullptr, nullptr, nullptr, 8, 100,
                                          steps, 0, 0, 0, 0));
  launch_with(map);
  memset(map, 1, sizeof map);
  if (api.cuTensorMapEncodeTiled(map, f16, 0, address, nullptr, nullptr, box, steps, 0, 0, 0, 0) == 0)
    fail("a map of rank 0");
  launch_with(map);
}

void act(const std::string& action) {
  if (action == "init") return succeed(api.cuInit(0));
  if (action == "profile") return succeed(api.cuProfilerStart());
  if (action == "profile_end") return succeed(api.cuProfilerStop());
  if (action == "later") return look_up_by_dlsym(RTLD_DEFAULT);
  if (action == "threads") return threads();
  if (action == "images") return images();
  if (action == "launches") return launches();
  if (action == "unseen") return unseen();
  if (action == "unload") return unload();
  if (action == "synchronisations") return synchronisations();
  if (action == "contexts") return contexts();
  if (action == "fork") return forks();
  if (action == "memory") return memory();
  if (action == "memory_32") return memory_32();
  if (action == "memory_again") return memory_again();
  if (action == "memory_of_contexts") return memory_of_contexts();
  if (action == "memory_of_threads") return memory_of_threads();
  if (action == "memory_times") return memory_times();
  if (action == "tensor_maps") return tensor_maps();
  if (action == "graphs") return graphs();
  if (action == "holds") return holds();
  if (action == "counted_launches") return counted_launches();
  if (action == "from_files") return from_files();
  if (action == "launch") return launch(loaded_function("kernel"));
  if (action == "_exit") _exit(3);
  if (action == "_Exit") _Exit(4);
  if (action == "quick_exit") quick_exit(5);
  if (action.starts_with("graph=")) return change_graphs(action.substr(6));
  if (action.starts_with("end=")) return end_contexts(action.substr(4));
  if (action.starts_with("link=")) return link(action.substr(5));
  if (action.starts_with("setenv=")) return set_specifications(action.substr(7));
  if (action.starts_with("putenv=")) return put_specifications(action.substr(7));
  if (action == "unsetenv") return expect_zero(unsetenv("LYNXPP_SPEC"));
  if (action == "clearenv") return expect_zero(clearenv());
  fail("unknown action");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) fail("usage: driver_program DOOR ACTION...");
  open_door(arguments[1]);
  for (int i = 2; i < count; ++i) act(arguments[i]);
  return 0;
}
