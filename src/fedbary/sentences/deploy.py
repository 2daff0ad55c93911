"""Federations that cannot be set up, or whose folder cannot be read."""

from fedbary.sentences import say

SENTENCES = {
    "days": say("The certificates cannot be valid for {days} days: choose 1 to 3650."),
    "flower-missing": say("A federation runs on Flower: install it with pip install 'fedbary[flower]'"),
    "folder-taken": say("'{folder}' {what}: choose another folder, so that no key is overwritten."),
    "no-federation": say("'{folder}' holds no federation: make one with 'fedbary federation init'."),
    "no-nodes": say("No node was named: give --nodes with at least one name."),
    "node-name": say(
        "{name!r} cannot be a node's name: use 1 to 64 letters, digits, '_' and '-', and no hyphen first."
    ),
    "not-a-host": say("{host!r} is neither a host name nor an IP address: give one with --host."),
    "not-a-port": say("{port} is not a port: ports go from 1 to 65535."),
    "other-version": say(
        "'{file}' has version {version}, this fedbary reads version 1: use the fedbary that made the federation."
    ),
    "plan-damaged": say("'{file}' is not a federation's ({why}): restore it, or make a new federation."),
    "ports-overlap": say("The nodes' ports {first} to {last} include the server's, {port}: choose others."),
    "same-node-name": say("Two nodes have the same name: names must differ in more than their case."),
    "server-name": say("{entry!r} is not a server's name: write DNS:name or IP:address."),
}
