# cpack: what `cmake --install` installs, as mousse-VERSION-SYSTEM-PROCESSOR.tar.gz. With
# SOURCE_DATE_EPOCH in the environment, all files in it have that time.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "The Mousse developers")
set(CPACK_PACKAGE_FILE_NAME
    mousse-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/archive_times.cmake)
include(CPack)
