"""Files that cannot be read as they are, and what was guessed to read one."""

from fedbary.sentences import say

SENTENCES = {
    "damaged": say("the file cannot be read as {kind} ({why}); correct it or write it again", "kind"),
    "delta-table": say(
        "the folder is a Delta table, of which not every file counts; write its rows to one Parquet file"
    ),
    "encrypted": say("the file is encrypted; save it without a password"),
    "guessed-encoding": say("cells that are not UTF-8 were read as Windows-1252; if they are not, say <encoding>"),
    "guessed-separator": say("cells are separated by {separator}; if that is wrong, say <sep>"),
    "guessed-sheet": say("the sheet {sheet!r} was read, the first of {count}; for another, say <sheet>"),
    "no-client-column": say(
        "there is no column {column!r}{guess} that could say whose each row is; the columns are {names:quoted}: name one of them with <client_column>"
    ),
    "no-openpyxl": say("Excel files need openpyxl: pip install 'fedbary[excel]', or save the sheet as CSV"),
    "no-owner": say("column {column!r} names nobody; choose another <client_column>"),
    "no-sheet": say("there is no sheet {sheet!r}{guess}; the sheets are {names:quoted}: name one with <sheet>"),
    "no-table-in-folder": say(
        "the folder holds no Parquet files, and no folders of images for each class; name a file, or such a folder"
    ),
    "not-encoded": say("the file is not text in the encoding [[{encoding}|that was named]]; say another <encoding>"),
    "not-text": say("the file is not text but [[{kind}|something else]]; name it as what it is, or say its <encoding>"),
    "other-spreadsheet": say("files of {suffix} are not read; save the sheet as .xlsx or as CSV"),
    "row-numbers": say("the first column has no name and was left out; name it to keep it"),
    "rows-of-nobody": say(
        "{count:counted row} {count:either is are} nobody's, as column {column!r} is empty there, and {count:either was were} left out"
    ),
    "two-owners": say("the rows of client {client!r} are in {first} and in {second}; put them in one file"),
    "too-many-cells": say(
        "the table has {rows:,} rows of {columns:,} columns, more than {most:,} cells; sample its rows or drop columns",
        "most",
    ),
    "too-many-parts": say("the folder holds more than {most:,} Parquet files; write its rows to fewer", "most"),
    "too-many-rows": say("the table has {rows:,} rows, more than {most:,}; sample them or split the file", "most"),
    "zip-members": say("the zip holds {count} files; pack the one that is meant alone"),
}
