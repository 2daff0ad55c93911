"""Points, weights and problems that no transport can be computed for."""

from fedbary.sentences import say

SENTENCES = {
    "coordinates-differ": say("X has {of_x} coordinates and Y has {of_y}: embed both with the same schema."),
    "flow-not-proved": say(
        "The network simplex found no plan in whole numbers that its potentials prove to be optimal, for {sources} × {targets} points: report this as a bug."
    ),
    "no-matching": say(
        "method='assignment' needs two uniform measures of one size, not {sources} and {targets} points with their weights: use method='exact'."
    ),
    "not-finite": say("{name} holds values that are not finite: impute or drop them first.", "name"),
    "not-optimal": say(
        "The {solver} solver stopped {gap:.3g} away from the optimum of a problem with {sources} × {targets} points: check the points for extreme values, or report this as a bug."
    ),
    "not-points": say("{name} must be a non-empty (points, coordinates) array, not {shape}.", "name"),
    "simplex-unfinished": say(
        "The network simplex did not finish on {sources} × {targets} points[[ ({why})]]: use fewer support points, or check the data for extreme values."
    ),
    "weights-shape": say("The weights {name} have shape {shape}, but there are {points} points.", "name"),
    "weights-sum": say("The weights {name} must be non-negative and sum to one, not to {total:.12g}.", "name"),
}
