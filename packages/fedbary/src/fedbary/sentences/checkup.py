"""What an owner is told of a table; none of it leaves."""

from fedbary.sentences import say

SENTENCES = {
    "below-schema": say(
        "column '{column}' has {count:counted value} about {times:g} times the schema's middle ({middle}): check the unit"
    ),
    "beyond-schema": say(
        "column '{column}' has {count:counted value} beyond anything in the reference[[, about {times:number} times its middle]] (expected: {low} to {high}): check the unit and the cells"
    ),
    "column-name": say("column '{column}' is not in the schema (did you mean {meant!r}?): rename it"),
    "constant": say("column '{column}' is {value} in every row: fine, if other clients have something else"),
    "copies": say("{count:counted row} {count:either repeats repeat} an earlier one in every cell: keep one of each"),
    "copies-but-one-column": say(
        "{count:counted row} {count:either is are} the same as another but for one column, most often '{column}': check whether they are the same case"
    ),
    "copies-but-rounding": say(
        "{count:counted row} {count:either is are} the same as another but for rounding: check whether they are the same case"
    ),
    "copies-with-other-labels": say(
        "{count:counted row} {count:either has have} the same features as another and another label: check their labels"
    ),
    "empty-rows": say(
        "{count:counted row} {count:either has have} no value in any column: leave {count:either it them} out"
    ),
    "few-different-rows": say(
        "{count:counted different row} {count:either is are} fewer than min_group = {least}: add rows"
    ),
    "fix-over-itself": say("a corrected copy cannot take the place of the table itself: name another file"),
    "fixed-labels": say("label '{column}': {count:counted cell} {count:either is are} respelled ({changes:listed})"),
    "fixed-levels": say("column '{column}': {count:counted cell} {count:either is are} respelled ({changes:listed})"),
    "fixed-missing": say("column '{column}': {count:counted cell} {count:either is are} left empty ({changes:listed})"),
    "fixed-numbers": say(
        "column '{column}': {count:counted number} {count:either is are} written plainly ({changes:listed})"
    ),
    "label-again": say("column '{column}' says the same as the label in every row: leave it out"),
    "label-coding": say(
        "{count:counted row} {count:either has have} the label {found:listed} (did you mean {meant:listed}?): write a class in one way"
    ),
    "level-spelling": say(
        "column '{column}' has {found:listed} in {count:counted row} (did you mean {meant:listed}?): write a level in one way"
    ),
    "mostly-missing": say("column '{column}' has no value in {count:counted row} ({share:whole_percent})"),
    "nothing-to-fix": say(
        "a table that was not read from a file or frame has no cells as they were written to correct"
    ),
    "one-class": say("all rows are of class {name!r}"),
    "outliers": say(
        "column '{column}' has {count:counted value} far from all others, such as {example} (the others: {low} to {high}): check {count:either it them}"
    ),
    "rare-classes": say(
        "{count:either class classes} {classes:listed} {count:either is are} rare: {share:percent} of the rows"
    ),
    "refused": say("a federation would refuse this table for {count} reasons; the first: {first}"),
    "sentinel": say(
        "column '{column}' is {value} in {count:counted row}, apart from all other values ({low} to {high}): leave cells empty where it means \"missing\""
    ),
    "small-classes": say(
        "{count:either class classes} {classes:listed} {count:either has have} fewer than min_group = {least} rows: nobody is told of {count:either it them}"
    ),
    "tells-missing": say("{share:percent} of the cells have no value"),
    "tells-rows": say("{count:counted row}"),
    "unknown-classes": say(
        "{count:counted row} {count:either has have} a label unknown to the schema: {classes:listed}[[ (did you mean {meant:listed}?)]]; its classes are {known:listed}"
    ),
    "unknown-levels": say(
        "column '{column}' has {count:counted level} unknown to the schema: {levels:listed}[[ (did you mean {meant:listed}?)]]; {count:either it they} will count as other"
    ),
}
