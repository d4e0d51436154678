# cmake --install: libraries, headers, pkg-config files, CMake package, documentation.
include(CMakePackageConfigHelpers)

install(TARGETS mousse_static mousse_shared EXPORT mousse-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/mousse/mousse.h ${PROJECT_BINARY_DIR}/include/mousse/export.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mousse)

if(MOUSSE_HAVE_MPI)
  install(TARGETS mousse_mpi_static mousse_mpi_shared EXPORT mousse-mpi-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES include/mousse/mousse_mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mousse)
endif()

install(EXPORT mousse-targets NAMESPACE mousse:: FILE mousse-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mousse)
if(MOUSSE_HAVE_MPI) # apart: packages may leave it out
  install(EXPORT mousse-mpi-targets NAMESPACE mousse:: FILE mousse-mpi-targets.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mousse)
endif()
configure_package_config_file(cmake/mousse-config.cmake.in
  ${PROJECT_BINARY_DIR}/mousse-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mousse)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mousse-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mousse-config.cmake
              ${PROJECT_BINARY_DIR}/mousse-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mousse)

# Relative to the file itself, so that `cmake --install --prefix` and a moved folder work.
file(RELATIVE_PATH MOUSSE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/mousse.pc.in ${PROJECT_BINARY_DIR}/mousse.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mousse.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(MOUSSE_HAVE_MPI)
  list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE MOUSSE_PC_MPI_CFLAGS)
  list(JOIN MOUSSE_PC_MPI_CFLAGS " " MOUSSE_PC_MPI_CFLAGS)
  list(JOIN MPI_C_LIBRARIES " " MOUSSE_PC_MPI_LIBS)
  configure_file(cmake/mousse_mpi.pc.in ${PROJECT_BINARY_DIR}/mousse_mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/mousse_mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# What the header refers to, and programs to start from.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
        PATTERN images EXCLUDE)
install(FILES README.md CHANGELOG.md LICENSE THIRD-PARTY DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.c"
        PATTERN configs EXCLUDE)
