"""Games that cannot be played, or not to the end."""

from fedbary.sentences import say

SENTENCES = {
    "budget-spent": say(
        "The game's budget ({limits}) is spent after {evaluations} evaluations in {seconds:.3g} s: raise it to go on."
    ),
    "said": say("{text}", "text"),
    "too-many-players": say(
        "The 'game' parameter of exact_shapley must have at most {most} players, for it takes 2^N evaluations. Got {players} players instead: use permutation_shapley or group_testing_shapley."
    ),
    "utility-not-finite": say(
        "The 'utility' parameter of Game must return finite numbers. Got {got} for {coalition} instead."
    ),
    "utility-shape": say(
        "The 'utility' parameter of Game must return one number for each coalition, here {coalitions}. Got an array of shape {shape} instead; Game.of takes a function of a single coalition."
    ),
}
