// The stand-in for the driver, with functions found by cuGetProcAddress as in a program.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/device_driver/driver_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

TEST_F(DriverTest, PtxModuleRuns) {
  CUfunction const scale = load_scale();
  const CUdeviceptr data = allocate(40 * 4);
  ASSERT_EQ(fill(data, 5, 40), CUDA_SUCCESS);
  ASSERT_EQ(launch(scale, data, 33), CUDA_SUCCESS);
  const auto values = read(data, 40);
  EXPECT_EQ(std::count(values.begin(), values.end(), 15u), 33);
  EXPECT_EQ(std::count(values.begin() + 33, values.end(), 5u), 7);

  CUdeviceptr factor = 0;
  std::size_t bytes = 0;
  using GetGlobal = CUresult(CUdeviceptr*, std::size_t*, CUmodule, const char*);
  ASSERT_EQ(found<GetGlobal>("cuModuleGetGlobal")(&factor, &bytes, module, "factor"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  ASSERT_EQ(fill(factor, 10, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(scale, data, 40), CUDA_SUCCESS);
  EXPECT_EQ(read(data, 40)[39], 50u);
}

TEST_F(DriverTest, ParametersMayComeInABuffer) {
  CUfunction const scale = load_scale();
  const CUdeviceptr data = allocate(4);
  ASSERT_EQ(fill(data, 7, 1), CUDA_SUCCESS);
  struct {
    CUdeviceptr data;
    unsigned n;
  } buffer{data, 1};
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  ASSERT_EQ(CALL(cuLaunchKernel, scale, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(read(data, 1)[0], 21u);
}

TEST_F(DriverTest, LibrariesShareTheirKernelsWithTheirModule) {
  CUlibrary library = nullptr;
  ASSERT_EQ(CALL(cuLibraryLoadData, &library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  unsigned count = 0;
  ASSERT_EQ(CALL(cuLibraryGetKernelCount, &count, library), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  CUkernel kernel = nullptr;
  ASSERT_EQ(CALL(cuLibraryGetKernel, &kernel, library, "scale"), CUDA_SUCCESS);
  CUfunction function = nullptr;
  ASSERT_EQ(CALL(cuKernelGetFunction, &function, kernel), CUDA_SUCCESS);
  const char* name = nullptr;
  ASSERT_EQ(CALL(cuFuncGetName, &name, function), CUDA_SUCCESS);
  EXPECT_STREQ(name, "scale");
  CUlibrary owner = nullptr;
  ASSERT_EQ(CALL(cuKernelGetLibrary, &owner, kernel), CUDA_SUCCESS);
  EXPECT_EQ(owner, library);
  const CUdeviceptr data = allocate(4);
  ASSERT_EQ(fill(data, 2, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(function, data, 1), CUDA_SUCCESS);
  EXPECT_EQ(read(data, 1)[0], 6u);
  EXPECT_EQ(CALL(cuLibraryUnload, library), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLibraryUnload, library), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(function, data, 1), CUDA_ERROR_INVALID_HANDLE);
}

/// Adds the texts and completes the link; stores the image or returns the error.
CUresult linked(CUlinkState& state, std::vector<std::string> texts, void*& image,
                std::vector<CUjit_option> options = {}, void** values = nullptr) {
  using Create = CUresult(unsigned, CUjit_option*, void**, CUlinkState*);
  using Add =
      CUresult(CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned, CUjit_option*, void**);
  using Complete = CUresult(CUlinkState, void**, std::size_t*);
  const auto count = static_cast<unsigned>(options.size());
  EXPECT_EQ(found<Create>("cuLinkCreate")(count, options.data(), values, &state), CUDA_SUCCESS);
  for (std::string& text : texts) {
    EXPECT_EQ(found<Add>("cuLinkAddData")(state, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "a", 0,
                                          nullptr, nullptr),
              CUDA_SUCCESS);
  }
  std::size_t bytes = 0;
  return found<Complete>("cuLinkComplete")(state, &image, &bytes);
}

TEST_F(DriverTest, LinkerMakesOneImage) {
  CUlinkState state = nullptr;
  void* image = nullptr;
  ASSERT_EQ(linked(state, {ptx}, image), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuModuleLoadData, &module, image), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLinkDestroy, state), CUDA_SUCCESS);
  ASSERT_EQ(linked(state,
                   {ptx, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry another() { ret; }"},
                   image),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuModuleLoadData, &module, image), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(CALL(cuModuleGetFunction, &function, module, "another"), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLinkDestroy, state), CUDA_SUCCESS);
  EXPECT_EQ(linked(state, {ptx, ptx}, image), CUDA_ERROR_INVALID_PTX) << "names are defined twice";
  EXPECT_EQ(CALL(cuLinkDestroy, state), CUDA_SUCCESS);
}

TEST_F(DriverTest, LinkerReportsProblems) {
  const auto log_of = [](std::vector<std::string> texts) {
    std::string log(200, 'x');
    void* values[] = {reinterpret_cast<void*>(log.size()), log.data()};
    CUlinkState state = nullptr;
    void* image = nullptr;
    const CUresult result = linked(state, std::move(texts), image,
                                   {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER}, values);
    EXPECT_EQ(CALL(cuLinkDestroy, state), CUDA_SUCCESS);
    log.resize(reinterpret_cast<std::size_t>(values[0]));
    return std::pair(result, log);
  };
  EXPECT_EQ(log_of({ptx}), std::pair(CUDA_SUCCESS, std::string()));
  const auto [result, log] = log_of({ptx, ptx});
  EXPECT_EQ(result, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("scale"), std::string::npos) << log;
}

TEST_F(DriverTest, CopiesAndFills) {
  const CUdeviceptr a = allocate(64 * 8);
  ASSERT_EQ(found<CUresult(CUdeviceptr, unsigned short, std::size_t)>("cuMemsetD16")(a, 0x1234, 256),
            CUDA_SUCCESS);
  EXPECT_EQ(read(a, 1)[0], 0x12341234u);
  using Fill2D = CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t);
  ASSERT_EQ(found<Fill2D>("cuMemsetD2D32")(a, 64, 9, 2, 8), CUDA_SUCCESS);
  EXPECT_EQ(read(a, 32)[17], 9u);
  EXPECT_EQ(read(a, 32)[18], 0x12341234u);
  CUDA_MEMCPY2D copy{};
  std::vector<unsigned> column(8);
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = a;
  copy.srcPitch = 64;
  copy.srcXInBytes = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = column.data();
  copy.WidthInBytes = 4;
  copy.Height = 8;
  ASSERT_EQ(found<CUresult(const CUDA_MEMCPY2D*)>("cuMemcpy2D")(&copy), CUDA_SUCCESS);
  EXPECT_THAT(column, testing::Each(9u));
  using CopyBytes = CUresult(CUdeviceptr, CUdeviceptr, std::size_t);
  EXPECT_EQ(found<CopyBytes>("cuMemcpyDtoD")(a, a + 4, 64 * 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, StreamsAndEvents) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuEventCreate, &event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  int told = 0;
  ASSERT_EQ(CALL(
                cuLaunchHostFunc, stream, [](void* data) { *static_cast<int*>(data) = 1; }, &told),
            CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuEventRecord, event, stream), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuEventSynchronize, event), CUDA_SUCCESS);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(CALL(cuEventQuery, event), CUDA_SUCCESS);
  CUcontext owner = nullptr;
  EXPECT_EQ(found<CUresult(CUstream, CUcontext*, CUgreenCtx*)>("cuStreamGetCtx")(stream, &owner, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(found<CUresult(CUstream)>("cuStreamDestroy")(stream), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSynchronize, stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, ContextsFormAStackAndOwnTheirMemory) {
  CUcontext own = nullptr;
  using Create = CUresult(CUcontext*, CUctxCreateParams*, unsigned, CUdevice);
  ASSERT_EQ(found<Create>("cuCtxCreate")(&own, nullptr, 0, 0), CUDA_SUCCESS);
  CUcontext current = nullptr;
  ASSERT_EQ(CALL(cuCtxGetCurrent, &current), CUDA_SUCCESS);
  EXPECT_EQ(current, own);
  const CUdeviceptr data = allocate(16);
  CUfunction const scale = load_scale();
  CUcontext popped = nullptr;
  ASSERT_EQ(found<CUresult(CUcontext*)>("cuCtxPopCurrent")(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, own);
  ASSERT_EQ(CALL(cuCtxGetCurrent, &current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(found<CUresult(CUcontext)>("cuCtxDestroy")(own), CUDA_SUCCESS);
  EXPECT_EQ(found<CUresult(CUcontext)>("cuCtxDestroy")(own), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(found<CUresult(CUdeviceptr)>("cuMemFree")(data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(scale, data, 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, InvalidCallsReturnDocumentedErrors) {
  CUdevice device = 0;
  EXPECT_EQ(CALL(cuDeviceGet, &device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(CALL(cuModuleLoadData, &module, ".version 7.0\n.target sm_75\n.entry broken( {"),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(CALL(cuModuleLoad, &module, "/nonexistent/module.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
  CUfunction const scale = load_scale();
  CUfunction missing = nullptr;
  EXPECT_EQ(CALL(cuModuleGetFunction, &missing, module, "missing"), CUDA_ERROR_NOT_FOUND);
  const CUdeviceptr data = allocate(4);
  EXPECT_EQ(launch(scale, data, 1, 2048), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nullptr, data, 1), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr nothing = 0;
  EXPECT_EQ(found<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc")(&nothing, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(found<CUresult(CUdeviceptr)>("cuMemFree")(data + 1), CUDA_ERROR_INVALID_VALUE);
  const void* table = nullptr;
  const CUuuid id{};
  EXPECT_EQ(CALL(cuGetExportTable, &table, &id), CUDA_ERROR_NOT_SUPPORTED);
  CUipcMemHandle handle{};
  EXPECT_EQ(CALL(cuIpcGetMemHandle, &handle, data), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(found<CUresult(CUcontext)>("cuCtxSynchronize")(nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

/// Same as the driver of an H100; the device's log contains the problem.
TEST_F(DriverTest, CompilerLogIsWritten) {
  const auto load = [&](const char* text, CUjit_option size, CUjit_option buffer, std::size_t room) {
    std::string log(room + 1, 'x');
    CUjit_option options[] = {size, buffer};
    void* values[] = {reinterpret_cast<void*>(room), log.data()};
    const CUresult result = CALL(cuModuleLoadDataEx, &module, text, 2, options, values);
    return std::tuple(result, std::string(log.c_str()), reinterpret_cast<std::size_t>(values[0]), log.back());
  };
  const auto info = [&](std::size_t room) {
    return load(ptx, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER, room);
  };
  EXPECT_EQ(info(63), std::tuple(CUDA_SUCCESS, "", 0u, 'x'));
  EXPECT_EQ(info(0), std::tuple(CUDA_SUCCESS, "x", 0u, 'x'));
  const auto error = [&](std::size_t room) {
    return load(".version 7.0\n.target sm_75\n.entry broken( {", CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                CU_JIT_ERROR_LOG_BUFFER, room);
  };
  const auto [result, log, size, behind] = error(200);
  EXPECT_EQ(result, CUDA_ERROR_INVALID_PTX);
  EXPECT_FALSE(log.empty());
  EXPECT_EQ(size, log.size());
  EXPECT_EQ(error(5), std::tuple(CUDA_ERROR_INVALID_PTX, log.substr(0, 4), 5u, 'x'));
  std::string written(log.size() + 1, 'x');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
  void* values[] = {reinterpret_cast<void*>(written.size()), written.data()};
  CUlibrary library = nullptr;
  EXPECT_EQ(CALL(cuLibraryLoadData, &library, ".version 7.0\n.target sm_75\n.entry broken( {", options,
                 values, 2, nullptr, nullptr, 0),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_STREQ(written.c_str(), log.c_str());
}

TEST_F(DriverTest, FailedKernelFailsItsContext) {
  CUfunction const scale = load_scale();
  ASSERT_EQ(launch(scale, 8, 1), CUDA_SUCCESS);
  EXPECT_EQ(found<CUresult(CUcontext)>("cuCtxSynchronize")(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(launch(scale, 8, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  found<CUresult(CUdevice)>("cuDevicePrimaryCtxReset")(0);
  ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain, &context, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxSetCurrent, context), CUDA_SUCCESS);
  EXPECT_EQ(found<CUresult(CUcontext)>("cuCtxSynchronize")(nullptr), CUDA_SUCCESS);
}

TEST_F(DriverTest, GraphsAndCaptures) {
  CUfunction const scale = load_scale();
  CUdeviceptr data = allocate(4);
  unsigned n = 1;
  void* parameters[] = {&data, &n};
  CUgraph graph = nullptr;
  ASSERT_EQ(CALL(cuGraphCreate, &graph, 0), CUDA_SUCCESS);
  CUgraphNode set = nullptr;
  CUgraphNode scaled = nullptr;
  const CUDA_MEMSET_NODE_PARAMS fill{data, 0, 7, 4, 1, 1};
  ASSERT_EQ(CALL(cuGraphAddMemsetNode, &set, graph, nullptr, 0, &fill, context), CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS kernel{scale, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, context};
  using AddKernel =
      CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_KERNEL_NODE_PARAMS*);
  ASSERT_EQ(found<AddKernel>("cuGraphAddKernelNode")(&scaled, graph, &set, 1, &kernel), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(CALL(cuGraphInstantiateWithFlags, &executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuGraphLaunch, executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read(data, 1)[0], 21u);

  CUstream stream = nullptr;
  ASSERT_EQ(CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  using Begin = CUresult(CUstream, CUstreamCaptureMode);
  ASSERT_EQ(found<Begin>("cuStreamBeginCapture")(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuLaunchKernel, scale, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_EQ(CALL(cuStreamEndCapture, stream, &captured), CUDA_SUCCESS);
  EXPECT_EQ(read(data, 1)[0], 21u);
  // The signature that a program compiled with a current cuda.h requests.
  using Instantiate = CUresult(CUgraphExec*, CUgraph, unsigned long long);
  ASSERT_EQ(found<Instantiate>("cuGraphInstantiate")(&executable, captured, 0), CUDA_SUCCESS);
  CUgraphNode launch = nullptr;
  std::size_t count = 1;
  ASSERT_EQ(CALL(cuGraphGetNodes, captured, &launch, &count), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS call{};
  using GetParameters = CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
  ASSERT_EQ(found<GetParameters>("cuGraphKernelNodeGetParams")(launch, &call), CUDA_SUCCESS);
  EXPECT_EQ(call.func, scale);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(call.kernelParams[0]), data);
  ASSERT_EQ(CALL(cuGraphLaunch, executable, stream), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuStreamSynchronize, stream), CUDA_SUCCESS);
  EXPECT_EQ(read(data, 1)[0], 63u);
}

TEST_F(DriverTest, AttributesAndOccupancy) {
  CUfunction const scale = load_scale();
  int value = 0;
  ASSERT_EQ(CALL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_PTX_VERSION, scale), CUDA_SUCCESS);
  EXPECT_EQ(value, 75);
  ASSERT_EQ(CALL(cuDeviceGetAttribute, &value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 9);
  ASSERT_EQ(CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &value, scale, 1024, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 2);
  int grid = 0;
  int block = 0;
  ASSERT_EQ(CALL(cuOccupancyMaxPotentialBlockSize, &grid, &block, scale, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid % 2, 0);
}

TEST_F(DriverTest, PointerAttributesAreReported) {
  const CUdeviceptr data = allocate(100);
  CUmemorytype type{};
  ASSERT_EQ(CALL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data + 4), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  using Range = CUresult(CUdeviceptr*, std::size_t*, CUdeviceptr);
  ASSERT_EQ(found<Range>("cuMemGetAddressRange")(&base, &bytes, data + 99), CUDA_SUCCESS);
  EXPECT_EQ(base, data);
  EXPECT_EQ(bytes, 100u);
  int on_host = 0;
  EXPECT_EQ(CALL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                 reinterpret_cast<CUdeviceptr>(&on_host)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(DriverLookUp, ReturnsTheRequestedVersion) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  ASSERT_EQ(look_up("cuCtxCreate", &function, 13000), CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuCtxCreate_v4"));
  ASSERT_EQ(look_up("cuCtxCreate", &function, 12000), CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuCtxCreate_v3"));
  ASSERT_EQ(look_up("cuCtxGetDevice", &function, 12080), CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuCtxGetDevice"));
  ASSERT_EQ(look_up("cuLaunchKernel", &function, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuLaunchKernel_ptsz"));
  ASSERT_EQ(look_up("cuMemcpyDtoH", &function, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuMemcpyDtoH_v2_ptds"));
  ASSERT_EQ(look_up("cuMemAlloc", &function, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuMemAlloc_v2"));
  EXPECT_EQ(look_up("cuLibraryLoadData", &function, 11000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(look_up("cuNoSuchFunction", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST(DriverErrors, HaveNamesAndTexts) {
  const char* text = nullptr;
  ASSERT_EQ(CALL(cuGetErrorName, CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  ASSERT_EQ(CALL(cuGetErrorString, CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "an illegal memory access was encountered");
  EXPECT_EQ(CALL(cuGetErrorName, static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
