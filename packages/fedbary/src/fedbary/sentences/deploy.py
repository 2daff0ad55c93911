"""Federations that cannot be set up, or whose folder cannot be read."""

from fedbary.sentences import say

SENTENCES = {
    "app-damaged": say("'{file}' is no Flower app's ({why}): correct it, or give another folder with --app."),
    "days": say("The certificates cannot be valid for {days} days: choose 1 to 3650."),
    "flare-cannot-revoke": say(
        "FLARE cannot revoke one site's certificate, so a lost key needs new ones for all: give --server and no name."
    ),
    "flare-folder": say(
        "FLARE cannot start jobs in '{folder}': choose a folder whose path has neither blanks nor quotes nor wildcards."
    ),
    "flare-has-no-apps": say("'{folder}' would be a Flower app, and this federation runs on FLARE: leave out --app."),
    "flare-host": say("FLARE's server needs a name or an IPv4 address, not {host!r}: give one with --host."),
    "flare-node-name": say("{name!r} is what FLARE calls the server: choose another name of the node."),
    "folder-taken": say("'{folder}' {what}: choose another folder, so that no key is overwritten."),
    "key-not-noted": say(
        "Nothing was changed: the server knows {numbers}, and no note here says whose; the old key of {names} may be one. "
        "For each that nobody needs type FLWR_HOME={home} flwr supernode unregister NUMBER fedbary, then try again."
    ),
    "no-app": say("'{folder}' holds no Flower app: give the folder of one with --app."),
    "no-authority-key": say("'{file}' is not there, and only it can sign a certificate: bring it back for a moment."),
    "no-engine": say("There is no engine {name!r}{guess}: choose {known}."),
    "no-federation": say("'{folder}' holds no federation: make one with 'fedbary federation init'."),
    "no-file": say("{option}: there is no file '{file}'."),
    "no-node": say("There is no node {name!r}{guess}: there are {known}."),
    "no-outcome": say(
        "Run {run} is over, and there is no result of it in '{output}'[[ ({why})]]: type {type}, on the server's machine."
    ),
    "no-nodes": say("No node was named: give --nodes with at least one name."),
    "nobody-registered": say("The server at {address} knows none of the nodes: type {type}"),
    "node-there": say("{name!r} is a node of this federation already: 'rotate-keys' gives it a new key."),
    "node-name": say(
        "{name!r} cannot be a node's name: use 1 to 64 letters, digits, '_' and '-', and no hyphen first."
    ),
    "not-a-host": say("{host!r} is neither a host name nor an IP address: give one with --host."),
    "not-a-port": say("{port} is not a port: ports go from 1 to 65535."),
    "not-a-setting": say("{typed!r} is no setting: write --set key=value."),
    "not-provisioned": say("FLARE could not make the start-up kits: {why}"),
    "not-registered": say("The server did not take {names} ({why}): mend that, then type {script} {names}"),
    "not-submitted": say("The run could not be started: {why}"),
    "not-unregistered": say("The server still takes {name}'s old key ({why}): mend that, then rotate it again."),
    "other-version": say(
        "'{file}' has version {version}, this fedbary reads version 1: use the fedbary that made the federation."
    ),
    "plan-damaged": say("'{file}' is not a federation's ({why}): restore it, or make a new federation."),
    "ports-overlap": say("The nodes' ports {first} to {last} include the server's, {port}: choose others."),
    "same-node-name": say("Two nodes have the same name: names must differ in more than their case."),
    "server-name": say("{entry!r} is not a server's name: write DNS:name or IP:address."),
    "server-away": say("The server at {address}: {problem}. Type {type}"),
    "server-needed": say(
        "The server at {address}: {problem}. Nothing was changed: start it with {script}, and try again."
    ),
    "setting-value": say("--set {key}={value} cannot be: {key} is {kind}."),
    "unknown-setting": say("There is no setting {key!r}{guess}: docs/flower.md lists them under 'Settings of a run'."),
}
