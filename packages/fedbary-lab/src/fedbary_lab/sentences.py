"""Trainings, baselines, comparisons and experiments that cannot be computed, and what they leave out."""

from fedbary.sentences import say

SENTENCES = {
    "all-rows-are-points": say(
        "point_per_row=True lets the server read every row: leave it out, or say allow_reconstruction=True if one owner holds all the data."
    ),
    "array-not-numbers": say("the array '{array}' holds {dtype}, but must hold numbers.", "array dtype"),
    "barycenter-weights": say("The barycenter needs {measures} non-negative weights that sum to one."),
    "class-code-too-large": say(
        "The rows hold the class code {code}, but there are {classes} classes: pass classes=len(federation.classes).",
        "classes",
    ),
    "classes-not-different": say("The classes are {classes}, but must be at least two different names."),
    "cleanlab-missing": say("cleanlab is not installed: pip install 'fedbary-lab[compare]'"),
    "coalitions-shape": say(
        "The coalitions have shape {shape} and type {dtype}, but must be True or False for each coalition and client, (coalitions, {clients}).",
        "shape dtype clients",
    ),
    "clients-failed": say("{method} could not value all clients: {why}"),
    "code-of-no-class": say(
        "the code {code} stands for no class, as there are {classes}: number the classes 0, 1, …, or name them all.",
        "classes",
    ),
    "codes-shape": say(
        "The codes have shape {shape} and type {dtype}, but must be one whole number for each of the {rows} rows: number the classes 0, 1, …"
    ),
    "data-too-small": say("The data set has {rows} rows, and this takes at least {least}: bring more of them."),
    "entropic-unfinished": say(
        "Entropic transport of {sources} × {targets} points stopped with marginals that are {error:.1g} off: raise epsilon = {epsilon:g} (costs range over {span:.3g}), or use the exact solver."
    ),
    "error-too-large": say(
        "After all {samples} samples the largest standard error is {error:.3g}, not {wanted:.3g}.",
        "samples error wanted",
    ),
    "every-row-flagged": say("each of its {rows} rows is flagged"),
    "extension-failed": say("'{file}' cannot be run ([[line {line}: ]]{why}): correct it."),
    "extension-unreadable": say("'{file}' cannot be read ({why}): name a Python file."),
    "features-and-labels-differ": say(
        "features of shape {features} do not fit labels of shape {labels}: pass (rows, coordinates) and one label for each row."
    ),
    "features-not-finite": say("The features hold values that are not finite: fill or drop those rows."),
    "features-shape": say(
        "The features have shape {shape} and type {dtype}, but must be a table of numbers, (rows, coordinates), with at least one of each: flatten images and encode text."
    ),
    "fedce-of-one-client": say("FedCE compares a client with the others: it needs at least two clients."),
    "fewer-samples": say("The values are from {drawn} of {samples} samples.", "drawn samples"),
    "fewer-than-two-classes": say("{judge} has fewer than two classes: add rows of another one.", "judge"),
    "flags-need-a-reference": say(
        "Flags need a reference, clean rows that the clients are compared with: give one. Without it fb.value ranks rows, but flags none."
    ),
    "flags-no-rows": say("this valuation flags none of its rows"),
    "folder-holds-rounds": say("'{folder}' already holds the rounds of a run: choose an empty folder."),
    "foreign-file": say(
        "'{folder}' holds {file}, which is not from an earlier {kind} and would be overwritten: choose another folder.",
        "kind",
    ),
    "gradient-needs-all-rows": say(
        "gradient='{gradient}' needs as many support points as different rows, but the client has {rows} rows and {points} points: set support to the number of rows",
        "gradient points",
    ),
    "gradient-shows-rows": say(
        "gradient='{gradient}' needs as many support points as rows, which lets the server read every row: use 'eta', or say allow_reconstruction=True if one owner holds all the data.",
        "gradient",
    ),
    "gradient-without-reference": say(
        "gradient='{gradient}' needs a reference: give one, or use gradient='eta'.",
        "gradient",
    ),
    "head-outside": say(
        "The last layer {head} does not lie inside a vector of {size} weights: correct it.", "head size"
    ),
    "image-shape": say("The rows have {width} numbers, but CNN(shape={shape}) needs {needed}: correct the shape."),
    "images-too-small": say(
        "Images of {height} × {width} pixels are too small to be halved {times} times: give CNN fewer channels, or use Logistic() or MLP()."
    ),
    "initial-model-without-floats": say("the initial model has no floating-point numbers."),
    "initial-weights-shape": say(
        "The initial weights have shape {shape}, but must be one vector: flatten and join all weights.", "shape"
    ),
    "layout-not-known-yet": say("The layout of the model is known from the first round on: start the training."),
    "log-counts": say(
        "The counts are {counts}, but must be the number of rows, at least 1, for each of the {clients} clients.",
        "clients",
    ),
    "log-loss-not-finite": say("The classifier's log-loss is not finite: check the features for extreme values."),
    "log-names": say("The names of the clients are {names}, but must be different texts, at least one."),
    "log-not-finite": say("Weights of the log are not finite: the training diverged; lower its learning rate."),
    "log-of-another-model": say(
        "The training log's models have {logged} weights, the chosen model {chosen}: name the model that was trained.",
        "logged chosen",
    ),
    "log-of-other-clients": say(
        "The training log is of the clients {logged}, not of {given}: give the log of these clients, in this order."
    ),
    "log-of-other-rows": say(
        "The training log counts {logged} rows, the clients have {given}: give the log of a training on these rows."
    ),
    "log-without-head": say(
        "ShapFed needs to know where the last layer lies in the weight vectors: give the TrainingLog its 'head'."
    ),
    "log-without-rounds": say("The log has no rounds: add at least one."),
    "mask-of-no-client": say("The 'wrong' parameter of compare_rows names '{name}', which is no client."),
    "mask-shape": say(
        "The 'wrong' parameter of compare_rows must have one boolean for each of the {rows} rows of '{client}'. Got {dtype} of shape {shape} instead."
    ),
    "method-lacks-argument": say(
        "{method} needs '{argument}' in its Setting: give it, or choose another method.", "method argument"
    ),
    "method-needs-classes": say("This method needs classes, but '{label}' is a number: choose another label."),
    "model-array-shape": say(
        "its array '{array}' has shape {shape} and type {dtype}, but must be as in the initial model, {wanted_shape} and {wanted_dtype}.",
        "array shape dtype wanted_shape wanted_dtype",
    ),
    "model-changes-buffer": say(
        "The model changes its buffer '{buffer}' while it is trained, as batch normalisation does, but averaging is defined for weights only: use a layer without running statistics, such as GroupNorm.",
        "buffer",
    ),
    "model-function": say("The model function gave {got}, but must give a torch.nn.Module."),
    "model-gives-other-scores": say(
        "The model gives {got} for {rows} rows, but must give one score per row and class, ({rows}, {classes}): end it with a linear layer of {classes} units."
    ),
    "model-has-other-arrays": say("its arrays differ from those of the initial model in {arrays:quoted}.", "arrays"),
    "model-not-finite": say("its weights are not finite: the training diverged."),
    "model-takes-other-rows": say(
        "The model cannot take rows of {width} numbers ({why}): start it with a layer of that width, or let it reshape its input.",
        "width",
    ),
    "model-without-weights": say("The model has no trainable weights: set requires_grad on those to be trained."),
    "models-shape": say(
        "The models of a round have shape {shape}, but must be one vector of weights for each of the {clients} selected clients, ({clients}, P).",
        "shape clients",
    ),
    "names-and-clients-differ": say(
        "There are {names} names for {clients} clients: pass one for each, at least one.", "names clients"
    ),
    "negative-code": say("The codes hold {code}, but must be 0, 1, …: leave rows without a class out."),
    "no-client-to-compare": say("There is no client to compare: give at least one."),
    "no-client-to-train": say("{why}"),
    "no-common-class": say(
        "{judge} has none of its classes ({classes:listed}), so no row is left: check its labels, or leave the client out.",
        "judge",
    ),
    "no-flags-to-act-on": say(
        "This valuation flags no rows: use the sketch protocol, or a valuation with rule='sign', and a reference."
    ),
    "no-labels-suggested": say(
        "This valuation suggests no labels, so that no row can be relabelled: use the sketch protocol, or leave 'relabel' out."
    ),
    "no-measure": say("A barycenter needs at least one measure."),
    "no-method-given": say("No method was given: name at least one."),
    "no-model": say("There is no model under {how!r}: {why}"),
    "no-options": say("The method {method!r} has no options: leave out '@{given}'."),
    "no-round-of-everybody": say(
        "ComFedSV completes what some rounds know, but no round selected all clients: train one round with everybody, or use FedShapley."
    ),
    "no-saved-result": say("'{folder}' holds no {kind} (there is no {file}): check the folder.", "kind"),
    "no-square-image": say(
        "A row of {width} numbers is not a square image in grey or in three colours: say CNN(shape=(height, width, colours)), or use Logistic() or MLP()."
    ),
    "no-such-cell": say(
        "No cell of the experiment {name!r} has {only!r} in its name: leave out --only for all of them, or look at the names in its log."
    ),
    "no-such-experiment": say("There is no experiment {name!r}{guess}; choose from {known}."),
    "no-such-method": say("There is no method {name!r}{of}{guess}; choose from {known}."),
    "no-such-option": say(
        "The method {method!r} has no option {option!r}{guess}; it takes {known}: write it as {method}@NAME=NUMBER."
    ),
    "no-such-way": say("There is no way {name!r} to act on flags{guess}; choose from {known}."),
    "no-training-log": say("There is no training log '{file}': check the path."),
    "nothing-to-choose": say("The experiment {name!r} has no {what} to choose from: leave out {given}.", "name what"),
    "no-way-given": say("No way to act on flags was given: name at least one of {known}.", "known"),
    "node-replied-twice": say("a node replied twice."),
    "not-a-training-log": say("'{file}' is not a training log ({why}): write it with TrainingLog.save."),
    "not-recorded": say("The run could not be recorded: round {round}: {why}"),
    "nothing-recorded": say("Nothing was recorded: run start of this object, not of the strategy inside."),
    "one-name-twice": say("The 'names' parameter gives two nodes the same name: names must differ."),
    "only-row": say("Leaving the only row out leaves nothing to learn from: add rows."),
    "other-width": say(
        "the rows have {width} coordinates, those of the test set {wanted}: use the same features everywhere.", "wanted"
    ),
    "own-in-all": say("Data sets and methods of your own go into one experiment at a time: name it instead of 'all'."),
    "own-method-failed": say("The method {name!r} failed ({why}): correct the function that computes it."),
    "own-values-shape": say(
        "The method {name!r} gave values of shape {got}, but must give one for each of the {count} {of}s, ({count},).",
        "of count",
    ),
    "protocol-without-rows": say("{name} values no rows"),
    "pydvl-missing": say(
        "This method needs pyDVL 0.10, which is {found}: run `make install`, or pip install 'fedbary-lab[compare]' and then pip install --no-deps pyDVL==0.10.0 (it declares numpy<2, so that without --no-deps pip silently takes an older release that has another interface)."
    ),
    "recorded-round-unreadable": say("The recorded round '{file}' cannot be read ({why}): it was moved or changed."),
    "reference-of-one-class": say("The reference has only the class {name!r}: add rows of another one."),
    "reply-of-several-models": say("node {node} replied with {records} ArrayRecords; expected one.", "records"),
    "reply-without-count": say(
        "node {node} replied with {found} under '{key}', but the log needs its number of rows, at least 1: name its key by examples_key, and put Recording around 'weighted', not inside.",
        "key",
    ),
    "result-damaged": say("'{file}' is not a {kind} ({why}): make it again.", "kind"),
    "result-of-another-version": say("'{file}' is not a {kind} of version {own}: make it again.", "kind own"),
    "round-of-another-model": say(
        "Round {round} has models of {size} weights, the initial one has {initial}: flatten all of them in the same way.",
        "round size initial",
    ),
    "round-selects-nobody": say(
        "Round {round} selects the clients {selected}, but there are only 0 to {last}: give positions among the names.",
        "round last",
    ),
    "rows-in-every-bag": say("Some rows are in all {estimators} bags of oob_values: raise 'estimators'.", "estimators"),
    "rows-left-out": say("{count} of {rows} rows left out, as {judge} lacks their class ({classes:listed})"),
    "rows-never-drawn": say("{rows:counted row} {rows:either was were} never drawn: raise the method's budget."),
    "rows-without-value": say("{rows:counted row} {rows:either has have} no value"),
    "same-name": say("Two clients have the same name: rename one."),
    "scores-of-other-clients": say("Scores of different clients cannot be compared: compute both for the same ones."),
    "selected-not-positions": say(
        "The selected clients of a round are {selected}, but must be a list of their positions 0, 1, …, at least one."
    ),
    "selected-twice": say("The selected clients of a round are {selected}, but each can be selected only once."),
    "single-row": say("A single row has nobody to be compared with: add rows."),
    "client-failed": say("{client}: {why}"),
    "in-round": say("round {round}: {why}", "round why"),
    "later-rounds-count-zero": say(
        "The budget was spent after {played} of {rounds} rounds; the others count 0.", "played rounds"
    ),
    "later-rounds-left-out": say(
        "The budget was spent after {played} of {rounds} rounds; the others do not count.", "played rounds"
    ),
    "never-selected": say("no round selected {client}, so it has no value"),
    "round-counts-zero": say("round {round} counts 0: {why}", "round why"),
    "takes-no-part": say("{client} takes no part in the training[[ under {how!r}]]: {why}"),
    "test-is-the-reference": say(
        "The test rows are the reference, which already valued the clients: keep other rows for testing."
    ),
    "test-rows-seen": say("{count} of {rows} test rows are also rows of {of}: accuracies are too high"),
    "too-few-for-bags": say(
        "{rows:counted row} {rows:either is are} too few to leave some out of every bag: add rows."
    ),
    "too-few-to-cross-validate": say(
        "{rows:counted row} {rows:either is are} too few to cross-validate {classes} classes: add rows."
    ),
    "too-many-clients-to-evaluate": say(
        "This method evaluates 2^N models: {clients} clients are too many, {most} are the most. Use GTG-Shapley or FedShapley, which sample the same games.",
        "clients most",
    ),
    "too-many-clients-to-train": say(
        "exactFed trains 2^N times: {clients} clients are too many, {most} are the most. Use DataSV (the same game, sampled), GTG-Shapley, or a protocol of ours.",
        "clients most",
    ),
    "too-many-weights-to-invert": say(
        "influence_values inverts a matrix of all {weights} weights, and more than {most} do not fit: give space=Space(projection={projection}) or less.",
        "most",
    ),
    "torch-missing": say('Training needs PyTorch: install it with pip install "fedbary[torch]"'),
    "torch-missing-for-influence": say("torch is not installed: pip install 'fedbary[torch]'"),
    "training-diverged": say(
        "The training diverged: weights are no longer finite. Lower the <learning_rate> ({learning_rate:g}) or check the scale of the features.",
        "learning_rate",
    ),
    "training-log-unwritable": say("The training log cannot be written to '{file}' ({why}): choose another path."),
    "training-needs-classes": say(
        "The label '{label}' is a number, but training here needs classes: choose another label, or cut it into classes.",
        "label",
    ),
    "triangle-without-reference": say(
        "The triangle protocol compares clients with a reference: give one, or use Interpolation.",
        command="The triangle protocol compares clients with a reference: give one, or use --protocol interpolation.",
    ),
    "truth-not-compared": say("'{name}' is not among the methods compared ({methods}).", "name methods"),
    "used-as-it-is": say("{client} is used as it is, as it has no flags: {why}"),
    "vector-shape": say("The vector of weights has shape {shape}, but must have ({size},).", "shape size"),
    "weights-not-finite": say("The weights are not finite: the training diverged; lower its learning rate."),
    "weights-not-numbers": say("Weights must be numbers ({why}): flatten each model to one vector."),
    "weights-shape": say(
        "The weights have shape {shape} and type {dtype}, but must be vectors of the model's {size} weights, (vectors, {size}).",
        "shape dtype size",
    ),
    "wrong-option": say(
        "The option {option!r} of the method {method!r} must be {expected}, not {got!r}: write it as {method}@{option}={default}."
    ),
}
