"""When something went wrong that nobody foresaw, or that another version knows."""

from fedbary.sentences import say

SENTENCES = {
    "error": say("internal error ({kind}[[: {text}]])", "kind"),
    "unknown-code": say("for a reason that this version of fedbary does not know"),
}
