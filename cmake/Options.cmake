# One interface target with what every target of the project is compiled with. The standard is a
# plain flag because CMake 3.25 does not know that nvcc 13 takes C++20.
add_library(peakline_options INTERFACE)
target_include_directories(peakline_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(peakline_options INTERFACE
  -std=c++20
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 on `"literal" + string` (GCC bug 105651).
  target_compile_options(peakline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # A false alarm of GCC 13, at -O3, on the comparison of a vector with an empty one.
  target_compile_options(peakline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-nonnull> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-nonnull>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # False alarms of GCC 12 and 13, at -O3, on strings and variants in nested braces. clang-tidy's
  # analyzer looks for what is really uninitialized.
  target_compile_options(peakline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-maybe-uninitialized>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # Notes that GCC 10 changed how pairs are passed: nothing here is linked with older code.
  target_compile_options(peakline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-psabi>)
endif()
if(PEAKLINE_WERROR)
  target_compile_options(peakline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
if(PEAKLINE_SANITIZE)
  # What each call would check of its object takes a third longer to compile; a null pointer ends in
  # AddressSanitizer too, and the build for fuzzing has both checks.
  target_compile_options(peakline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-sanitize=null,alignment
                              -fno-sanitize-recover=undefined -fno-omit-frame-pointer>)
  # Else the addresses in 60 MB of the sanitizer's tables are set anew whenever a test starts.
  target_link_options(peakline_options INTERFACE -fsanitize=address,undefined -no-pie)
endif()
if(PEAKLINE_FUZZ)
  target_compile_options(peakline_options INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  target_link_options(peakline_options INTERFACE -fsanitize=address,undefined)
endif()
if(PEAKLINE_THREADS)
  target_compile_options(peakline_options INTERFACE -fsanitize=thread)
  target_link_options(peakline_options INTERFACE -fsanitize=thread -no-pie)
endif()
if(PEAKLINE_COVERAGE)
  target_compile_options(peakline_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(peakline_options INTERFACE --coverage)
endif()

# The git revision the binary was built from, read again at every build (a profile names it).
function(peakline_add_revision target)
  set(header ${PROJECT_BINARY_DIR}/generated/revision.hpp)
  add_custom_target(peakline_revision
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DHEADER=${header}
            -P ${PROJECT_SOURCE_DIR}/cmake/Revision.cmake
    BYPRODUCTS ${header}
    COMMENT "Reading the git revision")
  add_dependencies(${target} peakline_revision)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
