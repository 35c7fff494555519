# What device code is compiled for, by compute capability without its dot ("90").

# Those that nvcc 13.0 knows; of 9.0 the variant that has every instruction of the device, wgmma
# too. 12.1 runs the code of 12.0.
set(PEAKLINE_KNOWN_TARGETS 75 80 86 87 88 89 90a 100 103 110 120)
# What is built where nobody says which GPU it is for: every device that there is, and PTX, without
# suffix, from which the driver makes code for those to come (of 9.x, of 10.x and 11.x, and of all
# after them). 8.8 is left to the code of 8.6.
set(PEAKLINE_ALL_TARGETS 75 80 86 87 89 90a 100 103 110 120 90-ptx 100-ptx 120-ptx)

# Sets `result` to the targets for the compute capabilities of a list; "all" or nothing stands for
# PEAKLINE_ALL_TARGETS. Targets such as 90a, 100f and 120-ptx stay as they are. A device that the
# compiler does not know gets the newest PTX that its driver can translate; one older than 7.5 gets
# nothing.
function(peakline_targets result capabilities)
  set(targets "")
  foreach(capability IN LISTS capabilities)
    if(capability STREQUAL "all")
      list(APPEND targets ${PEAKLINE_ALL_TARGETS})
    elseif(capability MATCHES "^[0-9]+(a|f|-ptx)$")
      list(APPEND targets ${capability})
    elseif(NOT capability MATCHES "^[0-9]+$")
      message(FATAL_ERROR "PEAKLINE_ARCHITECTURES: '${capability}' is none; it is 'all' or a list "
                          "such as 80;90a;120f;100-ptx")
    elseif(capability EQUAL 121)
      list(APPEND targets 120)
    elseif(PEAKLINE_KNOWN_TARGETS MATCHES "(^|;)(${capability}[af]?)(;|$)")
      list(APPEND targets ${CMAKE_MATCH_2})
    elseif(capability GREATER_EQUAL 120)
      list(APPEND targets 120-ptx)
    elseif(capability GREATER_EQUAL 100)
      list(APPEND targets 100-ptx)
    elseif(capability GREATER_EQUAL 90)
      list(APPEND targets 90-ptx)
    endif()
  endforeach()
  if(NOT targets)
    set(targets ${PEAKLINE_ALL_TARGETS})
  endif()
  list(REMOVE_DUPLICATES targets)
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Sets `result` to nvcc's options for such targets.
function(peakline_gencode result targets)
  # The code of one architecture is much like that of the next.
  set(options -compress-mode=size)
  foreach(target IN LISTS targets)
    string(REPLACE "-ptx" "" architecture ${target})
    set(kind sm)
    if(target MATCHES "-ptx$")
      set(kind compute)
    endif()
    list(APPEND options "-gencode=arch=compute_${architecture},code=${kind}_${architecture}")
  endforeach()
  set(${result} ${options} PARENT_SCOPE)
endfunction()
