"""Tables, files and data sets that cannot be used as they are."""

from fedbary.sentences import say

SENTENCES = {
    "array-kind": say("X is an array[[ of {kind}]]; expected numbers: pass text features in a DataFrame"),
    "array-lengths-differ": say("X has {rows} rows but y has {labels} labels; pass one for each row"),
    "array-names": say("{names} distinct names came for X of shape {shape}; name each column once"),
    "array-shape": say("X has shape {shape}; expected rows × features: for one feature, X.reshape(-1, 1)"),
    "array-without-features": say("X has shape {shape} and so no features; expected at least one"),
    "array-without-rows": say("X has no rows; expected at least one"),
    "arrays-missing": say("the arrays {missing} are missing; expected {keys}"),
    "block-names": say("the columns of a block take the name of another column: {names:quoted}; rename it"),
    "cell-does-not-fit": say(
        "column {column!r} is read as {kind}, but {count:counted cell} cannot be[[, such as {example} in row {row} (counted from 0)]]; correct or empty {count:either it them}",
        "kind",
    ),
    "cells-unread": say(
        "column {column!r} is read as {kind}, and {count:counted cell} that cannot be {count:either counts count} as missing[[, such as {example} in row {row} (counted from 0)]]; correct {count:either it them}"
    ),
    "class-not-listed": say("the table has the class {label!r}, which is not in classes; add it"),
    "clients-too-large": say(
        "{clients} clients of {size} rows cannot be made of a table of {rows} rows; choose a size from 1 to {most}"
    ),
    "column-left-out": say("{column!r} is left out: {why}", "column why"),
    "column-shape": say(
        "column {column!r} is a {dimensions}-D array[[ of {kind}]]; expected {expected}", "dimensions expected"
    ),
    "column-twice": say("the column name {column!r} occurs more than once; rename or drop one of them"),
    "column-without-name": say(
        "column {position} of {columns} has no name; name it, and let the names of all columns be the first line"
    ),
    "dataset-not-loaded": say("the data set {name!r} cannot be loaded ({why}); correct the function that loads it"),
    "dataset-unavailable": say(
        "the data set {name!r} is not in {folders}, and {why}; set FEDBARY_DATA to a folder with {file} (arrays {keys}), or use 'digits', 'breast-cancer' or 'diabetes', which come with scikit-learn"
    ),
    "dates-unclear": say(
        "column {column!r} holds dates[[ such as {example!r}]] in which the day or the month could come first; say which with options=fb.ReadOptions(dates=['NAME=dmy']) or 'NAME=mdy'",
        command="column {column!r} holds dates[[ such as {example!r}]] in which the day or the month could come first; say which with --dates NAME=dmy or NAME=mdy",
    ),
    "decimal-unclear": say(
        "column {column!r} holds numbers[[ such as {example!r}]] whose point or comma could be a decimal point or not; say which with options=fb.ReadOptions(decimal=',') or '.'",
        command="column {column!r} holds numbers[[ such as {example!r}]] whose point or comma could be a decimal point or not; say which with --decimal , or --decimal .",
    ),
    "dirichlet-left-a-client-empty": say(
        "100 Dirichlet draws with alpha={alpha:g} left a client with fewer than {least} of {rows} rows; raise alpha or lower clients ({clients}) or min_rows"
    ),
    "encoded-by-hashing": say("encoded by hashing, as there is nothing but free text: {columns:quoted}"),
    "file-changed": say("the file has changed, or is gone, since it was first read; leave it as it is and start again"),
    "file-empty": say("the file is empty; expected a header and rows"),
    "file-kind": say("the suffix {suffix!r} is not one of {known}; convert the file"),
    "file-too-large": say(
        "the file has {size:,} bytes, more than the limit of {most:,}; sample its rows or split it", "most"
    ),
    "file-unwritable": say("the file cannot be written ({why}); check the folder"),
    "foreign-values": say(
        "column {column!r} holds {kind} values[[ such as {example}]]; expected {expected}: turn it into numbers, or leave it out with <drop>",
        "kind expected",
    ),
    "frame-without-label": say(
        "there is no column {label!r} but {names:quoted}; name the one that holds the labels with label=...",
        command="there is no column {label!r} but {names:quoted}; name the one that holds the labels with --label",
    ),
    "free-text": say(
        "column {column!r} is free text[[ ({different} different texts in {rows} rows)]][[, such as {example!r}]]; to use it, give an encoder: options=fb.ReadOptions(encoder='hashing')",
        command="column {column!r} is free text[[ ({different} different texts in {rows} rows)]][[, such as {example!r}]]; to use it, give an encoder with --encoder hashing",
    ),
    "header-only": say("there are no rows under the {columns} column names; expected at least one"),
    "identifier-repeats": say(
        "{column!r} repeats: if it names persons, one has up to {most} rows, and min_group counts rows; name it as <person>",
        command="{column!r} repeats: if it names persons, one has up to {most} rows, and min_group counts rows; name it with --person",
    ),
    "ids-missing": say("the id column {name!r} is missing in {missing:counted row}; fill it in or leave out the id"),
    "ids-repeat": say(
        "the id column {name!r} repeats an earlier id in {count:counted row}[[, such as {example!r} in row {row} (counted from 0)]]; make the ids unique or leave them out"
    ),
    "ids-shape": say("the ids {name!r} have shape {shape}; expected one id for each row"),
    "label-guessed": say(
        "{column!r} is taken for the label, as the only feature of classes; name another with label=..."
    ),
    "label-is-id": say("column {column!r} cannot be both the label and the {role}; choose another {role}", "role"),
    "labels-kind": say("the label column {name!r} holds [[{kind}|something else]]; expected numbers, booleans or text"),
    "labels-missing": say(
        "the label column {name!r} is missing in {missing} of {rows} rows; fill in labels, or name another column"
    ),
    "labels-shape": say(
        "the labels {name!r} have shape {shape}, but one label for each row is expected; turn one-hot labels into classes with y.argmax(axis=1)"
    ),
    "left-out-all-different": say(
        "{columns:quoted} {columns:either is are} left out, as {columns:either its their} texts are all different and so name rows; to keep {columns:either it them}, say <categories>"
    ),
    "left-out-named-like-ids": say(
        "{columns:quoted} {columns:either is are} left out, as whole numbers of {columns:either that such} {columns:either name names} are identifiers; to keep {columns:either it them}, say <numeric>"
    ),
    "left-out-row-numbers": say(
        "{columns:quoted} {columns:either is are} left out, as {columns:either its their} whole numbers number the rows; to keep {columns:either it them}, say <numeric>"
    ),
    "left-out-unused": say(
        "{columns:quoted} {columns:either is are} left out, as {columns:either it they} cannot be read and nobody else uses {columns:either it them}"
    ),
    "lengths-differ": say(
        "column {column!r} has {rows} rows but there are {labels} labels; pass one label for each row"
    ),
    "marks-of-missing-cells": say("{marks:quoted} in {columns:quoted} {marks:either means mean} a missing cell"),
    "mask-does-not-fit": say("a mask of {mask} rows does not fit a table of {rows} rows"),
    "missing-values": say(
        "column '{column}' has {count} missing {count:either value values} in {rows} rows: fill in the gaps, drop those rows, or ask for <missing=indicate>."
    ),
    "mixed-column": say(
        "column {column!r} mixes [[{kinds}|numbers]] and text[[, such as {example} in row {row} (counted from 0)]]; correct or empty these cells, or read all as categories with options=fb.ReadOptions(categories=...)",
        "kinds",
        command="column {column!r} mixes [[{kinds}|numbers]] and text[[, such as {example} in row {row} (counted from 0)]]; correct or empty these cells, or read all as categories with --categories",
    ),
    "needs-classes": say("{needed_by} needs classes, but the labels are a quantity; bin them or use by_size"),
    "no-database": say("the database cannot be reached ({why}); check the URL, the user and the server"),
    "no-dataset": say("there is no data set {name!r}{guess}; choose one of {known}"),
    "no-driver": say("reading a database needs {package}; install it with {remedy}"),
    "no-features": say("there is no feature column besides {others}; add at least one"),
    "no-file": say("there is no such file; check the path"),
    "no-file-matches": say(
        "no file that holds a table matches {pattern!r}; check it, and name .txt, .json and .zip files by a pattern such as 'sites/*.json'"
    ),
    "no-finite-number": say(
        "column {column!r} has {count} {infinite}{count:either value values}[[ beyond {beyond:g}]]; replace {count:either it them} by a number or leave {count:either it them} empty"
    ),
    "no-folder": say("the folder {folder} does not exist; make it first"),
    "no-query": say(
        "[[the database has the tables {names:quoted}|the database has no table]]; say which rows are meant with <query='SELECT * FROM …'>",
    ),
    "no-rows": say("the table has no rows; expected at least one"),
    "no-such-column": say(
        "there is no {role} column {wanted!r}{guess}; the {columns:counted column} {columns:either is are} {names:quoted}: pass one of them as {role}=...",
        "role",
        command="there is no {role} column {wanted!r}{guess}; the {columns:counted column} {columns:either is are} {names:quoted}: name one of them with --{role}",
    ),
    "no-table": say("there is no table to put together; pass at least one"),
    "not-a-frame": say(
        "got {kind}; expected a frame or a data set of which the column {column!r} says whose each row is, or a mapping of names to data"
    ),
    "not-a-table": say(
        "got {kind}; expected a Table, a pair (X, y), a path, a frame (pandas, polars, pyarrow, DuckDB, …) or a Hugging Face data set with a label column, or a torch data set or loader of pairs",
        "kind",
    ),
    "not-features": say(
        "X of the pair (X, y) is a {kind}; expected an array, a list of rows, texts or images, or a frame", "kind"
    ),
    "not-labels": say("y of the pair (X, y) is a {kind}; expected one label for each row", "kind"),
    "not-npz": say("the file is not an .npz of plain arrays (pickled objects are never loaded); fetch it again"),
    "not-on-openml": say("it has no source on OpenML"),
    "nothing-numeric": say("none of the columns {columns:quoted} is numeric, so there is nothing to add to"),
    "nothing-to-shuffle": say(
        "none of the columns {columns:quoted} is a block of numbers, such as the pixels of an image, so there is nothing to shuffle"
    ),
    "object-array": say("column {column!r} is an object array of {kind} values; expected {expected}", "kind expected"),
    "object-unreadable": say("the {kind} did not hand over its rows ({why}); correct it", "kind"),
    "offline": say("OpenML was not asked because FEDBARY_OFFLINE=1"),
    "one-class": say("{needed_by} needs at least two classes, but all labels are {label!r}"),
    "one-class-to-flip": say("labels are flipped between classes, but there is only {classes:quoted}; add classes="),
    "openml-failed": say("OpenML did not give {name!r} ({why})"),
    "openml-slow": say("OpenML did not answer within {seconds:.0f} s (try again)"),
    "one-row-each": say(
        "with epsilon one row of each of {persons:counted person} is used, {left:counted row} {left:either is are} left out"
    ),
    "option-without-column": say(
        "{name} names a column {wanted!r} that is not there{guess}; the {columns:counted column} {columns:either is are} {names:quoted}",
        "name",
        command="{option} names a column {wanted!r} that is not there{guess}; the {columns:counted column} {columns:either is are} {names:quoted}",
    ),
    "pair-flips-need-classes": say("kind='pair' needs classes, but the labels are a quantity; use kind='uniform'"),
    "persons-shape": say("the persons have shape {shape}; expected one for each row"),
    "points-beside-commas": say(
        "{columns:quoted} {columns:either is are} read with decimal points, though other columns have decimal commas; if 1.234 is more than a thousand, say <decimal=,>"
    ),
    "query-failed": say("the query failed ({why}); correct it"),
    "query-too-large": say(
        "the query's first {rows:,} rows take more than {most:,} bytes; ask for fewer rows or columns", "most"
    ),
    "ragged": say("the rows of X do not have the same length; give every row as many numbers"),
    "read-as-booleans": say("{columns:quoted} {columns:either is are} read as true or false"),
    "read-as-dates": say("{columns:quoted} {columns:either is are} read as dates"),
    "read-as-numbers": say("{columns:quoted} {columns:either is are} read as numbers, which are written as text"),
    "rows-without-label": say(
        "{count:number} of {rows:counted row} {count:either has have} no label[[ in {label!r}]] and {count:either is are} left out; fill it in to use {count:either it them}",
        "count rows",
    ),
    "shares-above-one": say("the shares sum to {total:g}; expected at most 1, or whole numbers of rows"),
    "sizes-do-not-fit": say(
        "clients of {sizes} rows cannot be made of a table of {rows} rows; give every client at least one row and all together no more than there are"
    ),
    "sparse-projected": say("X is sparse with {columns:,} columns: a fixed public projection made {width:,} of them"),
    "split-guessed": say("of the splits ({splits:quoted}), {split!r} was taken; pass one of them to choose it"),
    "stream-too-long": say(
        "the {kind} has more than {most:,} rows and does not say how many; pass the first of them (data.take(n), or a list of itertools.islice) or a data set that is not streamed",
        "kind most",
    ),
    "tables-differ": say(
        "table {position} does not have the columns of table 1: {names:quoted} differ; give all tables the same columns"
    ),
    "too-few-for-case": say(
        "{rows} rows of each of {classes} classes are too few for case {case} with {clients} clients, as one would have none; use more rows or fewer clients"
    ),
    "torch-items": say(
        "item {row} of the {kind} is {found}; expected a pair (features, label), or a dictionary with the label among its keys",
        "kind",
    ),
    "two-files": say(
        "client {client!r} has two files, {first} and {second}; rename one or pass a mapping of client to file",
        command="client {client!r} has two files, {first} and {second}; rename one",
    ),
    "two-roles": say("{column!r} is a feature and also the label or id; drop that column or rename it"),
    "vectors-differ": say(
        "column {column!r} holds vectors of {width} numbers but row {row} (counted from 0) has {found}; make them all of one length, or leave the column out with <drop>"
    ),
    "vectors-not-numbers": say(
        "column {column!r} holds vectors that are not all numbers; convert them, or leave the column out with <drop>"
    ),
    "vectors-shape": say("column {column!r} holds values[[ of shape {shape}]]; expected flat vectors of numbers"),
    "which-split": say(
        "the {kind} has the splits {splits:quoted}, and which of them is meant is not clear; pass one, such as data[{example!r}]",
        "kind",
    ),
}
