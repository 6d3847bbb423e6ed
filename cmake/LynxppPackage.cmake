# Defines the licences that are installed, and the packages that cpack makes from the installed folder: a .deb
# for Debian 12 and a relocatable .tar.zst. scripts/release makes and tries both. Included after LynxppInstall.

# Components with code in the installed files: Debian package | name | licence | source. scripts/check_licenses
# compares this list with the files that were compiled and linked.
set(lynxpp_bundled
  "llvm-19-dev|LLVM|Apache-2.0 WITH LLVM-exception|https://github.com/llvm/llvm-project"
  "antlr4|ANTLR C++ runtime|BSD-3-Clause|https://github.com/antlr/antlr4"
  "libre2-dev|RE2|BSD-3-Clause|https://github.com/google/re2"
  "libspdlog-dev|spdlog|MIT|https://github.com/gabime/spdlog"
  "libfmt-dev|fmt|MIT|https://github.com/fmtlib/fmt"
  "nlohmann-json3-dev|JSON for Modern C++|MIT|https://github.com/nlohmann/json"
  "libcli11-dev|CLI11|BSD-3-Clause|https://github.com/CLIUtils/CLI11"
  "libtomlplusplus-dev|toml++|MIT|https://github.com/marzer/tomlplusplus"
  "libzstd-dev|Zstandard|BSD-3-Clause|https://github.com/facebook/zstd"
  "liblz4-dev|LZ4|BSD-2-Clause|https://github.com/lz4/lz4"
  "zlib1g-dev|zlib|Zlib|https://zlib.net"
  "libeigen3-dev|Eigen|MPL-2.0|https://gitlab.com/libeigen/eigen"
  "libboost1.74-dev|Boost.Math|BSL-1.0|https://www.boost.org"
  "libstdc++-12-dev|libstdc++ and libgcc|GPL-3.0 WITH GCC-exception-3.1|https://gcc.gnu.org")

set(licenses share/doc/lynxpp/licenses)
set(components "")
foreach(component ${lynxpp_bundled})
  string(REPLACE "|" ";" component "${component}")
  list(POP_FRONT component package name license source)
  set(copyright /usr/share/doc/${package}/copyright)
  # Boost's licence requires no notice in object code, and Debian's file describes all of Boost in 2 MB.
  if(package MATCHES boost)
    string(APPEND components "${name}: ${license}, ${source} (${package}: no notice required)\n")
    continue()
  endif()
  string(APPEND components "${name}: ${license}, ${source} (licenses/${package})\n")
  if(EXISTS ${copyright})
    install(FILES ${copyright} DESTINATION ${licenses} RENAME ${package})
  else()
    message(STATUS "${copyright} is missing: the installed folder lacks the licence of ${name}")
  endif()
endforeach()
# The copyright files name it as a file of Debian.
install(FILES /usr/share/common-licenses/GPL-3 DESTINATION ${licenses} OPTIONAL)

# npm's components of the report's page; esbuild only bundles them.
set(modules ${CMAKE_BINARY_DIR}/report/page/node_modules)
file(GLOB page_licenses RELATIVE ${modules} ${modules}/*/LICENSE* ${modules}/@*/*/LICENSE*)
list(FILTER page_licenses EXCLUDE REGEX "^@?esbuild/")
foreach(license ${page_licenses})
  get_filename_component(package ${license} DIRECTORY)
  get_filename_component(name ${package} NAME)
  file(READ ${modules}/${package}/package.json description)
  string(JSON identifier GET "${description}" license)
  set(source https://www.npmjs.com/package/${package})
  string(APPEND components "${name}: ${identifier}, ${source} (licenses/${name})\n")
  install(FILES ${modules}/${license} DESTINATION ${licenses} RENAME ${name})
endforeach()

# libexec/lynxpp/camping contains libcudart_static.a, which attachment A of the EULA allows to distribute.
if(TARGET lynxpp_calibrate)
  string(APPEND components "CUDA runtime: NVIDIA CUDA Toolkit EULA, https://docs.nvidia.com/cuda/eula")
  find_file(eula EULA.txt PATHS ${CUDAToolkit_BIN_DIR}/.. NO_DEFAULT_PATH NO_CACHE)
  if(eula)
    string(APPEND components " (licenses/cuda)")
    install(FILES ${eula} DESTINATION ${licenses} RENAME cuda)
  endif()
  string(APPEND components "\n")
endif()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/copyright @ONLY CONTENT [[
lynxpp @PROJECT_VERSION@ is licensed under the Apache License 2.0: see the file LICENSE in this folder.

Its command, libraries and page contain code of these components. Each line names the licence and the source;
the file in brackets has the component's notices.

@components@]])
install(FILES ${CMAKE_BINARY_DIR}/copyright DESTINATION share/doc/lynxpp)

set(CPACK_GENERATOR DEB TZST)
set(CPACK_PACKAGE_FILE_NAME lynxpp-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_PACKAGE_VENDOR "the lynxpp maintainers")
set(CPACK_PACKAGE_CONTACT ${CPACK_PACKAGE_VENDOR})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "instrument the kernels of unmodified CUDA programs")
set(CPACK_PACKAGE_DESCRIPTION "lynxpp counts what CUDA kernels do while a program runs: instructions,
memory sectors, bank conflicts, divergence. Programs run on a GPU, or without
one on a built-in device, which also checks for races and illegal accesses.
The CUDA toolkit is not needed.")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)  # all cores
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# scripts/check_relocatable rejects files that need more. Only lynxpp.py needs Python.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
file(WRITE ${CMAKE_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/triggers)
include(CPack)
