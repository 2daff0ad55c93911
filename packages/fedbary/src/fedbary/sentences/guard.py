"""What an owner's policy, ledger and node refuse."""

from fedbary.sentences import say

SENTENCES = {
    "any-epsilon": say(
        "require_epsilon accepts any epsilon, however large, unless epsilon_budget or max_epsilon is given: give one of "
        "them."
    ),
    "beyond-limit": say(
        "The server asks for {field} = {asked}, the owner's policy has {key} = {most}.", "field asked key most"
    ),
    "budget-spent": say(
        "The answer would go beyond the owner's epsilon_budget[[ ({spent:g} of {budget:g} is spent, it costs {cost:g})]]"
        ": ask for a smaller epsilon (the owner can allow more with 'fedbary policy allow --epsilon')."
    ),
    "delta-spent": say(
        "The answer would go beyond the owner's max_delta[[ ({spent:g} of {most:g} is spent, it costs {cost:g})]]: ask "
        "for a smaller delta (the owner can allow more with 'fedbary policy allow --delta')."
    ),
    "delta-too-large": say(
        "The server asks for delta = {delta:g}, the owner's policy has max_delta = {most:g}.", "delta most"
    ),
    "decision-without-reason": say("A decision in the ledger needs a reason, such as 'new rows since May'."),
    "epsilon-too-large": say(
        "The server asks for epsilon = {epsilon:g}, which is more than the owner's policy has in {key}.", "epsilon key"
    ),
    "exact-answers": say(
        "The server asks for exact answers of the {protocol} protocol, the owner's policy has {key}: it answers with "
        "epsilon only.",
        "protocol key",
    ),
    "flag-counts-are-exact": say(
        "share_flag_counts tells an exact number, which {key} forbids: set it to false, or leave out {key}."
    ),
    "failed-inside": say("something failed at the owner; the owner's own log says what"),
    "ledger-cut": say(
        "The end of the ledger[[ {path}]] is missing or edited, or the file 'head' beside it is, so what left is not "
        "known: restore both from a copy, or go on with 'fedbary ledger FILE --accept REASON'."
    ),
    "ledger-damaged": say(
        "[[Line {line}, or the one before it,|A line]] is not as the ledger wrote it, so what left is not known: check that this is the right "
        "file, restore it from a copy, or go on with 'fedbary ledger FILE --accept REASON'."
    ),
    "ledger-unreadable": say("The ledger[[ {path}]] cannot be read[[ ({why})]]."),
    "ledger-unwritable": say("The owner's ledger[[ {path}]] cannot be written[[ ({why})]], so nothing was sent."),
    "log-level": say("There is no log-level {name!r}; choose from debug, info and warning."),
    "min-group": say(
        "The server asks for min_group = {asked}, the owner's policy has min_group = {least} at least.", "asked least"
    ),
    "no-data": say("The node has no data: give data-path in its node config."),
    "no-further-message": say(
        "A question of the {protocol} protocol has {most:counted message} at most, and this one has had them.",
        "protocol most",
    ),
    "no-further-question": say(
        "The owner's policy allows no further question of the {protocol} protocol[[; {asked} {asked:either was were} "
        "asked]] (max_questions; the owner can allow one with 'fedbary policy allow').",
        "protocol",
    ),
    "no-partition": say(
        "There is no partition {name!r}; choose from same, case-1 … case-5 and dirichlet-NUMBER.", "name"
    ),
    "no-such-head": say(
        "No line of the ledger {path} has the head {head!r}, so lines that were there are missing or edited: check the "
        "digest, or restore the ledger from a copy."
    ),
    "no-such-node": say("There are {clients} simulated clients, and this node is number {number}.", "clients number"),
    "not-a-ledger": say(
        "'{path}' does not begin as a ledger does: check that this is the right file, or restore it from a copy."
    ),
    "not-a-lineage": say(
        "The name of the table, {name!r}, cannot be a folder's: use 1 to 64 letters, digits, '-', '_' and '.'."
    ),
    "not-a-session": say("The server's name of the run is not one of fedbary's."),
    "not-an-owner-folder": say("'{folder}' does not hold a node's results ({why}): check the folder."),
    "nothing-to-accept": say("The ledger is as it was written: there is nothing to accept."),
    "only-in-one-process": say(
        "The server asks for {setting}, which is for one process that holds everybody's rows: no policy file allows that.",
        "setting",
    ),
    "out-of-step": say("The server expects answer {asked} of this run, the node is at {here}.", "asked here"),
    "partition-lacks-number": say("The partition {name!r} lacks a number: write dirichlet-0.3.", "name"),
    "policy-not-toml": say("The policy file '{file}' is not a TOML file ({why}): correct it."),
    "policy-too-large": say("The policy file '{file}' is too large to be one: check the path."),
    "policy-unknown-key": say("The policy file '{file}' has an unknown key '{key}'{guess}; the keys are {known}."),
    "policy-unknown-protocol": say("The 'protocols' parameter of OwnerPolicy names {name!r}: choose from {known}."),
    "policy-unusable": say("The owner's policy file cannot be used; the owner's own log says why."),
    "policy-value": say("The policy file '{file}' has {key} = {got}: it must be {expected}."),
    "policy-unreadable": say("The policy file '{file}' cannot be read ({why}): check it."),
    "protocol-not-allowed": say(
        "The server asks for the {protocol} protocol, the owner's policy has protocols = {allowed}.", "protocol allowed"
    ),
    "protocol-without-epsilon": say(
        "The {protocol} protocol answers without epsilon, which {key} forbids: take it out of protocols, or leave out "
        "{key}."
    ),
    "reconstruction": say(
        "The server asks for allow_reconstruction, with which it could read rows: no policy file allows that."
    ),
    "rounds-solve-rows": say(
        "The server asks for {rounds} rounds with min_group = {min_group}: together their averages are as many as there are rows, which could be solved for. The server may ask for fewer rounds than min_group, or the owner's policy say trust_server = true.",
        "rounds min_group",
    ),
    "run-over": say("The run is over: its last message was answered, and only that answer is given again."),
    "rows-unfit": say("the table does not fit the question; the owner's own log says why"),
    "same-rows-elsewhere": say(
        "The ledger '{path}' has questions about the very same rows, which are counted apart from these: keep one copy of "
        "the table, or give both the same name (table in the node's config, --ledger)."
    ),
    "secret-damaged": say("The node's secret cannot be read: delete the file 'secret' in its state folder."),
    "state-behind": say(
        "What the node remembers of this run is not what its ledger says, so nothing more is answered in it."
    ),
    "table-unreadable": say("the owner's table cannot be read; the owner's own log says why"),
    "state-unreadable": say(
        "what this node remembers of the run[[ in '{path}']] was damaged[[ ({why})]]: delete it, and have the run begun anew"
    ),
    "state-unwritable": say(
        "the node could not write down its answer, so nothing left; the owner's own log says why[[: '{path}': {why}]]"
    ),
    "training-model": say("The server's model does not fit its schema."),
    "released-damaged": say(
        "The file '{file}' of the rows that answers are made of is damaged: restore it from a copy, or begin anew with 'fedbary ledger FILE --reset REASON'."
    ),
    "released-label": say(
        "Rows of this table were released with the label '{first}', and an answer with the label '{label}' could be subtracted from that; 'fedbary ledger FILE --reset REASON' begins anew.",
        "label first",
    ),
    "released-missing": say(
        "Exact answers left by the ledger '{ledger}', and the rows that they were made of are not kept: another one could be subtracted from them; 'fedbary ledger FILE --reset REASON' begins anew."
    ),
    "training-needs-classes": say("The server asks for a training whose label is no class."),
    "training-not-allowed": say("The owner allows no training on this node (train=true in the node config does)."),
    "training-without-epsilon": say(
        "The owner's policy lets nothing leave without epsilon, and what training sends has none."
    ),
    "settings-changed": say("The server changed the settings during the run; only the first are answered."),
    "settings-unknown": say("The server's settings are not those of a protocol that this fedbary knows."),
}
