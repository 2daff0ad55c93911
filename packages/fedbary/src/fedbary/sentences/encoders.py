"""Images and texts, and what turns them into numbers."""

from fedbary.sentences import say

SENTENCES = {
    "ask-for-it": say(
        "this federation encodes it with {name}, which takes files on this machine: ask for it with encoder=...",
        "name",
        command="this federation encodes it with {name}, which takes files on this machine: ask for it with --encoder",
    ),
    "depends-on-batch": say(
        "the function gives a cell other numbers in another batch: switch off dropout and batch statistics, as with model.eval()"
    ),
    "differs": say(
        "it is encoded with {ours} ({our_digest}) here, but with {theirs} ({their_digest}) in this federation; use that one, with the same files",
        "ours theirs our_digest their_digest",
    ),
    "function-failed": say(
        "the function failed with a list of {kind}s ({why}); expected one that takes such a list and returns one row of numbers for each"
    ),
    "function-shape": say(
        "the encoder gave an array of shape {shape} for {cells} {kind}s; expected one row of numbers for each"
    ),
    "hashing-width": say(
        "hashing:{width} is no number of places; choose one from {least} to {most}, such as hashing:512"
    ),
    "image-array": say(
        "an image is an array of shape {shape} and {kind}; expected height × width, or with 3 colours, of whole numbers from 0 to 255 or floats from 0 to 1"
    ),
    "image-too-large": say("the image has {size:,} bytes, more than the limit of {most:,}; make it smaller", "most"),
    "model-without-name": say(
        "{family} takes the name of a model or a folder: {family}:NAME, such as {family}:{example}"
    ),
    "no-encoder": say("there is no encoder {name!r}{guess}; choose from {known}", "name guess known"),
    "no-image-file": say("there is no such image; check the path"),
    "no-image-kind": say("the cell is {kind} and no image; expected a path, bytes, an array or an image of Pillow"),
    "no-images": say("there are no images in the folders of this folder; expected one folder for each class"),
    "no-numbers": say("the encoder gave a {kind} numbers that are missing or infinite; correct it"),
    "no-package": say("this encoder needs the package {package}: {install}", "package install"),
    "no-weights": say(
        "the weights of {name!r} are not on this machine, or damaged; fedbary fetches none: fetch them into the cache of {library} with {fetch}[[, or name a folder with a saved model, {instead}]]",
        "library",
    ),
    "not-an-image": say("the image cannot be opened[[ ({why})]]; replace it by a PNG or JPEG file, or leave it out"),
    "other-files": say(
        "{count:counted file} in the folders of images {count:either is are} no PNG, JPEG or another image, and left out"
    ),
    "other-kind": say(
        "the encoder {name} is for {takes}, but the column holds {kind}; ask for another, such as {default}"
    ),
    "package-fails": say(
        "the package {package} is there but cannot be used ({why}); install it again beside this PyTorch: {install}",
        "package install",
    ),
    "pixel-shape": say(
        "pixels:{shape} is no shape of images; write height x width x colours, such as pixels:28x28x1, with at most {most} pixels a side"
    ),
    "pixels-guessed": say(
        "column {column!r} holds images, which are used as pixels, {shape} and {colours}; choose otherwise with <encoder>"
    ),
    "too-many-numbers": say(
        "{cells:,} {kind}s of {width:,} numbers each are more than {most:,} numbers; ask for a smaller encoder, such as pixels:16x16x1 or hashing:64, or sample the rows",
        "width most",
    ),
    "too-many-pixels": say("the image has {pixels:,} pixels, more than the limit of {most:,}; make it smaller", "most"),
}
