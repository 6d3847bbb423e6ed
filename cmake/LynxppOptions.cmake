# Language level, warnings, and the tools that are used when they are present.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(LYNXPP_BUILD_TESTS "Build the tests" ON)
option(LYNXPP_UNITY "Compile the sources of a folder some at a time: a build from nothing is quick, a missing include may go unseen" OFF)
option(LYNXPP_WERROR "Treat warnings as errors" ON)
set(LYNXPP_SANITIZE OFF CACHE STRING "ON: build with AddressSanitizer and UndefinedBehaviorSanitizer; thread: with ThreadSanitizer")
set(LYNXPP_SANITIZED_FOLDERS "" CACHE STRING "A pattern of the folders that are built with the sanitizer; empty: all are")

option(LYNXPP_CHECKS "Check invariants (support/check.h); a violation aborts" ${LYNXPP_BUILD_TESTS})

set(LYNXPP_MUTANTS "" CACHE PATH "The folder of mutated copies of sources that scripts/mutate writes; empty: none")
option(LYNXPP_FUZZ "Build the libFuzzer targets of fuzz/ (clang only)" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ collects its garbage less often: up to a tenth of the time of a unit of many sources, for some hundred megabytes.
  string(APPEND CMAKE_CXX_FLAGS " --param ggc-min-expand=1000 --param ggc-min-heapsize=1000000")
endif()

if(LYNXPP_CHECKS)
  add_compile_definitions(LYNXPP_CHECKS=1)
endif()

find_program(LYNXPP_CCACHE ccache)
if(LYNXPP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are reused by their content.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${LYNXPP_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LYNXPP_CCACHE})
endif()
find_program(LYNXPP_MOLD mold)
if(LYNXPP_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(LYNXPP_FUZZ)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # an index out of a vector's range may still lie within its memory
  add_compile_options(-fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address)
endif()
set(lynxpp_sanitized "")
if(LYNXPP_SANITIZE STREQUAL thread)
  set(lynxpp_sanitized -fsanitize=thread -fno-omit-frame-pointer -g -Wno-tsan)  # of fences, which it does not follow
  add_link_options(-fsanitize=thread)
elseif(LYNXPP_SANITIZE)
  # A program may pass any number where CUDA's functions take an enumeration; it is refused with an error.
  set(lynxpp_sanitized -fsanitize=address,undefined -fno-sanitize=enum -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=address,undefined)
endif()
if(NOT LYNXPP_SANITIZED_FOLDERS)
  add_compile_options(${lynxpp_sanitized})
endif()
