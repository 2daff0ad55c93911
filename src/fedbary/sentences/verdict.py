"""Reasons of a verdict. All are numbers that a coordinator has in every federation."""

from fedbary.sentences import say

SENTENCES = {
    "adds-nothing": say("it adds nothing that the others lack: its value is {value:number}", "value"),
    "as-clean": say("its rows are as clean as most (quality {quality:.2f})", "quality"),
    "distance-alone": say("its distance, {distance:number}, cannot be compared with another's", "distance"),
    "far": say("it is further from the target than most: {distance:number}, median {median:number}", "distance median"),
    "few-flags": say("only {flagged:counted row} {flagged:either looks look} wrong", "flagged"),
    "hardly-a-class": say("it has hardly a row of any class of the target: check how its labels are written"),
    "harms": say("with it the others do worse: its value is {value:number}", "value"),
    "less-clean": say(
        "its rows are less clean than most: quality {quality:.2f}, median {median:.2f}", "quality median"
    ),
    "many-flags": say(
        "{flagged:counted row} of {rows:number} ({share:percent}) {flagged:either looks look} wrong",
        "flagged rows share",
    ),
    "near": say("its distance, {distance:number}, is like the others'", "distance"),
    "no-flag": say("no row is flagged"),
    "nothing-against": say("nothing speaks against it"),
    "other-mix": say("its mix of classes or its size differs from the target's, hence its distance"),
    "nearer-than-the-target": say("it claims to be nearer to the target than the target's own rows: ask how"),
    "quality-alone": say("its quality, {quality:.2f}, cannot be compared with another's", "quality"),
}
