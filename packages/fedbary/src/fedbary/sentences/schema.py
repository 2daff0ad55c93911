"""Tables that do not fit a schema, and schemas that cannot be."""

from fedbary.sentences import say

SENTENCES = {
    "beyond-bounds": say(
        "The schema's {what} holds numbers that no table leads to: ask the coordinator for another, or scale the columns.",
        "what",
    ),
    "block-for-categories": say(
        "column '{column}' must be categorical, but it is a block of {width} numbers: check that the right file was given.",
        "column width",
    ),
    "changed": say("The schema was changed after it was made: ask the coordinator for it again."),
    "classes-or-quantity": say(
        "The label column '{label}' has {different} different whole numbers in {rows} rows, which may be classes or a quantity: say <task=classification> or <task=regression>."
    ),
    "column-holds-text": say(
        "column '{column}' must be {kind}, but holds text[[ such as {example} in row {row}]]: correct the cells, or choose the right file.",
        "column kind",
    ),
    "column-beyond": say(
        "{share:whole_percent} of its rows lie beyond anything in the reference in column '{column}'[[; its median is {times:number} times the reference's]]",
        "column share times",
    ),
    "column-lacks": say("{share:whole_percent} of its cells are missing in column '{column}'", "column share"),
    "column-left-out": say(
        "column '{column}' is left out of this run[[, as {lacking:listed} {lacking:either lacks lack} it]][[, as {unusable:listed} {unusable:either has have} no usable value in it]][[, as {otherwise:listed} {otherwise:either has have} it as {own}, the others as {agreed}]]: give it to everybody in the same way, or leave it out with <drop>[[; to read it alike, ask for fb.ReadOptions({name}={value!r})]]",
        "column own agreed name value",
        command="column '{column}' is left out of this run[[, as {lacking:listed} {lacking:either lacks lack} it]][[, as {unusable:listed} {unusable:either has have} no usable value in it]][[, as {otherwise:listed} {otherwise:either has have} it as {own}, the others as {agreed}]]: give it to everybody in the same way, or leave it out with <drop>[[; to read it alike, ask for {option} {value}]]",
    ),
    "column-of-few": say(
        "[[column '{column}'|a column]] is left out of this run, as nobody but [[{only:listed}|few]] has it: give it to everybody, or leave it out with <drop>"
    ),
    "columns-missing": say(
        "the {count:either column columns} {missing:quoted} of the schema {count:either is are} missing[[ (it has {extra:quoted} that the schema does not know)]]: rename or add {count:either it them}.",
        "missing count",
    ),
    "columns-of-another-kind": say(
        "its columns differ from the other clients' ([[another kind or width of {columns:listed}|another order]]): use the same columns",
        "columns",
    ),
    "columns-unlike-the-others": say(
        "its columns differ from the other clients'[[; it lacks {missing:listed}]][[; it has {extra:listed}]]: use the same columns, or leave some out with <drop>",
        "missing",
    ),
    "columns-without-names": say(
        "the columns have no names, but the schema names them ({names:quoted}): pass fb.Table.from_arrays(X, y, columns=[...]) or a DataFrame.",
        "names",
    ),
    "constant-column": say("column '{column}' is constant and left out of this run", "column"),
    "description-length": say("the description of [[column '{column}'|a column]] has the wrong length"),
    "description-too-wide": say("the description of the table has more than {most} coordinates and categories", "most"),
    "description-unreadable": say("the description of the table cannot be read[[ ({why})]]"),
    "file-too-large": say("'{file}' is {size} bytes: too large to be a schema."),
    "full-covariance-too-wide": say(
        "<labels=gaussian-full> keeps a full covariance per row, too much for {width} feature coordinates: use <labels=gaussian>, or <projection> {most} or less.",
        "width most",
    ),
    "ignores-columns": say("ignores {count:counted column}", "count"),
    "impossible": say(
        "The schema names a column twice, or has kinds or scales that do not exist: ask the coordinator for another."
    ),
    "label-holds-fractions": say(
        "the label column '{label}' holds fractions[[ such as {example}]], but this federation has the classes {classes:listed}: choose the right label column.",
        "label classes",
    ),
    "label-holds-text": say(
        "the label column '{label}' holds text[[ such as {example!r}]], but this federation predicts a number: convert the column, or choose the right one.",
        "label",
    ),
    "label-looks-like-text": say(
        "the label column '{label}' has classes whose names are longer than {longest} characters, so it looks like free text: choose the right label column, or shorten them.",
        "longest",
    ),
    "labels-unlike-the-others": say(
        "its label column[[ '{label}']] holds {own}, the other clients have {others}: choose the right label column",
        "own others",
    ),
    "lacks-classes": say(
        "[[has fewer than {least} rows of|lacks]] {count:either class classes} {classes:listed}", "least count classes"
    ),
    "lacks-every-class": say("[[has fewer than {least} rows of|lacks]] every class of the target", "least"),
    "many-copies": say("many rows are copies: only {share:whole_percent} of all rows are different", "share"),
    "missing-values": say(
        "column '{column}' has [[{count} ]]missing [[{count:either value values}|values]][[ in {rows} rows]]: fill in the gaps, drop those rows, or ask for <missing=indicate>.",
        "column",
    ),
    "moments-width": say("The moments have {found} coordinates, the schema has {expected}.", "found expected"),
    "no-class-with-enough-rows": say(
        "There are not min_group = {least} different rows of one class: add rows, or lower <min_group> if the owner agrees.",
        "least",
    ),
    "no-clip": say(
        "The schema has no clip norm, which a card with epsilon needs: make one from public rows with 'fedbary schema make'."
    ),
    "no-file": say("There is no schema file '{file}': check the path, or ask the coordinator for it."),
    "no-known-label": say(
        "the label column '{label}' holds [[{found:listed}|none of the classes]], but the classes are {classes:listed}[[ (did you mean {meant:listed}?)]]: use the names of the classes.",
        "label found classes meant",
    ),
    "no-usable-column": say(
        "None of the columns {names:quoted} has values that can be compared: give numbers or categories that all parties have.",
        "names",
    ),
    "nobody-described": say("No client could describe its table, so there is nothing to agree on."),
    "nobody-sent-moments": say("No party sent the moments that the metric needs."),
    "not-a-schema": say("This is not a fedbary schema[[ ({why})]]: ask the coordinator for it again."),
    "numeric-labels-of-classes": say(
        "<labels=numeric> needs a number, but '{label}' holds classes: use <labels=onehot>, <labels=gaussian> or <task=regression>."
    ),
    "other-categories": say(
        "column '{column}' must hold categories such as {known:quoted}, but holds other numbers: use the federation's categories.",
        "column known",
    ),
    "other-coding": say(
        "has labels {found:listed} (did you mean {meant:listed}?): use the names of the target's classes",
        "found meant",
    ),
    "other-fingerprint": say(
        "This schema has fingerprint {own}, the federation uses {expected}: both sides must hold the same schema file.",
        "own expected",
    ),
    "other-version": say(
        "The schema has version {version}, this fedbary reads version {own}: install the same fedbary on every machine of the federation.",
        "version own",
    ),
    "pooled-levels": say(
        "{count:counted rare level} of column '{column}' {count:either counts count} as any other level", "column count"
    ),
    "read-otherwise": say(
        "column '{column}' is read as {own}, by [[{others:counted other client}|{whom}]] as {agreed}[[ (and {more:counted column} more)]][[: ask for fb.ReadOptions({name}={value!r})|: use the same columns]].",
        "column own agreed others whom name value more",
        command="column '{column}' is read as {own}, by [[{others:counted other client}|{whom}]] as {agreed}[[ (and {more:counted column} more)]][[: ask for {option} {value}|: use the same columns]].",
    ),
    "text-to-regress": say(
        "The label column '{label}' holds text[[ such as {example!r}]], but <task=regression> needs numbers: choose another label column, or <task=classification>."
    ),
    "too-few-in-a-group": say(
        "there are not min_group = {least} {what}, and smaller groups are kept secret: add rows, or lower <min_group> if the owner agrees.",
        "least what",
    ),
    "too-few-rows": say(
        "[[{rows:counted row} {rows:either is are}|the rows are]] fewer than min_group = {least}: add rows, or lower <min_group> if the owner agrees.",
        "least",
    ),
    "too-many-sums": say(
        "The schema has {sums:number} sums of classes and coordinates, and a card with epsilon holds at most {most:number}: make one with fewer <coordinates> or classes.",
        "sums most",
    ),
    "too-wide-for-cards": say(
        "The schema has {width} coordinates, and a card with epsilon holds the products of at most {most}: make one with fewer <coordinates>.",
        "width most",
    ),
    "too-wide-for-rows": say(
        "the schema's categories and label would make more than {most} numbers of these rows", "most"
    ),
    "unknown-classes": say("has {count:either class classes} unknown to the target: {classes:listed}", "count classes"),
    "width": say(
        "column '{column}' has {width} coordinates, the schema has {expected}: use the same embedding or image size as the other parties.",
        "column width expected",
    ),
    "written-lacks": say("{place} lacks {key}: {remedy}."),
    "written-not-toml": say("A schema written by hand is a TOML file, and this is none ({why}): correct it."),
    "two-spellings": say(
        "column '{column}' has '{first}' and '{second}', which are one category in two spellings: keep one of them.",
        "column first second",
    ),
    "written-unknown-key": say("'{key}' is no key of {place}{guess}: the keys are {known}."),
    "written-value": say("'{key}' of {place} must be {expected}. Got {got} instead."),
}
