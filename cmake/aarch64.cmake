# Toolchain for 64-bit ARM: Debian's cross compiler, libraries of that architecture unpacked into
# MOUSSE_SYSROOT, and qemu-user, which runs the tests (scripts/platforms aarch64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(MOUSSE_SYSROOT "" CACHE PATH "Folder with the libraries of the target, usr and lib in it")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MOUSSE_SYSROOT)
set(CMAKE_SYSROOT ${MOUSSE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# What update-alternatives does on an installed system: the folder of one BLAS among several.
set(libraries /usr/lib/aarch64-linux-gnu)
set(blas ${libraries}/openblas-pthread)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MOUSSE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${MOUSSE_SYSROOT}${blas}/pkgconfig:${MOUSSE_SYSROOT}${libraries}/pkgconfig:${MOUSSE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${MOUSSE_SYSROOT}${blas})
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,-rpath-link,${MOUSSE_SYSROOT}${blas})
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64;-L;${MOUSSE_SYSROOT};-E;LD_LIBRARY_PATH=${blas})
