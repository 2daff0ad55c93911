"""What an audit measured, what it recommends, and why there is none."""

from fedbary.sentences import say

SENTENCES = {
    "ask-once": say(
        "Allow one question about a table: repeated ones read {share:percent} of the rows that were tried.", "share"
    ),
    "attribute": say(
        "right guesses of the label of a row whose other columns are known; half is chance ({trials} owners of each kind)",
        "trials",
    ),
    "averages": say("share of {rows} rows read from {points} averages", "rows points"),
    "card-rows": say(
        "share of {rows} rows, each with something that no other row has, of which all other numbers are read off the card",
        "rows",
    ),
    "count": say(
        "right guesses whether {rows} rows have a label or one more; half is chance ({trials} owners of each kind)",
        "rows trials",
    ),
    "epsilon": say(
        "the smallest ε that fits the answers for two tables that differ in one row ({trials} of each)", "trials"
    ),
    "guard-cards": say(
        "Have trust_server = false: cards are then guarded. Off this one {share:percent} of the odd rows that were tried are read.",
        "share",
    ),
    "joint-rounds": say(
        "share of {rows} rows whose other columns follow from the averages of {rounds} rounds, for a server that knows two columns",
        "rows rounds",
    ),
    "fewer-rounds": say(
        "Have trust_server = false, with which no more than {rounds} rounds are answered: as many rounds as rows in a group give as many equations as rows, and a server that knows two columns solves for all others.",
        "rounds",
    ),
    "loud-noise": say(
        "With {rows} rows the noise is {noise:percent} of the largest cost: take a larger ε, or more rows, for a ranking that means something.",
        "rows noise",
    ),
    "membership": say(
        "share of owners found to hold a known row, at 1 % false alarms; the server knows rows like the others ({trials} owners of each kind)",
        "trials",
    ),
    "membership-others-known": say(
        "the same, where the server knows all other rows ({trials} answers of each kind)", "trials"
    ),
    "no-reconstruction": say(
        "Leave allow_reconstruction off and have min_group = {min_group} at least: as many points as rows are the rows.",
        "min_group",
    ),
    "nothing-to-change": say("Nothing here speaks for other settings."),
    "pair": say(
        "right guesses which of two rows it is from {first} and then {second}; the better one alone has {alone:percent}, half is chance; by subtraction all {cells} cells were read of {read:percent} of the owners ({trials} owners of each kind)",
        "first second alone cells read trials",
    ),
    "promise-broken": say(
        "The attack '{attack}' went beyond what is promised: do not take part with these settings, and report it (SECURITY.md).",
        "attack",
    ),
    "reference-alone": say("A reference was given without a table: give both, or neither for a stand-in."),
    "refusals": say(
        "share of {probes} pairs of an odd row and a question in which the outcome tells that the row is there",
        "probes",
    ),
    "repeated-questions": say(
        "share of {rows} rows read to a thousandth of a standard deviation; {answered} of {asked} questions answered before the first refusal",
        "rows answered asked",
    ),
    "timing": say(
        "right guesses from the seconds that an answer took; half is chance ({trials} answers of each kind)", "trials"
    ),
    "too-few-rows": say(
        "An audit needs {least} rows at least. Got {rows}[[ of {whole}, as a third stands for the server's: give more "
        "rows, or the server's as <reference>|: give more rows]].",
        "least rows whole",
    ),
    "use-epsilon": say(
        "Have require_epsilon = true and epsilon_budget = {epsilon:g}: a known row is then found in {share:percent} of cases at most[[, and the noise is {noise:percent} of the largest cost]].",
        "epsilon share noise",
    ),
    "use-sketch": say(
        "{protocol} has no ε: where membership must stay unknown, take part in sketch with epsilon_budget only.",
        "protocol",
    ),
}
