// The functions of the fake libcuda.so.1, declared once for the library and for the programs that call it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
struct LaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void* hStream;
  void* attrs;
  unsigned numAttrs;
};

#define FAKE_DRIVER_MEMORY_FUNCTIONS(F)                                                                      \
  F(cuMemAlloc, (unsigned* address, unsigned bytes))                                                         \
  F(cuMemAlloc_v2, (std::uint64_t * address, std::size_t bytes))                                             \
  F(cuMemAllocPitch,                                                                                         \
    (unsigned* address, unsigned* pitch, unsigned width, unsigned height, unsigned element))                 \
  F(cuMemAllocPitch_v2,                                                                                      \
    (std::uint64_t * address, std::size_t * pitch, std::size_t width, std::size_t height, unsigned element)) \
  F(cuMemAllocManaged, (std::uint64_t * address, std::size_t bytes, unsigned flags))                         \
  F(cuMemAllocAsync, (std::uint64_t * address, std::size_t bytes, void* stream))                             \
  F(cuMemAllocAsync_ptsz, (std::uint64_t * address, std::size_t bytes, void* stream))                        \
  F(cuMemAllocFromPoolAsync, (std::uint64_t * address, std::size_t bytes, void* pool, void* stream))         \
  F(cuMemAllocFromPoolAsync_ptsz, (std::uint64_t * address, std::size_t bytes, void* pool, void* stream))    \
  F(cuMemFree, (unsigned address))                                                                           \
  F(cuMemFree_v2, (std::uint64_t address))                                                                   \
  F(cuMemFreeAsync, (std::uint64_t address, void* stream))                                                   \
  F(cuMemFreeAsync_ptsz, (std::uint64_t address, void* stream))                                              \
  F(cuMemMap, (std::uint64_t address, std::size_t bytes, std::size_t offset, unsigned long long handle,      \
               unsigned long long flags))                                                                    \
  F(cuMemUnmap, (std::uint64_t address, std::size_t bytes))                                                  \
  F(cuMemAllocHost, (void** address, unsigned bytes))                                                        \
  F(cuMemAllocHost_v2, (void** address, std::size_t bytes))                                                  \
  F(cuMemHostAlloc, (void** address, std::size_t bytes, unsigned flags))                                     \
  F(cuMemFreeHost, (void* address))                                                                          \
  F(cuMemHostRegister, (void* address, std::size_t bytes, unsigned flags))                                   \
  F(cuMemHostRegister_v2, (void* address, std::size_t bytes, unsigned flags))                                \
  F(cuMemHostUnregister, (void* address))

struct KernelNode {
  void* function;
  unsigned shape[7];
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};
struct DeviceLaunch {
  void* function;
  unsigned shape[7];
  void* stream;
  void** parameters;
};

/// CUgraphNodeParams.
struct GraphNode {
  int type;
  int reserved[3];
  union {
    KernelNode kernel;
    void* graph;
    struct {
      std::uint64_t handle;
      int type;
      unsigned size;
      void** bodies;
      void* context;
    } conditional;
    long long longest[29];
  };
  long long reserved_too;
};

