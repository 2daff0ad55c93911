"""Results: what flags promise, what is missing in a result, and what cannot be asked of it."""

from fedbary.sentences import say

SENTENCES = {
    "file-outside": say("The result names a file {file!r} outside its own folder: do not trust this result."),
    "flags-alone": say("no other party's rows are known that flags could be calibrated with"),
    "flags-measured": say(
        "of 100 flagged rows about {rate:hundredths} are fine after all, by measurement on many tables; it is no proof"
    ),
    "flags-none": say("this protocol sends nothing that flags could be calibrated with"),
    "flags-one-class": say("the reference has fewer than two classes that a model could tell apart"),
    "flags-paper-rule": say("the paper's rule has no false-discovery control"),
    "foreign-file": say(
        "'{folder}' holds {file}, which is not from an earlier fedbary result and would be overwritten: choose another folder."
    ),
    "no-client": say("There is no client {name!r} in this result{guess}; it has {names:quoted}."),
    "no-quality": say("No client has a quality in this result: use sketch, or select by k or share."),
    "no-result": say("'{folder}' holds no fedbary result (there is no {file}): check the folder."),
    "no-nodes": say(
        "The result was not made over a network, so its clients have no node ids: use select() for their names."
    ),
    "no-row-values": say("no row values: {why}", "why"),
    "no-scores-file": say("There is no file '{file}' with client scores: check the path."),
    "no-share-to-select": say("No client has a share in this result: select by k."),
    "no-share-to-weigh": say("No client has a share in this result: weigh by='rows'."),
    "no-suspects": say("No share of bad rows was estimated in this run, so that there are no suspects to act on."),
    "nobody-to-weigh": say("Nobody is left to weigh: look at the verdict."),
    "not-a-folder": say("'{path}' is a file: choose a folder to write to."),
    "not-flagged": say("The rows were not flagged in this run: use another protocol."),
    "not-one-criterion": say("select takes one of k, share and quality, or none. Got {given}."),
    "nothing-to-share": say("no client adds anything to the others, so there is nothing to share"),
    "other-version": say(
        "'{file}' has version {version}, this fedbary reads version {own}: open it with the fedbary that wrote it, or compute it again."
    ),
    "part-damaged": say("'{file}' cannot be read ({why}): copy the result's folder again, or run the valuation again."),
    "part-missing": say(
        "The result in '{folder}' lacks its file {file}: copy the whole folder again, or run the valuation again."
    ),
    "result-damaged": say("'{file}' is not a fedbary result ({why}): run the valuation again."),
    "rows-at-their-owner": say("The row values of '{client}' never left its owner's machine: they are in {place}."),
    "scores-damaged": say("'{file}' does not hold client scores ({why}): compute them again."),
    "scores-of-another-version": say("'{file}' does not hold client scores of version {own}: compute them again."),
    "scores-too-large": say("'{file}' is too large to hold client scores."),
    "scoring-model-incoherent": say("The scoring model does not fit together[[ ({why})]]: refuse this server."),
    "scoring-model-not-finite": say("The scoring model holds values that are not finite: refuse this server."),
    "scoring-model-too-large": say("The scoring model is larger than {most} bytes: refuse this server.", "most"),
    "scoring-model-too-large-for-rows": say(
        "The scoring model is too large for {rows:counted row}: refuse this server.", "rows"
    ),
    "scoring-too-few-rows": say(
        "A scoring model needs two classes of at least {least} rows; the smallest has {smallest}.", "least"
    ),
    "held-against-cards": say(
        "{numbers:listed} are what the clients say of themselves; only their shares of wrong labels are held against their cards",
        "numbers",
    ),
    "self-reported": say("{numbers:listed} are what the clients say of themselves, and nobody checked them", "numbers"),
    "values-of-other-rows": say(
        "These values are not of this table's rows, in this order: pass the table that was valued, whole."
    ),
    "without-rows": say("Client '{client}' has no row values[[ ({why})]]."),
}
