# SPDX-License-Identifier: MIT
#
# ringmail.cmake - how does a folder become an object library with its tests?
#
#   ringmail_module(mailbox                 one call per folder
#       USES      base                      folders below, as in tools/layers.txt
#       SOURCES   inbox.c outbox.c          may be empty while a folder grows
#       TESTS     inbox_test inbox_stress   one program each, from <name>.c
#       TEST_USES rings                     more folders, for the tests alone
#       TEST_ALSO other.c                   more sources, for every test
#       LIBS      PkgConfig::CK             third-party libraries)
#
# The folder `a/b` is the object library `rgi_a_b` and part of `ringmail`. Its
# unit tests link it and what it uses, transitively, and nothing else: a call
# upward is an undefined reference.
#
#   ringmail_test(<label> <test> SOURCES ... LIBS ...)    a case list on `ringmail`
#   ringmail_program(<name> SOURCES ... LIBS ...)         a program in bin/
#   ringmail_check(<label> <test> COMMAND ...)            any other command
#   ringmail_must_not_compile(<test> <source>)            compiles as it is, and
#                                with none of the -DWRONG_... it tests for
#
# Labels: unit, conformance, sample, fuzz, house; again: the same once more with
# another option, which a sanitizer need not see.

set(RGI_ROOT ${CMAKE_CURRENT_LIST_DIR}/..)
get_filename_component(RGI_ROOT ${RGI_ROOT} ABSOLUTE)
set(RGI_RESULTS ${CMAKE_BINARY_DIR}/results)
file(MAKE_DIRECTORY ${RGI_RESULTS})

# Text that means failure whatever the exit status says: Criterion exits 0 when
# a filter matches nothing, and a leak found at exit does not fail its test.
set(RGI_FAILURE_TEXT "Tested: 0 " "ERROR: AddressSanitizer" "LeakSanitizer"
    "WARNING: ThreadSanitizer" "runtime error:")

# What every C file of ours is compiled with.
add_library(rgi_flags INTERFACE)
target_compile_options(rgi_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wundef
    -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<BOOL:${RINGMAIL_WERROR}>:-Werror>)
target_compile_definitions(rgi_flags INTERFACE
    _GNU_SOURCE $<$<BOOL:${RINGMAIL_SLOW_ASSERTS}>:RGI_SLOW_ASSERTS>)
target_include_directories(rgi_flags INTERFACE ${RGI_ROOT} ${RGI_ROOT}/include)
target_link_libraries(rgi_flags INTERFACE Threads::Threads)

# rgi_uses(<result> <folder>...): the folders and all they use, each once.
function(rgi_uses ret_folders)
    set(all)
    foreach(folder IN LISTS ARGN)
        get_property(below GLOBAL PROPERTY RGI_USES_${folder})
        list(APPEND all ${folder} ${below})
    endforeach()
    list(REMOVE_DUPLICATES all)
    set(${ret_folders} ${all} PARENT_SCOPE)
endfunction()

# rgi_register(<label> <target>): run a case list under ctest, results kept.
function(rgi_register label test target)
    string(REPLACE / _ file ${test})
    set(arguments)
    if(NOT RINGMAIL_PLAIN_TESTS)
        list(APPEND arguments --tap=${RGI_RESULTS}/${file}.tap)
        if(test MATCHES "_stress$")
            list(APPEND arguments -j1)
        endif()
    endif()
    ringmail_check(${label} ${test} COMMAND ${target} ${arguments})
endfunction()

