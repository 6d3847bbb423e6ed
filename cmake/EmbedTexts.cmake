# cmake -DFILES=FOLDER/*.cod -DOUTPUT=… -DHEADER=… -DNAMESPACE=… -DFUNCTION=… -P EmbedTexts.cmake: writes a
# .cpp file whose FUNCTION, declared in HEADER, returns names and texts of the files.
file(GLOB files ${FILES})
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WLE)
  # As bytes, because a specification may contain text that CMake or a string literal would interpret.
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
  string(REGEX REPLACE "(\\\\x0a)" "\\1\"\n     \"" bytes "${bytes}")
  file(SIZE ${file} size)
  string(APPEND entries "    {\"${name}\", std::string_view(\n     \"${bytes}\", ${size})},\n")
endforeach()
list(LENGTH files count)
file(WRITE ${OUTPUT}.new "#include <array>

#include \"${HEADER}\"

namespace lynxpp::${NAMESPACE} {

std::span<const EmbeddedText> ${FUNCTION}() {
  static constexpr std::array<EmbeddedText, ${count}> texts{{
${entries}  }};
  return texts;
}

}  // namespace lynxpp::${NAMESPACE}
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
