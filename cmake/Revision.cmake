# Writes HEADER with the git revision of SOURCE, "-dirty" if tracked files differ from it; the
# header changes only when the revision does, so that nothing is rebuilt for nothing.
# A tree that belongs to someone else (built as root) is read like any other.
execute_process(COMMAND git -c safe.directory=${SOURCE} -C ${SOURCE} describe --always --dirty
                        --abbrev=12 --match=v[0-9]*
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed OR NOT revision)
  set(revision "unknown")
endif()
set(content "#pragma once\n#define PEAKLINE_REVISION \"${revision}\"\n")
if(EXISTS ${HEADER})
  file(READ ${HEADER} previous)
endif()
if(NOT "${previous}" STREQUAL "${content}")
  file(WRITE ${HEADER} "${content}")
endif()
