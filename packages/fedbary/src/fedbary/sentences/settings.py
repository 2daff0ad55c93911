"""Settings that make no sense."""

from fedbary.sentences import say

SENTENCES = {
    "no-accountant": say("ε with a δ needs dp-accounting: pip install 'fedbary[privacy]'."),
    "parameter": say(
        "The '{name}' parameter of {owner} must be {expected}. Got {got} instead.",
        "name owner expected",
        command="{option} must be {expected}. Got {got} instead.",
    ),
    "cuda-without-torch": say(
        "A GPU is used through PyTorch, which is not installed: pip install 'fedbary[torch]', or choose <device=auto>."
    ),
    "cuda-without-gpu": say(
        "PyTorch {version} finds no GPU that it can use: install NVIDIA's driver and a build of PyTorch for CUDA, or choose <device=auto>."
    ),
    "no-protocol": say("There is no protocol {name!r}{guess}; choose from {known}."),
    "protocol-in-one-process": say(
        "The protocol {name!r} works in one process only, as no owner's policy knows it: use fb.LocalEngine where one owner holds all the data, or choose from {known}.",
        command="The protocol {name!r} works in one process only (fedbary value FILES): choose from {known}.",
    ),
    "one-client": say(
        "One client alone has nobody to be compared with: give a reference, more clients, or the column that says whose row it is with <client_column>."
    ),
    "no-client": say("There is no client to value: give at least one."),
    "package-missing": say(
        "{wanted} needs the package {package}, which is not installed: pip install 'fedbary[{extra}]'"
    ),
    "name-taken": say("{name!r} is a name of this package and stays what it is: choose another one."),
    "plug-in-broken": say(
        "The plug-in {name!r} of {package} cannot be used ({why}): correct or uninstall it; everything else works."
    ),
    "plug-in-twice": say("{packages} both offer {name!r} in the group {group}: uninstall one of them."),
    "not-unicode": say("The client name {name} is not valid Unicode: rename the client."),
    "column-in-both": say("Column {column!r} is both in <{first}> and in <{second}>: leave it out of one of them."),
    "no-read-option": say("There is no option {name!r} of reading{guess}; choose from {known}."),
    "same-name": say("Two clients have the same name once written as text: rename one of them."),
}
