"""Results: what flags promise, what is missing in a result, and what cannot be asked of it."""

from fedbary.sentences import say

SENTENCES = {
    "file-outside": say("The result names a file {file!r} outside its own folder: do not trust this result."),
    "flags-measured": say(
        "calibrated out of fold at a rate of {rate:g}, which is not proved (docs/flags.md has the measured rates)"
    ),
    "flags-no-clean-rows": say("without clean rows values rank rows and nothing is flagged"),
    "flags-no-other-clients": say("there are no scores of other clients to compare with"),
    "flags-none": say("this protocol sends nothing that flags could be calibrated with"),
    "flags-one-class": say("the reference has fewer than two classes that a model could tell apart"),
    "flags-paper-rule": say("the paper's rule has no false-discovery control"),
    "flags-proved": say(
        "false-discovery rate at most {rate:g} on average, if clean rows are exchangeable within classes[[, and {assumed}]]"
    ),
    "foreign-file": say(
        "'{folder}' holds {file}, which is not from an earlier fedbary result and would be overwritten: choose another folder."
    ),
    "no-client": say("There is no client {name!r} in this result{guess}; it has {names:quoted}."),
    "no-result": say("'{folder}' holds no fedbary result (there is no {file}): check the folder."),
    "no-row-values": say("no row values: {why}", "why"),
    "not-a-folder": say("'{path}' is a file: choose a folder to write to."),
    "other-version": say(
        "'{file}' has version {version}, this fedbary reads version {own}: open it with the fedbary that wrote it."
    ),
    "result-damaged": say("'{file}' is not a fedbary result ({why}): run the valuation again."),
    "rows-at-their-owner": say("The row values of '{client}' never left its owner's machine: they are in {place}."),
    "scoring-model-incoherent": say("The scoring model does not fit together[[ ({why})]]: refuse this server."),
    "scoring-model-not-finite": say("The scoring model holds values that are not finite: refuse this server."),
    "scoring-model-too-large": say("The scoring model is larger than {most} bytes: refuse this server.", "most"),
    "scoring-too-few-rows": say(
        "A scoring model needs two classes of at least {least} rows; the smallest has {smallest}.", "least"
    ),
    "without-rows": say("Client '{client}' has no row values ({why})."),
}