function(ringmail_check label test)
    cmake_parse_arguments(arg "" "" "COMMAND" ${ARGN})
    add_test(NAME ${test} COMMAND ${arg_COMMAND})
    set_tests_properties(${test} PROPERTIES
        LABELS "${label}" SKIP_RETURN_CODE 77
        FAIL_REGULAR_EXPRESSION "${RGI_FAILURE_TEXT}")
    # The long ones first: nothing is left to run beside the last.
    if(test MATCHES "^conformance/|/kv_test_|/races_test|/order_test|/faults_test")
        set_tests_properties(${test} PROPERTIES COST 100)
    endif()
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
        "RGM_RESULTS=${RGI_RESULTS}"
        "TSAN_OPTIONS=suppressions=${RGI_ROOT}/tools/tsan.supp halt_on_error=1 history_size=7"
        "ASAN_OPTIONS=detect_stack_use_after_return=1"
        "UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

function(rgi_case_runner target)
    if(RINGMAIL_PLAIN_TESTS)
        target_compile_definitions(${target} PRIVATE RGI_PLAIN_MAIN=1)
    else()
        target_link_libraries(${target} PRIVATE rgi_criterion)
    endif()
endfunction()

function(ringmail_module folder)
    cmake_parse_arguments(arg "" ""
        "USES;SOURCES;TESTS;TEST_USES;TEST_ALSO;LIBS" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "ringmail_module(${folder}): what is "
            "'${arg_UNPARSED_ARGUMENTS}'?")
    endif()
    string(REPLACE / _ name ${folder})
    rgi_uses(below ${arg_USES})
    set_property(GLOBAL PROPERTY RGI_USES_${folder} "${below}")

    set(libs ${arg_LIBS})
    foreach(lower IN LISTS below)
        get_property(lower_libs GLOBAL PROPERTY RGI_LIBS_${lower})
        list(APPEND libs ${lower_libs})
    endforeach()
    list(REMOVE_DUPLICATES libs)
    set_property(GLOBAL PROPERTY RGI_LIBS_${folder} "${libs}")

    if(arg_SOURCES)
        add_library(rgi_${name} OBJECT ${arg_SOURCES})
        target_link_libraries(rgi_${name} PRIVATE rgi_flags ${libs})
        set_property(GLOBAL APPEND PROPERTY RGI_MODULES rgi_${name})
    endif()

    rgi_uses(linked ${folder} ${arg_TEST_USES})
    set(test_libs ${libs})
    foreach(lower IN LISTS linked)
        get_property(lower_libs GLOBAL PROPERTY RGI_LIBS_${lower})
        list(APPEND test_libs ${lower_libs})
    endforeach()
    list(REMOVE_DUPLICATES test_libs)
    if(RINGMAIL_BUILD_TESTS)
        foreach(test IN LISTS arg_TESTS)
            add_executable(${name}_${test} ${test}.c ${arg_TEST_ALSO})
            foreach(lower IN LISTS linked)
                string(REPLACE / _ lower ${lower})
                if(TARGET rgi_${lower})
                    target_sources(${name}_${test} PRIVATE
                        $<TARGET_OBJECTS:rgi_${lower}>)
                endif()
            endforeach()
            target_link_libraries(${name}_${test} PRIVATE rgi_flags ${test_libs})
            rgi_case_runner(${name}_${test})
            rgi_register(unit ${folder}/${test} ${name}_${test})
        endforeach()
    endif()
endfunction()

function(ringmail_test label test)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
    if(NOT RINGMAIL_BUILD_TESTS)
        return()
    endif()
    string(REPLACE / _ name ${test})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE
        rgi_flags ringmail::ringmail ${arg_LIBS})
    rgi_case_runner(${name})
    rgi_register(${label} ${test} ${name})
endfunction()

function(ringmail_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE
        rgi_flags ringmail::ringmail ${arg_LIBS})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# Tests that misuse is refused by the compiler, see tools/must_not_compile.sh.
function(ringmail_must_not_compile test source)
    if(RINGMAIL_BUILD_TESTS)
        ringmail_check(unit ${test} COMMAND bash
            ${RGI_ROOT}/tools/must_not_compile.sh ${CMAKE_C_COMPILER}
            ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${RGI_ROOT})
    endif()
endfunction()