#define FAKE_DRIVER_GRAPH_FUNCTIONS(F)                                                                       \
  F(cuGraphCreate, (void** graph, unsigned flags))                                                           \
  F(cuGraphDestroy, (void* graph))                                                                           \
  F(cuGraphDestroyNode, (void* node))                                                                        \
  F(cuGraphClone, (void** clone, void* graph))                                                               \
  F(cuGraphNodeFindInClone, (void** twin, void* node, void* clone))                                          \
  F(cuGraphAddKernelNode,                                                                                    \
    (void** node, void* graph, const void* before, std::size_t count, const KernelNode* parameters))         \
  F(cuGraphAddChildGraphNode,                                                                                \
    (void** node, void* graph, const void* before, std::size_t count, void* child))                          \
  F(cuGraphConditionalHandleCreate,                                                                          \
    (std::uint64_t * handle, void* graph, void* context, unsigned value, unsigned flags))                    \
  F(cuGraphAddNode_v2, (void** node, void* graph, void* const* before, const void* edges, std::size_t count, \
                        GraphNode* parameters))                                                              \
  F(cuGraphAddDependencies_v2,                                                                               \
    (void* graph, void* const* from, void* const* to, const void* edges, std::size_t count))                 \
  F(cuGraphRemoveDependencies_v2,                                                                            \
    (void* graph, void* const* from, void* const* to, const void* edges, std::size_t count))                 \
  F(cuGraphNodeGetDependencies_v2, (void* node, void** nodes, void* edges, std::size_t* count))              \
  F(cuGraphNodeGetDependentNodes_v2, (void* node, void** nodes, void* edges, std::size_t* count))            \
  F(cuGraphGetNodes, (void* graph, void** nodes, std::size_t* count))                                        \
  F(cuGraphNodeGetType, (void* node, int* type))                                                             \
  F(cuGraphKernelNodeGetParams, (void* node, KernelNode* parameters))                                        \
  F(cuGraphKernelNodeSetParams, (void* node, const KernelNode* parameters))                                  \
  F(cuGraphKernelNodeGetAttribute, (void* node, int attribute, void* value))                                 \
  F(cuGraphKernelNodeSetAttribute, (void* node, int attribute, const void* value))                           \
  F(cuGraphKernelNodeCopyAttributes, (void* to, void* from))                                                 \
  F(cuGraphNodeSetParams, (void* node, const GraphNode* parameters))                                         \
  F(cuGraphChildGraphNodeGetGraph, (void* node, void** graph))                                               \
  F(cuUserObjectCreate, (void** made, void* pointer, void* destroy, unsigned count, unsigned flags))         \
  F(cuGraphRetainUserObject, (void* graph, void* retained, unsigned count, unsigned flags))                  \
  F(cuGraphInstantiateWithFlags, (void** executable, void* graph, unsigned long long flags))                 \
  F(cuGraphInstantiateWithParams, (void** executable, void* graph, void* parameters))                        \
  F(cuGraphUpload, (void* executable, void* stream))                                                         \
  F(cuGraphExecUpdate, (void* executable, void* graph, void* information))                                   \
  F(cuGraphExecKernelNodeSetParams, (void* executable, void* node, const KernelNode* parameters))            \
  F(cuGraphExecChildGraphNodeSetParams, (void* executable, void* node, void* child))                         \
  F(cuGraphExecNodeSetParams, (void* executable, void* node, const GraphNode* parameters))                   \
  F(cuGraphNodeSetEnabled, (void* executable, void* node, unsigned is_enabled))                              \
  F(cuGraphLaunch, (void* executable, void* stream))                                                         \
  F(cuGraphExecDestroy, (void* executable))                                                                  \
  F(cuLaunchGrid, (void* function, int width, int height))                                                   \
  F(cuLaunchCooperativeKernelMultiDevice, (const DeviceLaunch* launches, unsigned count, unsigned flags))

#define FAKE_DRIVER_LINK_FUNCTIONS(F)                                                         \
  F(cuLinkCreate_v2, (unsigned count, int* options, void** values, void** state))             \
  F(cuLinkAddData_v2, (void* state, int type, void* data, std::size_t size, const char* name, \
                       unsigned count, int* options, void** values))                          \
  F(cuLinkAddFile_v2,                                                                         \
    (void* state, int type, const char* path, unsigned count, int* options, void** values))   \
  F(cuLinkComplete, (void* state, void** cubin, std::size_t* bytes))                          \
  F(cuLinkDestroy, (void* state))

#define FAKE_DRIVER_TENSOR_FUNCTIONS(F)                                                                     \
  F(cuTensorMapEncodeTiled, (void* map, int type, unsigned rank, void* address, const std::uint64_t* sizes, \
                             const std::uint64_t* strides, const unsigned* box, const unsigned* steps,      \
                             int interleave, int swizzle, int promotion, int fill))                         \
  F(cuTensorMapEncodeIm2col,                                                                                \
    (void* map, int type, unsigned rank, void* address, const std::uint64_t* sizes,                         \
     const std::uint64_t* strides, const int* lower, const int* upper, unsigned channels, unsigned pixels,  \
     const unsigned* steps, int interleave, int swizzle, int promotion, int fill))                          \
  F(cuTensorMapReplaceAddress, (void* map, void* address))

