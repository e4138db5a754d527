# SPDX-License-Identifier: MIT
#
# install.cmake - what does an outside program see after `cmake --install`?
# Headers, the library, find_package(ringmail) and ringmail.pc; and, if it was
# built, the component `conformance` for authors of providers.

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

# Its headers have a place of their own, where only its users look: a program
# that uses ringmail has no business with them.
if(TARGET ringmail_conformance)
    install(TARGETS ringmail_conformance EXPORT ringmail-conformance
        COMPONENT conformance
        FILE_SET HEADERS COMPONENT conformance
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ringmail-conformance)
    install(EXPORT ringmail-conformance NAMESPACE ringmail::
        DESTINATION ${rgi_cmake_dir} COMPONENT conformance
        FILE ringmail-conformance-targets.cmake)
    configure_file(tools/ringmail-conformance.pc.in
        ${CMAKE_CURRENT_BINARY_DIR}/ringmail-conformance.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ringmail-conformance.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT conformance)
endif()
