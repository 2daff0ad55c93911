"""What was typed, or a file that it names, cannot be used by a command."""

from fedbary.sentences import say

SENTENCES = {
    "all-clients-alone": say(
        "--all-clients writes every client's report from its own file: leave out --client, --data and -o."
    ),
    "allow-needs-yes": say("There is nobody to ask: say --yes to allow it all the same."),
    "config-not-toml": say("'{file}' is not a TOML file ({why}): correct it."),
    "config-unknown-key": say("'{file}' has an unknown key '{key}'[[{guess}: correct it.]][[: the keys are {known}.]]"),
    "config-wrong-value": say("The key '{key}' in '{file}' must be {expected}. Got {got} instead."),
    "export-option": say("--export must be {expected}, not {got!r}{guess}."),
    "file-changed": say(
        "'{file}' is not the file that was valued, or was changed since: name the right file with --data, or value it again."
    ),
    "images-option": say("--images must be auto, none, HxW or HxWx3, such as 28x28, not {got!r}."),
    "files-mixed": say(
        "Give tables, or cards (and answers to their models), or one study of `fedbary ask` and answers to it."
    ),
    "folder-unwritable": say("The folder '{folder}' cannot be made[[ ({why})]]: choose another one for -o."),
    "log-unwritable": say("The log '{file}' cannot be written[[ ({why})]]: name another file."),
    "message-alone": say("--message stands for the server: leave out --reference and --with."),
    "no-client-given": say("No client was given: name CSV or Parquet files, a quoted glob or a folder."),
    "no-client-named": say("'{folder}' has the rows of several clients: say whose with --client NAME."),
    "no-config-file": say("There is no configuration file '{file}': check the path."),
    "no-dataset": say("There is no data set {name!r}{guess}; choose from {known}."),
    "no-ledger": say("There is no ledger '{file}': check the path; it is made with the first answer."),
    "no-model": say("There is no model {name!r}{guess}; choose from {known}."),
    "records-suffix": say("'{file}' must end in .html (a page), .json (a list) or .jsonl (a record on each line)."),
    "no-report-written": say("No report could be written: {why}"),
    "not-an-output-folder": say("'{path}' is a file: name the output folder of a run."),
    "nothing-to-leave-out": say(
        "The rows of '{client}' were not flagged in this run, so there is nothing to leave out[[: add --suspects to act on the suspects, of which there are {suspects}]]."
    ),
    "nothing-to-move": say(
        "This run does not say where the others' values lie, so those of '{client}' cannot be moved."
    ),
    "only-reference-and-test": say(
        "there is no client besides the reference and test rows: give at least one more file"
    ),
    "option-of-another-protocol": say(
        "{typed} is not an option of the {protocol} protocol: leave it out, or choose --protocol {owners}."
    ),
    "other-rows": say(
        "'{file}' does not hold the rows that were valued: name the right file with --data and its column of row ids with --id, or value it again."
    ),
    "policy-exists": say("'{file}' exists: edit it, or name another file."),
    "png-without-folder": say("--png writes a picture: name its folder with --output."),
    "policy-and-unguarded": say("--policy and --unguarded exclude each other: choose one."),
    "preview-needs-reference": say(
        "The {protocol} protocol compares with a reference: give rows that stand for it (--reference), or a message that the coordinator saved (--message)."
    ),
    "quiet-and-verbose": say("--quiet and --verbose exclude each other: choose one."),
    "report-of-whom": say(
        "--data, --label, --id and --images are for an owner's report: say whose with --client NAME."
    ),
    "run-stopped": say("The run in '{folder}' {how}. {remedy}"),
    "schema-options": say("{typed} is for a schema that is fitted on a table: write it into '{file}' instead."),
    "suspects-need-export": say(
        "--suspects says what to write: name a table with --export {expected}. Without it suspects are shown in any case."
    ),
    "source-unknown": say("The result does not know the file of '{client}': name it with --data FILE."),
    "not-a-study": say("'{file}' is not what `fedbary ask` wrote: check the folder, or ask again."),
    "study-exists": say(
        "The folder '{folder}' holds a study already: read its answers with `fedbary value`, or name another folder with -o."
    ),
    "study-has-settings": say("The study '{folder}' has its settings: leave out {options}."),
    "no-row-values": say("The rows of '{table}' cannot be valued by the model: {why}"),
    "no-label": say("No label column was given: name it with --label COL."),
    "no-reference": say("No clean rows to compare with were given: name their file with --reference FILE."),
    "no-test-rows": say("No test rows were given: name their file with --test FILE."),
    "no-test-rows-to-compare": say("No test rows were given: name their file with --reference FILE."),
}
