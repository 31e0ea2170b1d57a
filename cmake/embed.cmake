# embed_folder(TARGET FOLDER): the files of a folder as constants of TARGET.
#
# `#include "FOLDER/embedded.h"` declares a std::string_view for each file, in the namespace
# dequant::<FOLDER with :: for each slash>: of tools/page/style.css,
# dequant::tools::page::style_css. CMake alone writes that header, again whenever one of the files
# changes.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(embed_script ${CMAKE_CURRENT_LIST_FILE})

  function(embed_folder target folder)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*)
    set(header ${PROJECT_BINARY_DIR}/embedded/${folder}/embedded.h)
    add_custom_command(
      OUTPUT ${header} DEPENDS ${files} ${embed_script} VERBATIM
      COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D HEADER=${header} -P ${embed_script}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Embedding ${folder}")
    target_sources(${target} PRIVATE ${header})
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/embedded)
  endfunction()
  return()
endif()

string(REPLACE "/" "::" namespace ${FOLDER})
set(text "// Made from the files of ${FOLDER} by the build.\n#pragma once\n\n")
string(APPEND text "#include <string_view>\n\nnamespace dequant::${namespace} {\n")
file(GLOB files ${FOLDER}/*)
foreach(file ${files})
  file(READ ${file} content)
  string(FIND "${content}" ")embedded\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file} holds )embedded\", which ends the constant that it becomes")
  endif()
  cmake_path(GET file FILENAME name)
  string(MAKE_C_IDENTIFIER ${name} name)
  string(APPEND text
         "\ninline constexpr std::string_view ${name} = R\"embedded(${content})embedded\";\n")
endforeach()
file(WRITE ${HEADER} "${text}\n}  // namespace dequant::${namespace}\n")
