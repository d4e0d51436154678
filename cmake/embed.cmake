# Turns files into one C source with an array of bytes each:
#
#     cmake -DOUT=page_data.c -DHEADER=report/page_data.h -DNAMES="a;b" -DFILES="a.js;b.css" -P embed.cmake
#
# The header declares, for each name, `extern const unsigned char NAME[]` and `NAME_size`.
set(source "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND source "\nconst unsigned char ${name}[] = {\n${bytes}};\n"
                       "const size_t ${name}_size = sizeof ${name};\n")
endforeach()
file(WRITE ${OUT} "${source}")
