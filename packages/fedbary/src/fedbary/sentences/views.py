"""Pictures and reports that cannot be drawn or written."""

from fedbary.sentences import say

SENTENCES = {
    "browser-failed": say("The browser {browser} could not draw the picture ({kind}): save it as .html instead."),
    "browser-missing": say(
        "Saving a picture as an image needs Chromium or Chrome on this machine: install one, or name it in the environment variable BROWSER_PATH, or save the picture as .html."
    ),
    "kaleido-missing": say(
        "Saving a picture as an image needs kaleido: pip install 'fedbary[images]', or save it as .html."
    ),
    "no-block-of-that-shape": say(
        "{shape} are {pixels} pixels, and the table has {fitting} blocks of so many coordinates (its blocks have {widths}): give the shape of one block, or images=None.",
        command="{shape} are {pixels} pixels, and the table has {fitting} blocks of so many coordinates (its blocks have {widths}): give the shape of one block, or --images none.",
    ),
    "not-a-report": say("this file is not a report of fedbary and would be overwritten; choose another name"),
    "other-rows": say(
        "The table has {rows} rows that are not the {valued} rows of '{client}' that were valued: give the same rows in the same order, with their ids (fb.read(file, label, id=...))."
    ),
    "picture-format": say("A picture is saved as .html, .png, .svg or .pdf; '{file}' is none of these."),
    "pictures-need-rows": say("Pictures need the rows: give the client's table (--data FILE), or leave out the shape."),
    "plan-not-in-the-plane": say(
        "A plan is drawn between two clouds in the plane, mass from each point to each. Got {points}, {target} and a plan of shape {plan}: project the points to two coordinates first."
    ),
    "report-unwritable": say("the report cannot be written[[ ({why})]]; check the folder"),
    "rows-changed": say(
        "The rows of '{client}' were changed or put in another order since they were valued: give the table as it was, or value it again."
    ),
}
