#pragma once

// The fields of a picture; see fields.hpp.

#include "harness/profile/field_rule.hpp"

namespace peakline::profile_format {

void fields(auto& a, Like<Numbers> auto& v) {
  a("id", v.id, {.what = "Of the benchmark.", .min_length = 1});
  a.maybe("figure", v.figure, {.what = "The name of its figures; else its measurements' values."});
  a.maybe("where", v.where, {.what = "Only those that have all of these parameters."});
}

void fields(auto& a, Like<PictureSeries> auto& v) {
  a("label", v.label, {.what = "With `each`, {} stands for its value."});
  a("numbers", v.numbers);
  a.maybe("each", v.each, {.what = "One series for each value of this parameter."});
  a.maybe("group", v.group, {.what = "Rows of one group share a colour."});
}

void fields(auto& a, Like<Axis> auto& v) {
  a("label", v.label);
  a.maybe("per", v.per,
          {.what = "Values are shown as multiples of this.", .range = Range::kPositive}, 1);
  a.maybe("written", v.written);
  a.maybe("scale", v.scale);
  a("low", v.low, {.what = "As shown; the axis reaches at least here.", .range = Range::kSigned});
  a("high", v.high, {.what = "As shown; the axis reaches at least here.", .range = Range::kSigned});
}

void fields(auto& a, Like<Mark> auto& v) {
  a("label", v.label);
  a.maybe("upright", v.upright, {.what = "At a value of the x axis."});
  a.maybe("diagonal", v.diagonal, {.what = "Where both axes are equal."});
  a.maybe("resource", v.resource, {.what = "Of the ceiling that it is at."});
  a.maybe("basis", v.basis);
  a("figure", v.figure);
  a("value", v.value, {.range = Range::kSigned});
}

void fields(auto& a, Like<Panel> auto& v) {
  a("kind", v.kind);
  a.maybe("over", v.over, {.what = "The parameter along the x axis of lines, or of the rows."});
  a.maybe("by", v.by, {.what = "The parameter that tells marks in a row apart."});
  a("x", v.x);
  a("y", v.y);
  a("series", v.series);
  a.maybe("marks", v.marks);
  a.maybe("names", v.names, {.what = "How values of parameters are called, in their order."});
  a.maybe("naming", v.naming, {.what = "Where lines are named."});
  a.maybe("heading", v.heading);
}

void fields(auto& a, Like<Picture> auto& v) {
  a("key", v.key, {.what = "Of its file.", .pattern = "^[a-z0-9-]+$", .max_length = 64});
  a("subject", v.subject, {.min_length = 1});
  a("how", v.how, {.what = "How to read it."});
  a("panels", v.panels);
}

}  // namespace peakline::profile_format
