# RE2 as a static, position-independent library (Debian's is not; see scripts/fetch_sources). The source package
# lacks the Unicode tables, which Debian generates: they are data and come from Debian's library.
set(re2_source ${PROJECT_SOURCE_DIR}/.cache/re2)
if(NOT EXISTS ${re2_source}/re2/re2.h)
  message(FATAL_ERROR "The source of RE2 is missing: run scripts/setup first")
endif()
find_library(RE2_STATIC_LIBRARY libre2.a REQUIRED)
file(GLOB re2_files ${re2_source}/re2/*.cc)
add_library(lynxpp_re2 STATIC ${re2_files} ${re2_source}/util/rune.cc ${re2_source}/util/strutil.cc)
target_include_directories(lynxpp_re2 SYSTEM PUBLIC ${re2_source})
target_compile_options(lynxpp_re2 PRIVATE -w)
target_link_libraries(lynxpp_re2 PUBLIC ${RE2_STATIC_LIBRARY} Threads::Threads)
