"""Tables, files and data sets that cannot be used as they are."""

from fedbary.sentences import say

SENTENCES = {
    "foreign-values": say(
        "column {column!r} holds {kind} values[[ such as {example}]]; expected {expected}: turn it into numbers (a date, "
        "for instance, into days since a fixed day) or drop it",
        "kind expected",
    ),
    "ids-repeat": say(
        "the id column {name!r} repeats an earlier id in {count} rows[[, such as {example!r} in row {row} (counted from "
        "0)]]; make the ids unique or leave them out",
    ),
    "mixed-column": say(
        "column {column!r} mixes numbers and text[[, such as {example} in row {row} (counted from 0)]]; correct or empty "
        "these cells, or make every value text",
    ),
    "no-rows": say("the table has no rows; expected at least one"),
}
