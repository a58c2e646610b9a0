# Text files as C++ constants, made while building:
#   cmake -DOUTPUT=page_files.cc -DFOLDER=... -DFILES=a.js,b.css -P EmbedFiles.cmake
# defines `const std::vector<std::pair<std::string, std::string_view>>& page_files()` of names and texts, in the order given.
string(REPLACE "," ";" FILES "${FILES}")
set(text "// Made from the files it names.\n#include \"simulator/trace/page_files.h\"\n\nnamespace lockstep {\n\n")
string(APPEND text "const std::vector<std::pair<std::string, std::string_view>>& page_files() {\n")
string(APPEND text "  static const std::vector<std::pair<std::string, std::string_view>> files = {\n")
foreach(name ${FILES})
  file(READ ${FOLDER}/${name} content)
  string(APPEND text "{\"${name}\", R\"~~~~(${content})~~~~\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace lockstep\n")
file(WRITE ${OUTPUT} "${text}")
