# Finds each dependency. No code is copied here; scripts/setup installs the Debian packages.
find_package(Threads REQUIRED)

find_program(LYNXPP_ANTLR4 NAMES antlr4 REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/antlr4_runtime.cmake)
add_library(lynxpp_antlr_runtime INTERFACE)
target_link_libraries(lynxpp_antlr_runtime INTERFACE lynxpp_antlr_static Threads::Threads)

include(${CMAKE_CURRENT_LIST_DIR}/re2.cmake)

find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm)
# Static component archives, never libLLVM.so: the engine must not share symbols with the LLVM of its host program.
llvm_map_components_to_libnames(LYNXPP_LLVM_DEVICE core support passes target nvptxcodegen nvptxdesc nvptxinfo asmprinter)
llvm_map_components_to_libnames(LYNXPP_LLVM_HOST core support passes target orcjit x86codegen x86desc x86info x86asmparser)
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")
foreach(side DEVICE HOST)
  string(TOLOWER ${side} lower)
  add_library(lynxpp_llvm_${lower} INTERFACE)
  target_include_directories(lynxpp_llvm_${lower} SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(lynxpp_llvm_${lower} INTERFACE ${LLVM_DEFINITIONS_LIST})
  target_link_libraries(lynxpp_llvm_${lower} INTERFACE ${LYNXPP_LLVM_${side}})
endforeach()

# Header-only, including fmt (support/log.cpp): the installed libraries need no further package.
find_package(spdlog REQUIRED)

find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# Headers only.
find_path(TOML_INCLUDE_DIR toml++/toml.h REQUIRED)
add_library(lynxpp_toml INTERFACE)
target_include_directories(lynxpp_toml SYSTEM INTERFACE ${TOML_INCLUDE_DIR})

# Statistics of the models; headers only (Eigen: MPL 2.0, Boost: Boost Software License 1.0).
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_path(BOOST_MATH_INCLUDE_DIR boost/math/distributions/students_t.hpp REQUIRED)
add_library(lynxpp_boost_math INTERFACE)
target_include_directories(lynxpp_boost_math SYSTEM INTERFACE ${BOOST_MATH_INCLUDE_DIR})

find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_STATIC_LIBRARY libzstd.a REQUIRED)
add_library(lynxpp_zstd INTERFACE)
target_include_directories(lynxpp_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
target_link_libraries(lynxpp_zstd INTERFACE ${ZSTD_STATIC_LIBRARY})

find_path(LZ4_INCLUDE_DIR lz4.h REQUIRED)
find_library(LZ4_STATIC_LIBRARY liblz4.a REQUIRED)
add_library(lynxpp_lz4 INTERFACE)
target_include_directories(lynxpp_lz4 SYSTEM INTERFACE ${LZ4_INCLUDE_DIR})
target_link_libraries(lynxpp_lz4 INTERFACE ${LZ4_STATIC_LIBRARY})

# LLVMSupport names the shared libz3, libz and libzstd. Installed files must not need further packages: the
# static libz and libzstd replace the shared ones, and no linked code uses Z3.
find_library(ZLIB_STATIC_LIBRARY libz.a REQUIRED)
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
add_library(lynxpp_zlib INTERFACE)
target_include_directories(lynxpp_zlib SYSTEM INTERFACE ${ZLIB_INCLUDE_DIR})
target_link_libraries(lynxpp_zlib INTERFACE ${ZLIB_STATIC_LIBRARY})
set_target_properties(LLVMSupport PROPERTIES
  INTERFACE_LINK_LIBRARIES "rt;dl;m;${ZLIB_STATIC_LIBRARY};${ZSTD_STATIC_LIBRARY};LLVMDemangle")

# The toolkit provides the public headers (cuda.h, driver_types.h) and nvcc for the examples; none of it is linked.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "lynxpp needs the CUDA toolkit's headers (13.0 or newer); set CUDAToolkit_ROOT or put nvcc on the PATH")
endif()
add_library(lynxpp_cuda_headers INTERFACE)
target_include_directories(lynxpp_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
if(LYNXPP_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
