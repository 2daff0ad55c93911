"""Tables that do not fit a schema, and schemas that cannot be."""

from fedbary.sentences import say

SENTENCES = {
    "column-holds-text": say(
        "column '{column}' must be {kind}, but holds text[[ such as {example} (row {row})]]: correct or remove it.",
        "column kind",
    ),
    "label-holds-fractions": say(
        "the label column '{label}' holds fractions[[ such as {example}]], but this federation has the classes "
        "{classes:listed}: choose the right label column.",
        "label classes",
    ),
    "label-holds-text": say(
        "the label column '{label}' holds text[[ such as {example!r}]], but this federation predicts a number: convert "
        "the column, or choose the right one.",
        "label",
    ),
    "text-to-regress": say(
        "The label column '{label}' holds text[[ such as {example!r}]], but <task=regression> needs numbers: choose "
        "another label column, or <task=classification>.",
    ),
    "constant-column": say("column '{column}' is constant in the target, so it is centred but not scaled", "column"),
    "ignores-columns": say("ignores {count:counted column}", "count"),
    "lacks-classes": say(
        "[[has fewer than {least} rows of|lacks]] {count:either class classes} {classes:listed}", "least count classes"
    ),
    "lacks-every-class": say("[[has fewer than {least} rows of|lacks]] every class of the target", "least"),
    "unknown-classes": say(
        "has {count:either class classes} unknown to the target[[: {named:listed}]][[, {unnamed} of them with fewer than {least} rows]]",
        "count named unnamed least",
    ),
    "labels-unlike-the-others": say(
        "its label column '{label}' holds {own}, the other clients have {others}: choose the right label column",
        "label own others",
    ),
    "columns-unlike-the-others": say(
        "its columns differ from the other clients'[[; it lacks {missing:listed}]][[; it has {extra:listed}]]: use the same columns",
        "missing extra",
    ),
    "columns-of-another-kind": say(
        "its columns differ from the other clients' ([[another kind or width of {columns:listed}|another order]]): use the same columns",
        "columns",
    ),
}
