"""What an owner is told of a table; none of it leaves."""

from fedbary.sentences import say

SENTENCES = {
    "constant": say("column '{column}' is {value} in every row: fine, if other clients have something else"),
    "few-different-rows": say(
        "{count:counted different row} {count:either is are} fewer than min_group = {least}: add rows"
    ),
    "mostly-missing": say("column '{column}' has no value in {count:counted row} ({share:whole_percent})"),
    "refused": say("a federation would refuse this table for {count} reasons; the first: {first}"),
    "tells-missing": say("{share:percent} of the cells have no value"),
    "tells-rows": say("{count:counted row}"),
}
