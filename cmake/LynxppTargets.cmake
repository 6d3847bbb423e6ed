# lynxpp_library(<name> SOURCES <files> DEPENDS <targets> [PRIVATE <targets>])
#
# Adds a static library of one folder. DEPENDS: folders and libraries that its headers use; PRIVATE: used only
# by its .cpp files.
function(lynxpp_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  lynxpp_warnings(${name})
  lynxpp_unity(${name})
endfunction()

# With LYNXPP_UNITY, compiles the target's sources in groups. A source with its own COMPILE_OPTIONS is
# compiled alone.
function(lynxpp_unity name)
  if(LYNXPP_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)
    # To g++, names local to a source look local to a header; local names of other sources do not clash.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${name} PRIVATE -Wno-subobject-linkage -Wno-shadow -Wshadow=local)
    endif()
  endif()
endfunction()

# lynxpp_unity_groups(<target> <pattern>...): compiles sources whose first matching pattern is the same
# together, in one unit, as well as those that match none; for folders whose headers are slow to compile.
function(lynxpp_unity_groups name)
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    set(group 0)
    set(number 0)
    foreach(pattern IN LISTS ARGN)
      math(EXPR number "${number} + 1")
      if(group EQUAL 0 AND source MATCHES "${pattern}")
        set(group ${number})
      endif()
    endforeach()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP group_${group})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# For code that runs for milliseconds, once per kernel, specification or call: g++ takes a quarter less time
# than with -O2.
function(lynxpp_optimize_briefly name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# For builds that are only partly sanitized.
function(lynxpp_sanitize name)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(LYNXPP_SANITIZED_FOLDERS AND folder MATCHES "${LYNXPP_SANITIZED_FOLDERS}")
    target_compile_options(${name} PRIVATE ${lynxpp_sanitized})
  endif()
endfunction()

function(lynxpp_warnings name)
  lynxpp_sanitize(${name})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
  # g++ 12 reports these falsely inside libstdc++'s own std::string and std::variant at -O2.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${name} PRIVATE -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
  endif()
  if(LYNXPP_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
endfunction()

# lynxpp_antlr(<target> <grammar.g4> <namespace>)
#
# Generates lexer, parser and visitor from a combined grammar into the build folder and compiles them into an
# object library <target> without our warnings; link it PRIVATE. Generated headers are included by their bare
# name.
function(lynxpp_antlr target grammar namespace)
  get_filename_component(base ${grammar} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(sources ${out}/${base}Lexer.cpp ${out}/${base}Parser.cpp ${out}/${base}Visitor.cpp ${out}/${base}BaseVisitor.cpp)
  add_custom_command(
    OUTPUT ${sources}
    COMMAND ${LYNXPP_ANTLR4} -Dlanguage=Cpp -visitor -no-listener -package ${namespace} -o ${out}
            ${CMAKE_CURRENT_SOURCE_DIR}/${grammar}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${grammar}
    COMMENT "ANTLR ${grammar}"
    VERBATIM)
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC lynxpp_antlr_runtime)
  target_compile_options(${target} PRIVATE -w)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
endfunction()

# lynxpp_embed(<output.cpp> <files> <header> <namespace> <function>): generates a source with the texts of the
# files (a pattern).
function(lynxpp_embed output files header namespace function)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake)
  file(GLOB found CONFIGURE_DEPENDS ${files})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFILES=${files} -DOUTPUT=${output} -DHEADER=${header} -DNAMESPACE=${namespace} -DFUNCTION=${function}
            -P ${script}
    DEPENDS ${found} ${script}
    COMMENT "Embedding ${files}"
    VERBATIM)
endfunction()
