# What an installation holds: the library, its headers, the command line, a CMake package and a
# pkg-config file. All of it can be moved as a whole.
include(CMakePackageConfigHelpers)

get_target_property(library_type dequant TYPE)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dequant)
set(generated ${PROJECT_BINARY_DIR}/package)

# run_time_path(TARGET PATH): where TARGET looks for a shared libdequant, from the build tree on. A
# path that only the installation sets is preceded by one that is padded with colons, and the loader
# takes an empty entry for the current directory.
function(run_time_path target path)
  if(library_type STREQUAL "SHARED_LIBRARY")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "${path}"
                                               BUILD_WITH_INSTALL_RPATH ON)
  endif()
endfunction()

install(TARGETS dequant EXPORT dequantTargets)
install(DIRECTORY include/dequant DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        PATTERN cuda.h EXCLUDE)
install(FILES include/dequant.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT dequantTargets NAMESPACE dequant:: DESTINATION ${package_dir})
install(FILES LICENSE docs/cases.schema.json docs/results.schema.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET dequant_cli)
  install(TARGETS dequant_cli)
  # From the directory of the command to that of the library, wherever both are put; $ORIGIN is for
  # the build tree.
  file(RELATIVE_PATH to_library ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  run_time_path(dequant_cli "$ORIGIN/${to_library};$ORIGIN")
endif()
# Whoever needs the core alone needs none of what the library of model files needs: that library is
# a component of its own.
if(TARGET dequant_model)
  install(TARGETS dequant_model EXPORT dequantModelTargets)
  run_time_path(dequant_model "$ORIGIN")
  install(EXPORT dequantModelTargets NAMESPACE dequant:: DESTINATION ${package_dir})
endif()

if(TARGET dequant_cuda)
  install(FILES include/dequant/cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dequant)
  install(FILES include/dequant_cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS dequant_cuda EXPORT dequantCudaTargets)
  install(EXPORT dequantCudaTargets NAMESPACE dequant:: DESTINATION ${package_dir})
endif()

# A shared library brings what it needs; a static one leaves it to whoever links.
set(private_dependencies "")
set(model_dependencies "")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(private_dependencies "find_dependency(Threads)")
  set(model_dependencies "find_dependency(fmt)")
endif()
configure_package_config_file(cmake/dequantConfig.cmake.in ${generated}/dequantConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file(${generated}/dequantConfigVersion.cmake
                                 COMPATIBILITY ${compatibility})
install(FILES ${generated}/dequantConfig.cmake ${generated}/dequantConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
# What a static library needs is in Libs: Libs.private is for --static alone, which nobody gives who
# has but this library as a static one. The C++ runtime is for C programs.
set(pc_libs "")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(pc_libs " -pthread")
  foreach(runtime stdc++ c++ m)
    if(runtime IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
      string(APPEND pc_libs " -l${runtime}")
    endif()
  endforeach()
endif()
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/dequant.pc.in ${generated}/dequant.pc @ONLY)
install(FILES ${generated}/dequant.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET dequant_model)
  set(pc_model_requires "")
  if(library_type STREQUAL "STATIC_LIBRARY")
    set(pc_model_requires ", fmt, re2, nettle")
  endif()
  configure_file(cmake/dequant-model.pc.in ${generated}/dequant-model.pc @ONLY)
  install(FILES ${generated}/dequant-model.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