#define FAKE_DRIVER_FUNCTIONS(F)                                                                             \
  F(cuProfilerStart, ())                                                                                     \
  F(cuProfilerStop, ())                                                                                      \
  F(cuInit, (unsigned flags))                                                                                \
  F(cuCtxGetDevice, (int* device))                                                                           \
  F(cuCtxGetDevice_v2, (int* device, void* context))                                                         \
  F(cuCtxDestroy_v2, (void* context))                                                                        \
  F(cuDevicePrimaryCtxReset_v2, (int device))                                                                \
  F(cuDevicePrimaryCtxRelease_v2, (int device))                                                              \
  F(cuCtxGetCurrent, (void** context))                                                                       \
  F(cuDevicePrimaryCtxGetState, (int device, unsigned* flags, int* active))                                  \
  F(cuDevicePrimaryCtxRetain, (void** context, int device))                                                  \
  FAKE_DRIVER_MEMORY_FUNCTIONS(F)                                                                            \
  FAKE_DRIVER_LINK_FUNCTIONS(F)                                                                              \
  FAKE_DRIVER_TENSOR_FUNCTIONS(F)                                                                            \
  FAKE_DRIVER_GRAPH_FUNCTIONS(F)                                                                             \
  F(cuStreamSynchronize, (void* stream))                                                                     \
  F(cuStreamSynchronize_ptsz, (void* stream))                                                                \
  F(cuEventSynchronize, (void* event))                                                                       \
  F(cuCtxSynchronize, ())                                                                                    \
  F(cuMemcpy, (std::uint64_t destination, std::uint64_t source, std::size_t bytes))                          \
  F(cuMemcpyDtoH_v2, (void* destination, std::uint64_t source, std::size_t bytes))                           \
  F(cuMemcpy2D_v2, (const void* copy))                                                                       \
  F(cuMemcpy3D_v2, (const void* copy))                                                                       \
  F(cuModuleLoad, (void** module, const char* path))                                                         \
  F(cuModuleLoadData, (void** module, const void* image))                                                    \
  F(cuModuleLoadDataEx, (void** module, const void* image, unsigned count, int* options, void** values))     \
  F(cuModuleLoadFatBinary, (void** module, const void* image))                                               \
  F(cuModuleGetFunction, (void** function, void* module, const char* name))                                  \
  F(cuModuleUnload, (void* module))                                                                          \
  F(cuLibraryLoadData, (void** library, const void* image, int* jit_options, void** jit_values,              \
                        unsigned jit_count, int* options, void** values, unsigned count))                    \
  F(cuLibraryLoadFromFile, (void** library, const char* path, int* jit_options, void** jit_values,           \
                            unsigned jit_count, int* options, void** values, unsigned count))                \
  F(cuLibraryGetKernel, (void** kernel, void* library, const char* name))                                    \
  F(cuLibraryGetModule, (void** module, void* library))                                                      \
  F(cuLibraryUnload, (void* library))                                                                        \
  F(cuKernelGetFunction, (void** function, void* kernel))                                                    \
  F(cuKernelGetName, (const char** name, void* kernel))                                                      \
  F(cuKernelGetLibrary, (void** library, void* kernel))                                                      \
  F(cuFuncGetName, (const char** name, void* function))                                                      \
  F(cuFuncGetModule, (void** module, void* function))                                                        \
  F(cuLaunchKernel, (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,        \
                     unsigned bz, unsigned shared, void* stream, void** parameters, void** extra))           \
  F(cuLaunchKernel_ptsz, (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,   \
                          unsigned bz, unsigned shared, void* stream, void** parameters, void** extra))      \
  F(cuLaunchKernelEx, (const LaunchConfig* config, void* function, void** parameters, void** extra))         \
  F(cuLaunchKernelEx_ptsz, (const LaunchConfig* config, void* function, void** parameters, void** extra))    \
  F(cuLaunchCooperativeKernel, (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,          \
                                unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters)) \
  F(cuLaunchCooperativeKernel_ptsz,                                                                          \
    (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,           \
     unsigned shared, void* stream, void** parameters))                                                      \
  F(cuGetProcAddress, (const char* name, void** function, int version, std::uint64_t flags))                 \
  F(cuGetProcAddress_v2, (const char* name, void** function, int version, std::uint64_t flags, int* status))

#define DECLARE(name, parameters) int name parameters;
FAKE_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
}
