# Finds the CUDA toolkit's headers and nvcc. Replaces CMake's own module, which (in version 3.25 of Debian 12)
# fails for toolkits without libnvToolsExt, such as CUDA 13's.
#
# Searches CUDAToolkit_ROOT (variable or environment), CUDA_HOME, CUDA_PATH, the nvcc on PATH,
# /usr/local/cuda. Sets
#   CUDAToolkit_FOUND  CUDAToolkit_VERSION  CUDAToolkit_INCLUDE_DIRS
#   CUDAToolkit_NVCC_EXECUTABLE  CUDAToolkit_BIN_DIR    unset or false without nvcc
#   CUDAToolkit_LIBRARY_DIR                             the folder of libcudart.so
# and the interface target CUDA::toolkit with the headers.
set(_roots ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
find_program(CUDAToolkit_NVCC_EXECUTABLE nvcc HINTS ${_roots} PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(CUDAToolkit_NVCC_EXECUTABLE)
if(CUDAToolkit_NVCC_EXECUTABLE)
  get_filename_component(CUDAToolkit_BIN_DIR ${CUDAToolkit_NVCC_EXECUTABLE} DIRECTORY)
  # nvcc may be a link or a wrapper script: it reports its toolkit's folder ("#$ TOP=/usr/local/cuda/bin/..").
  execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --dryrun -v toolkit.cu OUTPUT_VARIABLE _out ERROR_VARIABLE _out RESULT_VARIABLE _ignored)
  if(_out MATCHES "TOP=([^\r\n]+)")
    get_filename_component(_top "${CMAKE_MATCH_1}" REALPATH)
    list(APPEND _roots ${_top})
  endif()
endif()
list(APPEND _roots /usr/local/cuda)

set(_target ${CMAKE_SYSTEM_PROCESSOR}-linux)
find_path(CUDAToolkit_INCLUDE_DIR cuda_runtime_api.h HINTS ${_roots} PATH_SUFFIXES include targets/${_target}/include)
find_path(CUDAToolkit_LIBRARY_DIR libcudart.so HINTS ${_roots} PATH_SUFFIXES lib64 lib targets/${_target}/lib)
mark_as_advanced(CUDAToolkit_INCLUDE_DIR CUDAToolkit_LIBRARY_DIR)

set(CUDAToolkit_VERSION)
if(CUDAToolkit_INCLUDE_DIR AND EXISTS ${CUDAToolkit_INCLUDE_DIR}/cuda.h)
  file(STRINGS ${CUDAToolkit_INCLUDE_DIR}/cuda.h _line REGEX "^#define CUDA_VERSION [0-9]+")
  if(_line MATCHES "CUDA_VERSION ([0-9]+)")  # 13000: 13.0
    math(EXPR _major "${CMAKE_MATCH_1} / 1000")
    math(EXPR _minor "${CMAKE_MATCH_1} % 1000 / 10")
    set(CUDAToolkit_VERSION ${_major}.${_minor})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDAToolkit
  REQUIRED_VARS CUDAToolkit_INCLUDE_DIR CUDAToolkit_VERSION
  VERSION_VAR CUDAToolkit_VERSION)
if(CUDAToolkit_FOUND)
  set(CUDAToolkit_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIR})
  if(NOT TARGET CUDA::toolkit)
    add_library(CUDA::toolkit INTERFACE IMPORTED)
    set_target_properties(CUDA::toolkit PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CUDAToolkit_INCLUDE_DIR})
  endif()
endif()
