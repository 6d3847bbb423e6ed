# Defines the folder that `cmake --install` creates: it may be moved anywhere and needs only glibc 2.36.
#   bin/lynxpp  lib/liblynxpp.so  lib/liblynxpp-engine.so  lib/cpu-driver/{libcuda.so.1,liblynxpp-cudart.so}
#   lib/cpu-driver/runtime-{12,13}/libcudart.so.{12,13}
#   share/lynxpp/specs/*.cod  share/lynxpp/advise/*.access  share/man/man1  share/doc/lynxpp
#   share/lynxpp/python/lynxpp  include/lynxpp.h
# Included last, when all targets exist. `cmake --install … --strip` omits symbols.
include(GNUInstallDirs)
# One lib folder on every distribution: liblynxpp.so finds the engine in its own folder and bin/lynxpp finds
# both in ../lib.
set(CMAKE_INSTALL_LIBDIR lib)

foreach(target lynxpp_cli lynxpp_preload lynxpp_engine_so)
  if(NOT TARGET ${target})
    continue()
  endif()
  if(target STREQUAL lynxpp_cli)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  else()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  if(target STREQUAL lynxpp_engine_so)
    set(exports ${PROJECT_SOURCE_DIR}/cmake/engine_exports.map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${exports})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${exports})
  endif()
  # The program's own libstdc++ and libgcc may be older or missing.
  if(NOT LYNXPP_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  target_link_options(${target} PRIVATE -Wl,--as-needed)
  install(TARGETS ${target}
    RUNTIME DESTINATION bin
    LIBRARY DESTINATION lib)
endforeach()

if(TARGET lynxpp_cpu_driver)
  install(TARGETS lynxpp_cpu_driver lynxpp_cpu_runtime LIBRARY DESTINATION lib/cpu-driver)
  foreach(version 12 13)
    install(TARGETS lynxpp_cpu_runtime_${version} LIBRARY DESTINATION lib/cpu-driver/runtime-${version})
  endforeach()
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/specs/ DESTINATION share/lynxpp/specs FILES_MATCHING PATTERN "*.cod")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/advise DESTINATION share/lynxpp FILES_MATCHING PATTERN "*.access")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/man/ DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION share/doc/lynxpp FILES_MATCHING PATTERN "*.md" PATTERN "*.txt" PATTERN "*.ebnf" PATTERN "*.schema.json" PATTERN "measurements" EXCLUDE)
install(FILES cli/completion/lynxpp.bash DESTINATION share/bash-completion/completions RENAME lynxpp)
install(FILES cli/completion/_lynxpp DESTINATION share/zsh/site-functions)
install(FILES cli/completion/_lynxpp DESTINATION share/zsh/vendor-completions)  # where Debian's zsh searches
install(FILES cli/completion/lynxpp.fish DESTINATION share/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/interposer/lynxpp.h DESTINATION include)
# The package finds the libraries by its own location (python/lynxpp/libraries.py).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/lynxpp DESTINATION share/lynxpp/python FILES_MATCHING PATTERN "*.py")
install(FILES ${PROJECT_SOURCE_DIR}/python/README.md DESTINATION share/lynxpp/python)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION share/doc/lynxpp)
