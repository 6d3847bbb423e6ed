# Bundles the page's app, whose components come from npm. Without npm, or if its registry cannot be reached and nothing is
# cached, lynxpp is built with the plain page only.
option(LYNXPP_PAGE "Bundle the report's page with npm, if npm is installed" ON)
set(page_app ${CMAKE_CURRENT_SOURCE_DIR}/page/app)
set(page_folder ${CMAKE_CURRENT_BINARY_DIR}/page)
file(MAKE_DIRECTORY ${page_folder})
set(lynxpp_page_source ${page_folder}/embedded_page.cpp)
set(page_problem "")

find_program(LYNXPP_NODE node)
find_program(LYNXPP_NPM npm)
if(NOT LYNXPP_PAGE)
  set(page_problem "LYNXPP_PAGE is off")
elseif(NOT LYNXPP_NODE OR NOT LYNXPP_NPM)
  set(page_problem "node and npm are not installed")
else()
  file(SHA256 ${page_app}/package-lock.json lock)
  set(installed "")
  if(EXISTS ${page_folder}/installed.txt)
    file(READ ${page_folder}/installed.txt installed)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_app}/package-lock.json)
  if(NOT installed STREQUAL lock)
    file(COPY ${page_app}/package.json ${page_app}/package-lock.json DESTINATION ${page_folder})
    execute_process(
      COMMAND ${LYNXPP_NPM} ci --prefer-offline --no-audit --no-fund --ignore-scripts
      WORKING_DIRECTORY ${page_folder} RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE output TIMEOUT 300)
    if(result EQUAL 0)
      file(WRITE ${page_folder}/installed.txt ${lock})
    else()
      string(REGEX MATCH "[^\n]*" first "${output}")
      set(page_problem "npm cannot install its components: ${first}")
    endif()
  endif()
endif()

if(page_problem)
  message(STATUS "The report's page: plain (${page_problem})")
  file(CONFIGURE OUTPUT ${page_folder}/page.html CONTENT "")
else()
  message(STATUS "The report's page: bundled")
  file(GLOB page_sources CONFIGURE_DEPENDS ${page_app}/*)
  add_custom_command(
    OUTPUT ${page_folder}/page.html
    COMMAND ${LYNXPP_NODE} ${page_app}/build.mjs ${page_folder}
    DEPENDS ${page_sources} ${page_folder}/installed.txt
    COMMENT "Bundling the report's page"
    VERBATIM)
endif()
set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake)
add_custom_command(
  OUTPUT ${lynxpp_page_source}
  COMMAND ${CMAKE_COMMAND} -DFILES=${page_folder}/page.html -DOUTPUT=${lynxpp_page_source} -DHEADER=report/page/embedded.h
          -DNAMESPACE=report -DFUNCTION=embedded_page -P ${script}
  DEPENDS ${page_folder}/page.html ${script}
  COMMENT "Embedding the report's page"
  VERBATIM)
