# SPDX-License-Identifier: MIT
#
# install.cmake - what does an outside program see after `cmake --install`?
# Headers, the library, find_package(ringmail) and ringmail.pc.

set(rgi_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ringmail)

install(TARGETS ringmail EXPORT ringmail FILE_SET HEADERS)
install(EXPORT ringmail NAMESPACE ringmail:: DESTINATION ${rgi_cmake_dir}
    FILE ringmail-targets.cmake)

configure_package_config_file(tools/ringmail-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/ringmail-config.cmake
    INSTALL_DESTINATION ${rgi_cmake_dir})
write_basic_package_version_file(
    ${CMAKE_CURRENT_BINARY_DIR}/ringmail-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ringmail-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/ringmail-config-version.cmake
    DESTINATION ${rgi_cmake_dir})

# A static archive leaves its libraries to whoever links it; a shared one has
# them already and `pkg-config --static` alone should name them.
if(BUILD_SHARED_LIBS)
    set(rgi_pc_requires "Requires.private: liburing, ck")
    set(rgi_pc_libs "Libs.private: -pthread")
else()
    set(rgi_pc_requires "Requires: liburing, ck")
    set(rgi_pc_libs "Libs.private:")
    set(rgi_pc_threads " -pthread")
endif()
# Found from where it lies, so that an installed tree may be moved.
file(RELATIVE_PATH rgi_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tools/ringmail.pc.in ${CMAKE_CURRENT_BINARY_DIR}/ringmail.pc
    @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ringmail.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
