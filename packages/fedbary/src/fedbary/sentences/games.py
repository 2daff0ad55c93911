"""Games that cannot be played, or not to the end."""

from fedbary.sentences import say

SENTENCES = {
    "budget-spent": say(
        "The game's budget ({limits}) is spent after {evaluations} evaluations in {seconds:.3g} s: raise it to go on.",
        "limits evaluations seconds",
    ),
    "fitted": say(
        "Too few for an estimate: the values are a least-squares fit to the {coalitions} coalitions that are known (an equal split where these do not tell), with errors unknown.",
        "coalitions",
    ),
    "no-estimate": say("The utilities of all and of no players are not both known, so there is no estimate."),
    "not-steady": say(
        "A limit ended the run after {permutations} permutations, before the values were steady.", "permutations"
    ),
    "too-many-players": say(
        "The 'game' parameter of exact_shapley must have at most {most} players, for it takes 2^N evaluations. Got {players} players instead: use permutation_shapley."
    ),
    "unknown-values": say("{unknown} of {players} values are unknown (NaN).", "unknown players"),
    "utility-not-finite": say(
        "The 'utility' parameter of Game must return finite numbers. Got {got} for {coalition} instead."
    ),
    "utility-shape": say(
        "The 'utility' parameter of Game must return one number for each coalition, here {coalitions}. Got an array of shape {shape} instead; Game.of takes a function of a single coalition."
    ),
}
