"""Reasons of a verdict. All are numbers that a coordinator has in every federation.

Findings about columns, label coding and copies are the clients' own notes, whose sentences are in `schema`; those about
noise and whole classes of labels are in `judging`.
"""

from fedbary.sentences import say

SENTENCES = {
    "adds": say("it adds {value:number} to the others", "value"),
    "adds-nothing": say("it adds nothing that the others lack: its value is {value:number}", "value"),
    "as-close": say("its rows are as close to the target as most (closeness {closeness:.2f})", "closeness"),
    "bad-rows": say(
        "about {share:whole_percent} of its rows look bad ({low:hundredths}–{high:whole_percent})", "share low high"
    ),
    "could-be-anything": say(
        "from hardly any to {high:whole_percent} of its rows may be bad: only more rows, its own or of a reference, would tell",
        "high",
    ),
    "far": say(
        "compared with the other clients, it is further from the target than most: {distance:number}, median {median:number}",
        "distance median",
    ),
    "few-bad-rows": say("at most {high:whole_percent} of its rows look bad", "high"),
    "few-of-every-class": say("it has too few rows of every class: only more would tell"),
    "flagged": say("{flagged:counted row} {flagged:either is are} flagged", "flagged"),
    "hardly-a-class": say("it has hardly a row of any class of the target: check how its labels are written"),
    "harms": say("with it the others do worse: its value is {value:number}", "value"),
    "less-close": say(
        "compared with the other clients, its rows are further from the target than most: closeness {closeness:.2f}, median {median:.2f}",
        "closeness median",
    ),
    "many-flags": say(
        "{flagged:counted row} of {rows:number} ({share:percent}) {flagged:either looks look} wrong",
        "flagged rows share",
    ),
    "more-missing": say(
        "{missing:whole_percent} of its cells are missing (of the median client's {usual:whole_percent})",
        "missing usual",
    ),
    "much-missing": say(
        "{missing:whole_percent} of its cells are missing (in the reference {usual:whole_percent})",
        "missing usual",
    ),
    "near": say("its distance, {distance:number}, is like the others'", "distance"),
    "nearer-than-the-target": say("it claims to be nearer to the target than the target's own rows: ask how"),
    "no-estimate": say("what share of its rows is bad is not known"),
    "no-flag": say("no row is flagged"),
    "no-number": say("this protocol found no number for it"),
    "nobody-to-compare-with": say(
        "this protocol compares clients with each other, and no other one was valued: only a reference would tell"
    ),
    "odd-features": say(
        "about {share:whole_percent} of its rows have odd features ({low:hundredths}–{high:whole_percent})",
        "share low high",
    ),
    "some-bad-rows": say("about {least:hundredths} to {most:whole_percent} of its rows look bad", "least most"),
    "some-odd-features": say(
        "about {least:hundredths} to {most:whole_percent} of its rows have odd features", "least most"
    ),
    "some-wrong-labels": say("about {least:hundredths} to {most:whole_percent} of its labels are wrong", "least most"),
    "wrong-labels": say(
        "about {share:whole_percent} of its labels are wrong ({low:hundredths}–{high:whole_percent})",
        "share low high",
    ),
}
