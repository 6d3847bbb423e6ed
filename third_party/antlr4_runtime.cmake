# ANTLR's C++ runtime as a static, position-independent library (Debian's is not; see scripts/fetch_sources).
set(antlr_source ${PROJECT_SOURCE_DIR}/.cache/antlr4-runtime/src)
if(NOT EXISTS ${antlr_source}/antlr4-runtime.h)
  message(FATAL_ERROR "The source of ANTLR's C++ runtime is missing: run scripts/setup first")
endif()
file(GLOB_RECURSE antlr_files ${antlr_source}/*.cpp)
add_library(lynxpp_antlr_static STATIC ${antlr_files})
target_include_directories(lynxpp_antlr_static SYSTEM PUBLIC ${antlr_source})
target_compile_features(lynxpp_antlr_static PRIVATE cxx_std_17)
target_compile_options(lynxpp_antlr_static PRIVATE -w)
set_target_properties(lynxpp_antlr_static PROPERTIES CXX_STANDARD 17 UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
# Other sources include headers that define GUID_LIBUUID; after them, this file would need libuuid.
set_source_files_properties(${antlr_source}/support/guid.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
if(LYNXPP_SANITIZE)
  # Generated parsers build their tables during static initialization, possibly before ANTLR's default options,
  # which then read as zeros: the tables are not verified, with no other effect.
  set_source_files_properties(${antlr_source}/atn/ATNDeserializer.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=vptr)
endif()
