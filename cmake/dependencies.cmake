# Everything taken from outside, each wrapped by one source file of ours.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)

# CBLAS and LAPACKE. OpenBLAS by default; for another vendor set both variables, e.g.
# -DMOUSSE_BLAS_LIBRARIES="-lmkl_rt" -DMOUSSE_BLAS_INCLUDE=/opt/intel/mkl/include
set(MOUSSE_BLAS_LIBRARIES "" CACHE STRING "Libraries with CBLAS and LAPACKE (default: OpenBLAS)")
set(MOUSSE_BLAS_INCLUDE "" CACHE PATH "Folder of cblas.h and lapacke.h for MOUSSE_BLAS_LIBRARIES")
add_library(mousse_blas INTERFACE)
if(MOUSSE_BLAS_LIBRARIES)
  target_link_libraries(mousse_blas INTERFACE ${MOUSSE_BLAS_LIBRARIES})
  target_include_directories(mousse_blas SYSTEM INTERFACE ${MOUSSE_BLAS_INCLUDE})
  set(MOUSSE_PC_BLAS "${MOUSSE_BLAS_LIBRARIES}")
  set(MOUSSE_PC_BLAS_STATIC "${MOUSSE_BLAS_LIBRARIES}")
else()
  pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
  find_library(LAPACKE_LIBRARY lapacke REQUIRED)
  target_link_libraries(mousse_blas INTERFACE ${LAPACKE_LIBRARY} PkgConfig::OPENBLAS)
  set(MOUSSE_PC_BLAS "-llapacke -lopenblas")
  # A program linked with -static needs what OpenBLAS itself uses, Fortran's libraries among it.
  list(REMOVE_DUPLICATES OPENBLAS_STATIC_LDFLAGS)
  set(MOUSSE_PC_BLAS_STATIC -llapacke ${OPENBLAS_STATIC_LDFLAGS})
  find_library(QUADMATH_LIBRARY quadmath PATHS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
  if(QUADMATH_LIBRARY)
    list(APPEND MOUSSE_PC_BLAS_STATIC -lquadmath)
  endif()
  list(JOIN MOUSSE_PC_BLAS_STATIC " " MOUSSE_PC_BLAS_STATIC)
endif()
list(TRANSFORM OpenMP_C_LIB_NAMES PREPEND -l OUTPUT_VARIABLE MOUSSE_PC_OPENMP)
foreach(name IN LISTS OpenMP_C_LIB_NAMES) # clang's is in a folder that linkers do not look into
  get_filename_component(folder ${OpenMP_${name}_LIBRARY} DIRECTORY)
  if(folder MATCHES llvm)
    list(PREPEND MOUSSE_PC_OPENMP -L${folder})
  endif()
endforeach()
list(JOIN MOUSSE_PC_OPENMP " " MOUSSE_PC_OPENMP)

find_path(XXHASH_INCLUDE xxhash.h REQUIRED) # header only: no library to link

# Optional: without it everything is built but libmousse_mpi, and the program runs alone.
if(MOUSSE_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI COMPONENTS C)
endif()
if(MOUSSE_MPI AND MPI_C_FOUND)
  set(MOUSSE_HAVE_MPI ON)
else()
  set(MOUSSE_HAVE_MPI OFF)
endif()

# What only the program needs.
if(MOUSSE_TOOLS)
  pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
  pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
  pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
  pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
  pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
  pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
  # Optional: without it everything is built but the server of `mousse watch`.
  pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd>=0.9.70)
  find_package(Threads REQUIRED)
  # Embedded into the program and from there into the pages that `mousse report` writes.
  find_file(MOUSSE_CHART_JS chart.min.js PATH_SUFFIXES share/javascript/chart.js
            CMAKE_FIND_ROOT_PATH_BOTH DOC "Chart.js 3, one file") # the same for every processor
  if(NOT MOUSSE_CHART_JS)
    message(FATAL_ERROR "chart.min.js not found: install libjs-chart.js, or set MOUSSE_CHART_JS")
  endif()
endif()
