#pragma once

// The fields of a picture; see fields.hpp.

#include "harness/profile/field_rule.hpp"

namespace peakline::profile_format {

void fields(auto& a, Like<Numbers> auto& v) {
  a("id", v.id, {.what = "Benchmark behind the numbers", .min_length = 1});
  a.maybe("figure", v.figure,
          {.what = "Name of the benchmark's figures; left out for the values of its measurements"});
  a.maybe("where", v.where, {.what = "Parameters that all shown points have"});
}

void fields(auto& a, Like<PictureSeries> auto& v) {
  a("label", v.label, {.what = "Name of the series; {} stands for the value of each"});
  a("numbers", v.numbers);
  a.maybe("each", v.each, {.what = "Parameter with a series for each of its values"});
  a.maybe("group", v.group, {.what = "Name of a group of rows that share a colour"});
}

void fields(auto& a, Like<Axis> auto& v) {
  a("label", v.label);
  a.maybe("per", v.per, {.what = "Divisor of the values for display", .range = Range::kPositive},
          1);
  a.maybe("written", v.written);
  a.maybe("scale", v.scale);
  a("low", v.low,
    {.what = "Value, as displayed, that the axis reaches at its lower end",
     .range = Range::kSigned});
  a("high", v.high,
    {.what = "Value, as displayed, that the axis reaches at its upper end",
     .range = Range::kSigned});
}

void fields(auto& a, Like<Mark> auto& v) {
  a("label", v.label);
  a.maybe("upright", v.upright, {.what = "Whether the mark stands at a value of the x axis"});
  a.maybe("diagonal", v.diagonal,
          {.what = "Whether the mark is the line where both axes are equal"});
  a.maybe("resource", v.resource, {.what = "Resource whose ceiling the mark shows"});
  a.maybe("basis", v.basis);
  a("figure", v.figure);
  a("value", v.value, {.range = Range::kSigned});
}

void fields(auto& a, Like<Panel> auto& v) {
  a("kind", v.kind);
  a.maybe("over", v.over, {.what = "Parameter along the x axis of lines, or of the rows"});
  a.maybe("by", v.by, {.what = "Parameter that distinguishes marks in a row"});
  a("x", v.x);
  a("y", v.y);
  a("series", v.series);
  a.maybe("marks", v.marks);
  a.maybe("names", v.names, {.what = "Names of parameter values, in order"});
  a.maybe("naming", v.naming, {.what = "Place where lines are named"});
  a.maybe("heading", v.heading);
}

void fields(auto& a, Like<Picture> auto& v) {
  a("key", v.key,
    {.what = "Name of the picture file", .pattern = "^[a-z0-9-]+$", .max_length = 64});
  a("subject", v.subject, {.min_length = 1});
  a("how", v.how, {.what = "Advice on how to read the picture"});
  a("panels", v.panels);
}

}  // namespace peakline::profile_format
