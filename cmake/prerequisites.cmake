# What a build needs of other projects: everything that is missing is named in one message, with the
# command that installs it.

# prerequisite(PACKAGE FOUND): the package of Debian and Ubuntu is missing unless the variable FOUND
# is true.
macro(prerequisite package found)
  if(NOT ${found})
    list(APPEND missing_prerequisites ${package})
  endif()
endmacro()

# Ends the configuration where a prerequisite is missing.
macro(check_prerequisites)
  if(missing_prerequisites)
    list(REMOVE_DUPLICATES missing_prerequisites)
    list(JOIN missing_prerequisites " " missing_prerequisites)
    message(FATAL_ERROR
            "dequant: missing: ${missing_prerequisites}\n"
            "These are the names of Debian's and Ubuntu's packages. To install them, run\n"
            "    scripts/setup.sh build\n"
            "in a clone of the repository, or\n"
            "    apt-get install ${missing_prerequisites}\n"
            "Elsewhere install what has these headers and libraries; CMAKE_PREFIX_PATH may name "
            "their folder.")
  endif()
endmacro()

# Before project(), which fails in words of its own: a compiler that CMake would find.
if(CMAKE_HOST_UNIX AND NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(DEQUANT_ANY_COMPILER NAMES c++ g++ clang++ icpx)
  mark_as_advanced(DEQUANT_ANY_COMPILER)
  prerequisite(g++ DEQUANT_ANY_COMPILER)
  check_prerequisites()
endif()
