"""What each party learned from a run, in plain words and from its settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Learned:
    """What the server, the clients and nobody learned, and what to be careful about."""

    server: tuple[str, ...]
    clients: tuple[str, ...]
    nobody: tuple[str, ...]
    warnings: tuple[str, ...]


def learned(settings: Mapping[str, Any]) -> Learned | None:
    """Say who learned what; None for a protocol this module does not know."""
    protocol = settings.get("protocol")
    if protocol == "interpolation":
        exposed = bool(settings.get("allow_reconstruction")) or settings.get("interpolation") == "exact"
        with_reference = settings.get("reference_rows") is not None
        return Learned(_server(settings, exposed, with_reference), _clients(with_reference), *_limits(exposed))
    known = {"sketch": _sketch, "cards": _cards}
    return known[str(protocol)](settings) if protocol in known else None


def has_other_parties(settings: Mapping[str, Any]) -> bool:
    """Whether anything left the machine of its owner: in one process there is nobody else to learn of it.

    Examples
    --------
    >>> has_other_parties({"protocol": "sketch"}), has_other_parties({"engine": "flower", "networked": True})
    (False, True)
    """
    return bool(settings.get("networked")) or "owner" in settings


_NOBODY = ("Rows, row values and flags: they stayed where the rows are.",)


def _sketch(settings: Mapping[str, Any]) -> Learned:
    private = settings.get("epsilon") is not None
    server = (
        "How many rows each client has.",
        "From each client a few numbers: its distance to the sketch with a lower end, the mean cost of its rows, and, "
        "unless its owner keeps them, the estimated shares of wrong labels and odd features and the share of missing "
        "cells."
        if not private
        else "From each client a few noisy numbers: its distance, the mean cost of its rows, and, unless its owner "
        "keeps them, the shares of wrong labels, odd features and missing cells.",
        ""
        if private
        else "Which classes a client has too few rows of, which of its classes the reference lacks (named from "
        f"{settings.get('min_group')} different rows on), and how many of its columns are ignored.",
        ""
        if private
        else "Unless its owner keeps them, findings: which columns lie beyond anything in the reference, in what share "
        "of the rows and by which power of ten; labels that are written in another way; and the share of different "
        "rows, where many are copies.",
        "How far each client merged the sketch's points, by the error of what it used."
        if settings.get("policy") == "coarsen"
        else "",
    )
    clients = (
        f"A sketch of the reference: {settings.get('sketch_points', 'some')} means of at least "
        f"{settings.get('min_group')} different rows each, with their masses and variances.",
        "The schema, which names all of the reference's classes and categories, the scoring model (means, covariances "
        "and a linear model of the reference's classes), and the model's scores of the calibration rows.",
    )
    return Learned(tuple(fact for fact in server if fact), clients, _NOBODY, (_sketch_warning(settings),))


def _sketch_warning(settings: Mapping[str, Any]) -> str:
    epsilon = settings.get("epsilon")
    if epsilon is not None:
        return (
            f"The numbers of each client are together {epsilon:g}-differentially private, for the replacement of one "
            "row; its row count is public. Every further run with the same rows costs as much again."
        )
    if settings.get("policy") == "coarsen":
        return (
            "The numbers are exact, so they are not differentially private. Each client kept them to sums over at "
            f"least {settings.get('min_group')} different rows (policy = coarsen): a guard, not a proof; epsilon gives "
            "one. Answers to several sketches, or in several runs, could be subtracted from each other."
        )
    if settings.get("networked"):
        return (
            "The numbers are exact, so they are not differentially private. Unless its owner's policy trusts the "
            "server, a node keeps them to sums over different rows (coarsen), and answers one question: a guard, not "
            "a proof; epsilon gives one."
        )
    return (
        "The numbers are exact, so they are not differentially private, and a dishonest server could choose its "
        "sketch to read single rows; policy = coarsen guards against that, and epsilon bounds what can be learned."
    )


def _cards(settings: Mapping[str, Any]) -> Learned:
    private = settings.get("epsilon") is not None
    with_reference = settings.get("reference_rows") is not None
    others = "the others' cards and the reference's" if with_reference else "the others' cards"
    server = [
        "How many rows each client has, its columns and its label's name.",
        "From each client one card in public coordinates, with noise: the count and the sum of the points of every "
        "class, and the sum of their squares and products."
        if private
        else "From each client one card: the levels of its columns, and for every class the count and the sum of its "
        "different rows, in all columns; and the squares and products of the columns, summed over all of them.",
    ]
    if not private and settings.get("numbers", True):
        sure = "" if with_reference else ", and how sure the model may be of its labels and features (two numbers)"
        server.append(f"Unless its owner keeps them, the estimated shares of wrong labels and odd features{sure}.")
    clients = [
        f"A model that is made of {others} together, never of a client's own: class means, and one covariance.",
        "The schema, which names all classes and categories that cards name.",
    ]
    if with_reference:
        clients.append("The model's scores of the reference's rows, with which their own are compared.")
    return Learned(tuple(server), tuple(clients), _NOBODY, (_cards_warning(settings),))


def _cards_warning(settings: Mapping[str, Any]) -> str:
    if (epsilon := settings.get("epsilon")) is not None:
        return (
            f"Each card is ({epsilon:g}, {settings.get('delta', 0.0):g})-differentially private, for the replacement "
            "of one row; its row count is public. A card of another version of the rows costs as much again."
        )
    if settings.get("policy") == "guarded" or settings.get("networked"):
        return (
            "The cards are exact, so they are not differentially private. Unless its owner's policy trusts the server, "
            f"a client leaves out what fewer than {settings.get('min_group')} different rows tell: a guard, not a "
            "proof; epsilon gives one."
        )
    return (
        "The cards are exact and nothing was left out, so the server can read what single rows tell: those of small "
        "classes, and lone levels. policy = guarded leaves that out, and epsilon bounds what can be learned."
    )


def _server(settings: Mapping[str, Any], exposed: bool, with_reference: bool) -> tuple[str, ...]:
    behind = "" if exposed else f", each averaging at least {settings['min_group']} different rows"
    agreed = (
        "Each client's column names, means and variances, and its frequent categories and classes: "
        "without a reference, the common scaling was agreed from these."
    )
    facts = (
        "How many rows each client has, and how many points they allow.",
        "Notes on classes and columns: which classes a client lacks or has beyond the target's, and which columns "
        "it ignores.",
        "" if with_reference else agreed,
        f"From each client up to {settings.get('support')} interpolated points a round{behind}.",
        "From each client one distance a round.",
    )
    return tuple(fact for fact in facts if fact)


def _clients(with_reference: bool) -> tuple[str, ...]:
    target = "reference" if with_reference else "federation"
    return (
        f"The schema: columns, classes and the scaling (means and deviations) of the {target}.",
        "The server's interpolated points η_Q, which lie between the client's own points and the target.",
    )


def _limits(exposed: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    nobody = ("The raw rows of another party: none was sent. Row values were computed where the rows are.",)
    warnings = [
        "The protocol is not differentially private: averages of a few rows, and their change from round to round, "
        "still say something about these rows."
    ]
    if exposed:
        nobody = ("No row was sent as such, but see the warning.",)
        warnings.insert(
            0,
            "This run allowed reconstruction (allow_reconstruction, or interpolation = exact): the server's points may "
            "stand for single rows, and the server can reconstruct rows from them. Use such settings only where one "
            "owner holds all the data.",
        )
    return nobody, tuple(warnings)
