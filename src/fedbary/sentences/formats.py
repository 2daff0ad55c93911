"""Files that cannot be read as they are, and what was guessed to read one."""

from fedbary.sentences import say

SENTENCES = {
    "encrypted": say("the file is encrypted; save it without a password"),
    "guessed-encoding": say("cells that are not UTF-8 were read as Windows-1252; if they are not, say <encoding>"),
    "guessed-separator": say("cells are separated by {separator}; if that is wrong, say <sep>"),
    "not-encoded": say("the file is not text in the encoding [[{encoding}|that was named]]; say another <encoding>"),
    "not-text": say("the file is not text but [[{kind}|something else]]; name it as what it is, or say its <encoding>"),
    "not-zip": say("the file cannot be read as zip ({why}); pack it again"),
    "row-numbers": say("the first column has no name and was left out; name it to keep it"),
    "too-many-cells": say(
        "the table has {rows:,} rows of {columns:,} columns, more than {most:,} cells; sample its rows or drop columns",
        "most",
    ),
    "zip-members": say("the zip holds {count} files; pack the one that is meant alone"),
}
