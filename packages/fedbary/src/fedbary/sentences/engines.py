"""Runs that cannot begin, go on, or reach a client."""

from fedbary.sentences import say

SENTENCES = {
    "absent-nodes": say("[[{names:named}|{count:counted node}]] did not come in time", "names count"),
    "all-refused": say("Nobody was valued, as every owner refused: {why}", "why"),
    "all-valued": say("{count:counted client} {count:either was were} valued.", "count"),
    "all-weights-zero": say("All weights of nodes are 0, so there would be nothing to average: give one above 0."),
    "answer-lost": say("the node's answer was lost"),
    "answer-to-another": say(
        "it answers another question, or a model of other cards, than those that are here: have the present one answered"
    ),
    "app-crashed": say("the app crashed on the node: look at the node's log"),
    "app-failed": say("the app failed on the node: look at the node's log"),
    "app-not-loaded": say("the node cannot load the app: check that fedbary is installed there"),
    "app-refused": say("the node refused the app"),
    "array-unreadable": say("an array of the message cannot be read"),
    "asked-by-a-site": say("only the coordinator may ask, and this came from another site"),
    "card-without-name": say("A card has no name: give one to fb.card(name=...), or save it and pass its file."),
    "checkpoint-damaged": say("The checkpoint '{file}' cannot be read ({why}): delete it to start anew."),
    "checkpoint-of-another-run": say(
        "The checkpoint '{file}' belongs to a run with other settings or clients: use the same ones, or another folder."
    ),
    "chosen-nodes-offline": say(
        "chosen nodes are not online: {names:quoted}; training goes on with the others, and with these once they are back"
    ),
    "claims-name": say("claims to be {name!r}", "name"),
    "failure-unreadable": say("the reply says that it failed, but not in a way that this fedbary can read"),
    "file-damaged": say("'{file}' was damaged or cut off on its way: have it sent again."),
    "file-not-finite": say("'{file}' holds numbers in '{name}' that are not finite: have it made again."),
    "file-not-ours": say(
        "'{file}' is not a file of fedbary's: give a question (.fb), an answer (.answer), a card (.card) or a model "
        "(.model)."
    ),
    "file-not-used": say("A file was not used: {why}", "why"),
    "file-other-kind": say("'{file}' holds a {kind}, and a {expected} is needed here: give that file."),
    "file-other-version": say(
        "'{file}' is of version {version}, this fedbary reads version {own}: use the same fedbary on both sides, and "
        "have it made again."
    ),
    "file-suffix": say(
        "A {kind} is a file that ends in {suffix}, not '{file}': name it so, and people know what it is."
    ),
    "file-too-large": say("'{file}' is larger than {megabytes} MB, which no honest message is: have it made again."),
    "files-need-names": say(
        "The {protocol} protocol asks every client several times, so the clients must be named: pass clients=[...].",
        command="The {protocol} protocol asks every client several times: name the clients with --client NAME.",
    ),
    "flower-error": say("Flower reports error {number}", "number"),
    "incomplete": say("the message lacks its scalars or arrays"),
    "model-without-card": say(
        "The model is for a card that was not made here, or long ago: answer where the card was made, or value your "
        "rows by it with `fedbary rows TABLE --model FILE`."
    ),
    "no-answer": say("no answer within {seconds:g} s", "seconds"),
    "no-card": say(
        "Cards are required, and by the {protocol} protocol nothing is held against what clients say of themselves: use <protocol=cards>, or do not require cards."
    ),
    "no-clients": say("There is no client to value: give their data, or an engine that reaches them."),
    "no-file": say("There is no file '{file}': check the path, or ask for it."),
    "no-chosen-node-online": say(
        "None of the chosen nodes is online ({names:quoted}), so nobody would train: start them, or choose others."
    ),
    "no-node-chosen": say("No node was chosen, so nobody would train: name at least one."),
    "no-node-of-client": say(
        "'node_of_client' does not name a node of the chosen client {client!r}: give Flower's node id of every client, or leave it out where nodes are registered by the clients' names."
    ),
    "no-node-of-name": say(
        "No node that is online is registered as {names:quoted}; those online are called {known:quoted}: start it, or say which node is whose with the node_of_client of from_result."
    ),
    "no-weight": say("The chosen clients have no weight by {by!r}: choose by other means, or other clients."),
    "nobody-chosen": say("No client meets the criterion, so nobody would train: lower it."),
    "nobody-came": say(
        "No node was online within {deadline:g} s: start the nodes, and see with `fedbary federation status` who is.",
        "deadline",
    ),
    "nobody-trains": say(
        "No node sent a model: training needs train=true in the node config of at least one, which is for its owner to say."
    ),
    "node-lost-its-state": say(
        "the node has given {given} answers in this run, not {expected}: it lost its state", "given expected"
    ),
    "node-unreachable": say("the node cannot be reached"),
    "not-a-number": say("the '{key}' of the message is not a whole number", "key"),
    "not-a-scalar": say("the scalar '{name}' of the message is neither a number nor a text", "name"),
    "not-a-text": say("the '{key}' of the message is not a text of at most {longest} characters", "key longest"),
    "not-ours": say("the message is not one of fedbary's"),
    "notes-unreadable": say("the notes of the reply cannot be read"),
    "one-node-twice": say("Two of the chosen clients have the same node: give each its own."),
    "only-in-one-process": say(
        "{setting} of the {protocol} protocol works in one process only, as it tells parties of measures or names that are not theirs: leave it out, or use fb.LocalEngine where one owner holds all the data."
    ),
    "only-weightless-nodes": say(
        "In round {round} only nodes of weight 0 replied, so there is nothing to average: give them a weight, or ask other nodes with SelectedNodes."
    ),
    "other-version": say("the message has version {version}, this fedbary speaks {own}: update it", "version own"),
    "late-nodes": say(
        "[[{names:named}|{count:counted node}]] {count:either was were} not there when the run began: run it again to "
        "value {count:either it them}",
        "names count",
    ),
    "left-out-nodes": say(
        "[[{names:named}|{count:counted node}]] {count:either was were} online but not asked (num-nodes, nodes)",
        "names count",
    ),
    "message-late": say("the message did not reach the node in time"),
    "outcome-unreadable": say("'{file}' cannot be read as the outcome of a run: start the run again."),
    "reply-not-asked": say("the reply is to '{kind}', round {round}, which was not asked now", "kind round"),
    "reply-of-another-node": say("the reply does not repeat what only this node was told"),
    "reply-of-another-run": say("the reply belongs to another run"),
    "resume-without-folder": say("<resume> needs the folder of the interrupted run: pass folder=... too."),
    "rows-are-at-the-nodes": say("Over this engine the rows stay at the nodes: leave out the clients' data."),
    "same-file": say("sent the same file as {names:listed}", "names"),
    "site-config-unreadable": say(
        "the site's own config[[ '{file}']] cannot be read[[ ({why})]]: its owner should correct it"
    ),
    "site-config-unknown-key": say(
        "the site's own config[[ '{file}']] has a key[[ '{key}']] that is none of fedbary's[[{guess}]]: its owner should correct it"
    ),
    "site-without-config": say(
        "the site has no config of its owner's: a file fedbary.toml belongs into its folder local[[, as '{file}']]"
    ),
    "some-failed": say("{failed} of {count:counted client} could not be valued: {names:named}", "failed count names"),
    "several-nodes-of-name": say(
        "The nodes {nodes:listed} are all registered as {name!r}: give the id of the one that is meant."
    ),
    "strategy-ignores-weights": say(
        "{strategy} {why}, so weights would be ignored or break it: use SelectedNodes({strategy}(...), result), which needs none, or weighted(FedAvg(...), result)."
    ),
    "strategy-waits-for-ever": say(
        "The strategy waits for {name} = {least} nodes, but {chosen} {chosen:either is are} chosen, so it would wait for ever: give it {name}={chosen} or fewer."
    ),
    "strategy-without-weights": say(
        "{strategy} has no 'weighted_by_key', so it does not average by a weight: use FedAvg or a strategy derived from it."
    ),
    "study-of-another-run": say(
        "The folder '{folder}' holds questions of another study, or of other settings: use the same ones, or another "
        "folder."
    ),
    "too-few-nodes": say(
        "{came} of {wanted} nodes came within {deadline:g} s[[; {absent:named} did not]]: start the others[[, or go on "
        "with those that came (min-nodes={fewer})]].",
        "came wanted deadline absent fewer",
    ),
    "too-large": say("the message is larger than {megabytes} MB or has too many arrays", "megabytes"),
    "training-needs-reference": say(
        "Training needs a reference with classes at the server, on which models are compared: give reference=..., or leave out train-rounds."
    ),
    "two-answers": say("there are two different answers of this client, {files:listed}: keep the one that counts."),
    "two-cards": say("there are two different cards of this client, {files:listed}: keep the one that counts."),
    "unknown-run-config": say("The run config's '{key}' is not an option of {owner}: leave it out."),
    "waiting": say(
        "[[No answer of {names:listed} yet|Nobody has answered yet]]: send out the questions in '{folder}', put the "
        "answers beside, and run the same again.[[ {unused}]]",
        "names",
    ),
}
