"""Messages that do not follow a protocol, and what protocols find out about clients."""

from fedbary.sentences import say

SENTENCES = {
    "answer-shows-rows": say(
        "One row would make up more than half of the answer, or a few rows all of it, so the answer would show them: look for rows unlike all others, or set <epsilon>."
    ),
    "array-bounds": say("the array '{name}' holds numbers outside [{least:g}, {most:g}]", "name least most"),
    "array-not-finite": say("the array '{name}' holds values that are not finite", "name"),
    "array-shape": say(
        "the array '{name}' has shape {shape} and type {type}, expected {expected}", "name shape type expected"
    ),
    "array-too-large": say("the array '{name}' holds more than {most} numbers", "name most"),
    "asked-otherwise": say(
        "The server asked for '{kind}' again in another way; only the first is answered in a run.", "kind"
    ),
    "card-level-coding": say(
        "column '{column}' has {found:listed} (did you mean {meant:listed}?): write its levels as the other clients do",
        "column found meant",
    ),
    "card-column-off": say(
        "column '{column}' is unlike the other clients': its means lie {deviations:number} of their deviations away, its spread is {spread:number} times theirs",
        "column deviations spread",
    ),
    "card-counts": say(
        "the card counts more different rows than the {rows:number} that it is said to have: have it made again", "rows"
    ),
    "card-counts-none": say("the card's counts of rows are none: have it made again"),
    "card-levels": say(
        "the card says that a level of {column!r}, or a missing cell, is there in more than all rows of a class, or in "
        "fewer than none: have it made again",
        "column",
    ),
    "card-needs-schema": say(
        "A card with <epsilon> needs public coordinates, and none were given: ask for a schema (fedbary schema make)."
    ),
    "card-no-model": say(
        "too few other clients hold its classes and are believed, for a model that is not one client's card: get more cards, or owners' consent (share_card_with_others = true in their policies)"
    ),
    "card-no-weight": say(
        "its card contradicts the others' and has no weight in their models: nothing bears out what it says"
    ),
    "card-not-moments": say("the card's sums and products are none that rows could have: have it made again"),
    "card-other-coordinates": say("its card is in other coordinates than the others': ask for the same schema"),
    "card-other-version": say("the card has version {version}, this program reads version {own}", "version own"),
    "card-too-many-names": say(
        "with its card there would be more than {classes:number} classes or {levels:number} levels of columns: leave out columns of free text, or give rare classes one name",
        "classes levels",
    ),
    "cards-without-schema": say(
        "Cards with <epsilon> need public coordinates: give a reference, or a schema (fedbary schema make)."
    ),
    "claim-cost": say("it claims a cost of {cost:g}, more than all rows together can pay at {cap:g} each", "cost cap"),
    "claim-ends": say(
        "it claims to be at least {lower:g} away and at most {upper:g}: one of them is wrong", "lower upper"
    ),
    "claim-error": say(
        "it claims a sketch error of {error:g}, which can only be between {least:g} and {most:g}", "error least most"
    ),
    "claim-moments": say("it claims means and second moments that no rows can have together"),
    "claim-noise": say(
        "it claims noise of scale {noise:g}; the epsilon asked for needs {least:g} at least", "noise least"
    ),
    "claim-share": say(
        "it claims that {name} is {share:g}, which is not between {low:g} and {high:g}", "name share low high"
    ),
    "claim-relaxed": say("it claims a relaxed cost of {relaxed:g}, more than {most:g} is impossible", "relaxed most"),
    "dp-without-epsilon": say("<policy=dp> answers nothing without <epsilon>: set it, or choose another policy."),
    "exact-shows-rows": say(
        "interpolation='exact' lets the server read every row: use 'barycentric', or say allow_reconstruction=True if one owner holds all the data.",
        command="--interpolation exact lets the server read every row: use barycentric, or say --allow-reconstruction if one owner holds all the data.",
    ),
    "few-points": say(
        "Clients were compared by {support:counted point} each, as no more are allowed by the smallest of them: too few to order clients by wrong labels. Leave out clients of few rows, or use another protocol.",
        "support",
    ),
    "few-reference-rows": say(
        "The reference has {rows:counted row}. With fewer than 300 the other clients' cards often say more than it does: try <protocol=cards> with the same reference.",
        "rows",
    ),
    "gaussian-labels-with-epsilon": say(
        "Gaussian label coordinates depend on all of a client's rows, so no epsilon can be promised: use <labels=onehot> or <labels=numeric>."
    ),
    "kind-differs": say(
        "The server's schema has the column '{column}' as {kind}, but it was described as {own}: ask the coordinator.",
        "column kind",
    ),
    "label-kind-changed": say(
        "The server asked for labels of kind '{kind}' after it had asked for kind '{first}'; only the first is answered.",
        "kind first",
    ),
    "field-unfit": say("'{name}' is not {expected}", "name expected"),
    "lacks-array": say("the array '{name}' is missing", "name"),
    "lacks-field": say("'{name}' is missing", "name"),
    "measure-too-large": say("its measure reaches {reach:.3g}, the others' about {usual:.3g}", "reach usual"),
    "message-unfit": say(
        "The server's message '{kind}' has no '{name}' of the form that was agreed: both sides need the same fedbary.",
        "kind name",
    ),
    "no-answer": say("no answer"),
    "no-schema-yet": say("The federation has not agreed on a schema yet."),
    "no-sensitivity": say("A private release needs a finite, positive sensitivity."),
    "not-finished": say("The run is not finished: absorb the answers to tasks() until there are none."),
    "not-started": say("The client was asked to go on before it was started."),
    "not-a-card": say("this is no card ({why}): have it made again"),
    "number-unfit": say("the number '{name}' is {got}, expected one in [{least:g}, {most:g}]", "name least most"),
    "one-row-weighs-too-much": say(
        "One row makes up {share:.0%} of the table, so an average over min_group = {least} rows would still show it: remove the copies, add rows, or lower <min_group> if the owner agrees.",
        "least",
    ),
    "other-round": say("the reply belongs to round {found}, expected {expected}", "found expected"),
    "points-not-agreed": say("The server sent {sent} points where {agreed} were agreed.", "sent"),
    "reference-changed": say("The reference changed since the run was interrupted: start it anew."),
    "reference-too-small": say(
        "The reference has {different} different rows, fewer than min_group = {least}: add rows, or lower <min_group>.",
        "least",
    ),
    "reference-too-small-for-sketch": say(
        "The reference has too few different rows: {different} to make a sketch of, and min_group = {least} are the fewest of which anything may leave. Add validation rows, or lower <min_group> if their owner agrees.",
        "least",
    ),
    "reply-other-points": say("the reply has {points} support points where {agreed} were agreed", "points agreed"),
    "round-skipped": say("Round {round} came after round {last}: start the run anew.", "round last"),
    "rows-before-round": say("Row values need at least one finished round."),
    "rows-before-sketch": say("Row values need the server's sketch first."),
    "rows-changed": say("the rows changed since the run was interrupted: start it anew."),
    "rows-before-model": say("Row values need the model that others' cards make; it has not come yet."),
    "same-card": say("its card is the same as that of {others:quoted}", "others"),
    "saturated": say("saturated: most rows are farther away than the cost cap"),
    "server-array": say("The server's array '{name}' is missing, has the wrong shape, or is not finite.", "name"),
    "shares-by-cards": say(
        "{count:counted client} said nothing of {count:either its their} rows: shares of wrong labels follow from the cards alone, relative to the cleaner clients",
        "count",
    ),
    "sketch-masses": say("The sketch has masses that are too small or do not sum to one."),
    "sketch-too-large": say(
        "The sketch has {points} points, too many for {rows:counted row}: give a smaller <support>.", "points rows"
    ),
    "sketch-without-reference": say("The sketch protocol needs a reference: give one, or use <protocol=cards>."),
    "stopped": say("stopped in round {round} with {points} support points", "round points"),
    "target-incomplete": say("The server's target lacks its points or weights."),
    "text-unfit": say("'{name}' is no text of at most {longest} characters without control characters", "name longest"),
    "too-few-different-rows": say(
        "The[[ {rows}]] rows hold fewer than min_group = {least} different ones: add rows, or lower <min_group> if the owner agrees.",
        "least",
    ),
    "too-many-rounds": say("The owner allows {allowed} rounds; round {asked} was asked for.", "allowed asked"),
    "too-good": say(
        "it claims to be {distance:number} away; as many rows of the reference itself are {nearest:number} away or more",
        "distance nearest",
    ),
    "too-small-for-support": say(
        "its rows allow {allowed:counted point}, and clients are compared by {support}: too small for that, as each point averages <min_group> different rows and a copied row counts for several; add rows, remove copies, or choose a smaller <support> for all",
        "allowed support",
    ),
    "unknown-field": say("'{name}' does not belong there", "name"),
    "unknown-message": say("A client of the {protocol} protocol does not know the message {kind!r}.", "protocol kind"),
    "worth-self-consistency": say(
        "worth is self-consistency, not accuracy: without validation rows, coalitions are judged by rows drawn from the cards"
    ),
}
