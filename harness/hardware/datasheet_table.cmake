# Writes the table of datasheets as C++:
# cmake -D INPUT=datasheets.json -D OUTPUT=datasheet_table.cpp -P datasheet_table.cmake
cmake_minimum_required(VERSION 3.24)
file(READ ${INPUT} text)

# Sets `result` to a C++ string literal.
function(literal result value)
  string(REPLACE "\\" "\\\\" value "${value}")
  string(REPLACE "\"" "\\\"" value "${value}")
  set(${result} "\"${value}\"" PARENT_SCOPE)
endfunction()

# Sets `result` to `object`'s member `name`, else to `otherwise`.
function(member result object name otherwise)
  string(JSON value ERROR_VARIABLE missing GET "${object}" ${name})
  if(missing)
    set(value "${otherwise}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Calls `each(result key value)` for each member of an object or element of an array, and sets
# `result` to a braced list of what they append.
function(braced result text each)
  set(list "")
  string(JSON type ERROR_VARIABLE unused TYPE "${text}")
  string(JSON count LENGTH "${text}")
  set(i 0)
  while(i LESS count)
    set(key ${i})
    if(type STREQUAL OBJECT)
      string(JSON key MEMBER "${text}" ${i})
    endif()
    string(JSON value GET "${text}" ${key})
    cmake_language(CALL ${each} one "${key}" "${value}")
    string(APPEND list "${one}, ")
    math(EXPR i "${i} + 1")
  endwhile()
  set(${result} "{${list}}" PARENT_SCOPE)
endfunction()

function(string_of result key value)
  literal(value "${value}")
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Documents are variables named by their key, so an unknown key does not compile.
function(reference_of result key value)
  set(${result} "&documents::${value}" PARENT_SCOPE)
endfunction()

function(pci_id_of result device subsystems)
  braced(subsystems "${subsystems}" string_of)
  set(${result} "{\"${device}\", ${subsystems}}" PARENT_SCOPE)
endfunction()

function(figure_of result resource value)
  braced(numbers "${value}" number_of)
  string(REGEX REPLACE "^{" "{\"${resource}\", " numbers "${numbers}")
  set(${result} "${numbers}" PARENT_SCOPE)
endfunction()

function(number_of result key value)
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

function(statement_of result document value)
  set(${result} "{${value}, &documents::${document}}" PARENT_SCOPE)
endfunction()

function(dispute_of result resource statements)
  braced(statements "${statements}" statement_of)
  set(${result} "{\"${resource}\", ${statements}}" PARENT_SCOPE)
endfunction()

set(all_documents "")
string(JSON all GET "${text}" documents)
string(JSON count LENGTH "${all}")
foreach(i RANGE 1 ${count})
  math(EXPR i "${i} - 1")
  string(JSON key MEMBER "${all}" ${i})
  string(JSON document GET "${all}" ${key})
  set(fields "")
  foreach(name IN ITEMS title url date)
    string(JSON value GET "${document}" ${name})
    literal(value "${value}")
    string(APPEND fields "${value}, ")
  endforeach()
  string(APPEND all_documents "constexpr Document ${key} = {${fields}};\n")
endforeach()

set(rates_full kFull)
set(rates_half_with_fp32_sums kHalfWithFp32Sums)
set(rates_half kHalf)
set(rates_unknown kUnknown)
set(products "")
string(JSON all GET "${text}" products)
string(JSON count LENGTH "${all}")
foreach(i RANGE 1 ${count})
  math(EXPR i "${i} - 1")
  string(JSON product GET "${all}" ${i})
  string(JSON title GET "${product}" product)
  string(JSON name GET "${product}" name)
  string(JSON compute GET "${product}" compute)
  string(JSON rate GET "${product}" tensor_rate)
  if(NOT DEFINED rates_${rate} OR NOT compute MATCHES "^([0-9]+)[.]([0-9]+)$")
    message(FATAL_ERROR "${INPUT}: ${title}: tensor_rate or compute is none: ${rate}, ${compute}")
  endif()
  string(REPLACE "." ", " compute "${compute}")
  literal(title "${title}")
  literal(name "${name}")
  member(sms "${product}" sm_count 0)
  member(boost "${product}" boost_clock_hz 0)
  foreach(list IN ITEMS pci_ids:pci_id_of cut:string_of documents:reference_of
                        compared_with:reference_of figures:figure_of disputed:dispute_of)
    string(REGEX MATCH "^(.*):(.*)$" list ${list})
    set(each ${CMAKE_MATCH_2})
    set(list ${CMAKE_MATCH_1})
    member(value "${product}" ${list} "[]")
    braced(${list} "${value}" ${each})
  endforeach()
  string(APPEND products
    "      {${title}, ${name}, ${pci_ids}, ${compute}, ${sms}, ${boost}, "
    "TensorRate::${rates_${rate}}, ${cut}, ${documents}, ${compared_with}, ${figures}, "
    "${disputed}},\n")
endforeach()
file(WRITE ${OUTPUT}
"// Made from datasheets.json by datasheet_table.cmake.
#include \"harness/hardware/datasheets.hpp\"

namespace peakline {
namespace documents {
namespace {
${all_documents}}  // namespace
}  // namespace documents

std::span<const Datasheet> datasheets() {
  static const std::vector<Datasheet> kDatasheets = {
${products}  };
  return kDatasheets;
}

}  // namespace peakline
")
