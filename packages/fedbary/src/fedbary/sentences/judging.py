"""What judging finds out about a client as a whole: that it differs, that it is noisy, or how its labels are wrong."""

from fedbary.sentences import say

SENTENCES = {
    "blur": say(
        "its rows scatter {blur:.1f} times as much as the others'[[, most in {columns:listed}]]: noise, or another way of measuring",
        "blur columns",
    ),
    "class-labels": say(
        "about {share:whole_percent} of its {rows:number} {label!r} are wrong: they look like {meant!r}",
        "label share rows meant",
    ),
    "disputed": say(
        "disputed: its card says that about {card:whole_percent} of its labels are wrong, it says {says:whole_percent}",
        "card says",
    ),
    "label-coding": say(
        "its labels seem to be coded in another order: read {found:named} as {meant:named}", "found meant"
    ),
    "label-means": say("its class means point elsewhere than the others': are its labels coded in another order?"),
    "label-shares": say(
        "its labels say {stated:whole_percent} {label!r}, its measurements look like {looks:whole_percent}",
        "label stated looks",
    ),
    "one-label": say("all its rows have the label {label!r}", "label"),
    "own-label": say("only it has the class {label!r}", "label"),
    "reference-differs": say(
        "nearly all clients, {clients:number} of them, differ from the reference in the same way, by {shift:.1f} σ[[, most in {columns:listed}]]: look at the reference",
        "shift columns clients",
    ),
    "relative": say(
        "without reference rows shares of wrong labels are relative to the cleaner clients: what all have in common cannot be seen"
    ),
    "shift": say(
        "differs: its values lie {shift:.1f} σ from the others'[[, most in {columns:listed}]] (a site effect: harmonise before training)",
        "shift columns",
    ),
    "some-shift": say(
        "{clients:counted client} differ from the others by {least:.1f} to {most:.1f} σ: site effects, harmonise before training",
        "clients least most",
    ),
}
