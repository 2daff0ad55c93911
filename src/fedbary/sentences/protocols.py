"""Messages that do not follow a protocol, and what protocols find out about clients."""

from fedbary.sentences import say

SENTENCES = {
    "no-answer": say("no answer"),
    "notes-unreadable": say("the notes of the reply cannot be read"),
    "saturated": say("saturated: most rows are farther away than the cost cap"),
    "stopped": say("stopped in round {round} with {points} support points", "round points"),
    "measure-too-large": say("its measure reaches {reach:.3g}, the others' about {usual:.3g}", "reach usual"),
    "other-round": say("the reply belongs to round {found}, expected {expected}", "found expected"),
    "no-class-to-agree-on": say(
        "no client has min_group = {least} different rows of one class, so there is nothing to agree on: add rows, or lower min_group if the owners agree",
        "least",
    ),
    "does-not-shape-the-target": say("too few rows in every class to shape the target"),
    "classes-without-shape": say(
        "no client has enough rows to shape {classes:listed}, so the target lacks them", "classes"
    ),
    "classes-too-large": say(
        "its classes reach {reach:.3g} where the clients' spread is {usual:.3g}: check the units", "reach usual"
    ),
    "nothing-to-share": say("no client adds anything to the others, so there is nothing to share"),
    "brings-no-group": say(
        "no class of the reference in which enough of its rows may be spoken of, so it adds nothing to a coalition"
    ),
    "said": say("{text}", "text"),
}
