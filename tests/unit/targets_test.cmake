# cmake -P targets_test.cmake: tests which device code is compiled for which GPUs.
cmake_minimum_required(VERSION 3.24)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/Targets.cmake)

function(expect what is wanted)
  if(NOT is STREQUAL wanted)
    message(SEND_ERROR "${what}: '${is}', not '${wanted}'")
  endif()
endfunction()
function(expect_targets capabilities)
  peakline_targets(targets "${capabilities}")
  expect("targets of ${capabilities}" "${targets}" "${ARGN}")
endfunction()

# Devices known to nvcc 13.0 get their own code, with all their instructions.
expect_targets("75" 75)
expect_targets("87" 87)
expect_targets("90" 90a)
expect_targets("100" 100)
expect_targets("103" 103)
expect_targets("110" 110)
expect_targets("120" 120)
expect_targets("121" 120)
expect_targets("90;90;80" 90a 80)
expect_targets("120;121" 120)
# Newer ones get PTX that their driver translates; 12.1's would not run on a 10.7.
expect_targets("91" 90-ptx)
expect_targets("107" 100-ptx)
expect_targets("119" 100-ptx)
expect_targets("130" 120-ptx)
expect_targets("200" 120-ptx)
# Names of targets are kept.
expect_targets("90a;100f;80-ptx" 90a 100f 80-ptx)
# Without a device that CUDA 13 supports: all targets.
expect_targets("all" ${PEAKLINE_ALL_TARGETS})
expect_targets("" ${PEAKLINE_ALL_TARGETS})
expect_targets("70" ${PEAKLINE_ALL_TARGETS})
expect_targets("70;86" 86)

foreach(capability 75 80 86 87 89 90 100 103 110 120 121)
  peakline_targets(own ${capability})
  if(NOT own IN_LIST PEAKLINE_ALL_TARGETS)
    message(SEND_ERROR "'all' leaves out ${own}, the code of ${capability}")
  endif()
endforeach()

peakline_gencode(options "90a;120-ptx")
expect("options" "${options}" "-compress-mode=size;-gencode=arch=compute_90a,code=sm_90a;-gencode=arch=compute_120,code=compute_120")

# Bad input is named.
if(DEFINED capabilities)
  peakline_targets(targets "${capabilities}")
else()
  execute_process(COMMAND ${CMAKE_COMMAND} -Dcapabilities=90x -P ${CMAKE_CURRENT_LIST_FILE}
                  RESULT_VARIABLE result ERROR_VARIABLE said)
  if(result EQUAL 0 OR NOT said MATCHES "'90x' is none")
    message(SEND_ERROR "90x: ${result}, ${said}")
  endif()
endif()
