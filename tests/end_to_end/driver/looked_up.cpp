// Opens libcuda.so.1 and looks up every function with cuGetProcAddress, with per-thread default streams if
// the second argument is "ptsz". First argument: the PTX of examples/apps/vecadd.cu.
#include <dlfcn.h>

#include <cstring>

#include "program.h"

namespace {

decltype(&::cuGetProcAddress) get_address = nullptr;
cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT;

template <typename Function>
void find(Function& function, const char* name) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  CHECK_CALL(get_address(name, &address, CUDA_VERSION, flags, &status));
  function = reinterpret_cast<Function>(address);
}

}  // namespace

int main(int, char** arguments) {
  const std::string ptx = driver_program::read_file(arguments[1]);
  if (std::strcmp(arguments[2], "ptsz") == 0) flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 2;
  // The driver's functions are unversioned: look-ups by version fail, with or without lynxpp.
  if (dlvsym(library, "cuLaunchKernel", "GLIBC_2.2.5") != nullptr ||
      dlvsym(RTLD_DEFAULT, "cuLaunchKernel", "libcuda.so.1") != nullptr)
    return 3;
  get_address = reinterpret_cast<decltype(get_address)>(dlsym(library, "cuGetProcAddress_v2"));
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&::cuCtxSetCurrent) set_current = nullptr;
  decltype(&::cuLibraryLoadData) load = nullptr;
  decltype(&::cuLibraryGetKernel) get_kernel = nullptr;
  find(init, "cuInit");
  find(retain, "cuDevicePrimaryCtxRetain");
  find(set_current, "cuCtxSetCurrent");
  find(load, "cuLibraryLoadData");
  find(get_kernel, "cuLibraryGetKernel");
  driver_program::Functions driver;
  find(driver.allocate, "cuMemAlloc");
  find(driver.free, "cuMemFree");
  find(driver.copy_to_device, "cuMemcpyHtoD");
  find(driver.copy_to_host, "cuMemcpyDtoH");
  find(driver.fill, "cuMemsetD32");
  find(driver.launch, "cuLaunchKernel");
  decltype(&::cuStreamSynchronize) synchronize = nullptr;
  find(synchronize, "cuStreamSynchronize");
  static decltype(&::cuStreamSynchronize) of_stream = synchronize;
  driver.synchronize = +[] { return of_stream(nullptr); };

  CUcontext context = nullptr;
  CUlibrary module = nullptr;
  CUkernel vecadd = nullptr;
  CHECK_CALL(init(0));
  CHECK_CALL(retain(&context, 0));
  CHECK_CALL(set_current(context));
  CHECK_CALL(load(&module, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK_CALL(get_kernel(&vecadd, module, "_Z6vecaddPKfS0_Pfi"));
  return driver_program::add_vectors(driver, reinterpret_cast<CUfunction>(vecadd), nullptr) ? 0 : 1;
}
