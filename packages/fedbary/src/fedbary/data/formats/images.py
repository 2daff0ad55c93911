"""Images: a cell that is one (a file, its bytes, an array, one of Pillow), columns that name them, folders of them.

``SITE/CLASS/*.png`` is the table of a site. A path in a cell of another table is meant from where the table lies.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.formats.cells import Cells, Request
from fedbary.data.reading import Reading
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

IMAGE, CLASS, FILE = "image", "class", "file"
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
# Pillow knows more, some of which start other programs.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"BM", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*", b"P5", b"P6")
_MOST_BYTES = 256 * 2**20
MOST_PIXELS = 64 * 10**6
LONGEST_SIDE = 2048  # a batch of images has to fit the memory
_GRAY = ("1", "L", "LA", "La", "I", "F", "I;16", "I;16L", "I;16B", "I;16N")
_ORIENTATION = 0x0112
_SIXTEEN_BITS = ("I", "I;16", "I;16L", "I;16B", "I;16N")


def is_image(cell: object) -> bool:
    """Whether a cell is an image, or the path of one; a text is by its suffix."""
    if isinstance(cell, str):
        return cell.lower().endswith(SUFFIXES)
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell[:4]).startswith(_BEGINNINGS)
    if isinstance(cell, Mapping):
        return cell.keys() <= {"bytes", "path"} and any(is_image(part) for part in cell.values())
    return isinstance(cell, PathLike) or _is_pillow(cell)


def opened_image(cell: Any) -> Image:
    """The image of a cell, upright, gray (L) or in colours (RGB), and at most 2048 pixels a side.

    Where it is none, is damaged, or is too large to be opened, that is a DataError.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = _found(cell)
            if (pixels := image.width * image.height) > MOST_PIXELS:
                raise DataError("encoders.too-many-pixels", pixels=pixels, most=MOST_PIXELS)
            image.load()
            plain = _plain(ImageOps.exif_transpose(image))
            if max(plain.size) > LONGEST_SIDE:
                plain.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BOX)
            return plain
    except DataError:
        raise
    except UnidentifiedImageError as error:
        raise DataError("encoders.not-an-image", why=None) from error
    except Exception as error:  # damage can show anywhere in Pillow's readers
        why = " ".join(str(error).split())[:120] or type(error).__name__
        raise DataError("encoders.not-an-image", why=why) from error


def image_shape(cell: Any) -> tuple[int, int, int] | None:
    """Height, width and colours (1 or 3) by the image's header alone; None where it cannot be opened."""
    if isinstance(cell, np.ndarray):
        colours = 3 if cell.ndim == 3 and cell.shape[2] >= 3 else 1
        return (*cell.shape[:2], colours) if cell.ndim in (2, 3) else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = _found(cell)
            # Asked for it, Pillow would look for it behind the pixels.
            sideways = "exif" in image.info and image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
    except Exception:
        return None
    width, height = reversed(image.size) if sideways else image.size
    return height, width, 1 if image.mode in _GRAY else 3


def content_of(cell: Any) -> tuple[object, ...]:
    """What an image's pixels depend on: bytes of its file, or its pixels themselves."""
    if isinstance(cell, np.ndarray):
        return str(cell.dtype), list(cell.shape), np.ascontiguousarray(cell).tobytes()
    if _is_pillow(cell):
        return cell.mode, list(cell.size), cell.tobytes()
    return (_bytes(cell),)


def file_of(cell: Any) -> str | None:
    """The path of an image, where it has one."""
    if isinstance(cell, Mapping):
        cell = cell.get("path")
    return str(cell) if isinstance(cell, str | PathLike) else None


def _found(cell: Any) -> Image:
    from PIL import Image

    if isinstance(cell, np.ndarray):
        return _from_array(cell)
    found: Image.Image = cell if _is_pillow(cell) else Image.open(io.BytesIO(_bytes(cell)), formats=_FORMATS)
    return found


def _bytes(cell: Any) -> bytes:
    if isinstance(cell, Mapping):
        cell = cell.get("path") if cell.get("bytes") is None else cell["bytes"]
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell)
    if not isinstance(cell, str | PathLike):
        raise DataError("encoders.no-image-kind", kind=type(cell).__name__)
    try:
        path = Path(cell)
        # Another party may say that a column names images: no other file is opened for it, nor one that never ends.
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            raise DataError("encoders.no-image-file")
        if path.stat().st_size > _MOST_BYTES:
            raise DataError("encoders.image-too-large", size=path.stat().st_size, most=_MOST_BYTES)
        return path.read_bytes()
    except (OSError, ValueError) as error:  # not for our eyes, or no name of a file at all
        raise DataError("encoders.not-an-image", why=type(error).__name__) from error


def _from_array(array: np.ndarray[Any, Any]) -> Image:
    """Whole numbers are 0 to 255, floats 0 to 1, as in every plotting library."""
    from PIL import Image

    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    most = 1 if array.dtype.kind in "bf" else 255
    shaped = array.size and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4)))
    if not shaped or array.dtype.kind not in "biuf" or not (array.min() >= 0 and array.max() <= most):
        raise DataError("encoders.image-array", shape=str(array.shape), kind=str(array.dtype))
    scaled = array if most == 255 else np.round(array.astype(np.float64) * 255)
    return Image.fromarray(scaled.astype(np.uint8))


def _plain(image: Image) -> Image:
    if image.mode in _SIXTEEN_BITS:
        from PIL import Image as Images

        return Images.fromarray(np.clip(np.asarray(image, dtype=np.int64) // 257, 0, 255).astype(np.uint8))
    wanted = "L" if image.mode in _GRAY else "RGB"
    return image if image.mode == wanted else image.convert(wanted)


def _is_pillow(cell: object) -> bool:
    """Without importing Pillow for what is no image of it."""
    return any(kind.__module__ == "PIL.Image" and kind.__name__ == "Image" for kind in type(cell).__mro__)


def most_frequent_shape(cells: Sequence[Any]) -> tuple[int, int, int] | None:
    """The shape that most images have, in colours unless all are gray; of equally frequent ones the largest."""
    shapes: dict[tuple[int, int], int] = {}
    colours = 1
    for cell in cells:
        shape = image_shape(cell)
        if shape is not None:
            shapes[shape[:2]] = shapes.get(shape[:2], 0) + 1
            colours = max(colours, shape[2])
    if not shapes:
        return None
    height, width = max(shapes, key=lambda size: (shapes[size], size))
    return height, width, colours


def with_images(
    frame: pd.DataFrame, folder: Path, reading: Reading | None = None, *, guess: bool = True
) -> pd.DataFrame:
    """Cells that name images become images: in columns agreed to hold them, or by a ``guess`` where all do."""
    agreed, changed = reading or Reading(), frame
    for place, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, place]
        kind = agreed[name].kind if name in agreed else ""
        if kind == "image" or (guess and not kind and _names_images(column, folder)):
            changed = frame.copy(deep=False) if changed is frame else changed
            images = column.map(lambda cell: _from(folder, cell), na_action="ignore").astype(object)
            changed.isetitem(place, images.to_numpy(dtype=object))
    return changed


def _names_images(column: pd.Series[Any], folder: Path) -> bool:
    """Whether all cells name an image and the first one is there."""
    if column.dtype.kind not in "OT" and str(column.dtype) != "str":
        return False
    present = column.dropna()
    try:
        first = present.iloc[0] if len(present) else None
        if isinstance(first, Mapping):
            return is_image(first)
        if not isinstance(first, str) or not is_image(first) or not (folder / first).is_file():
            return False
    except (UnicodeDecodeError, OSError):  # damage of which reading will speak, or a text that is too long for a name
        return False
    return bool(present.map(lambda cell: isinstance(cell, str) and cell.lower().endswith(SUFFIXES)).all())


def _from(folder: Path, cell: Any) -> Any:
    path = cell.get("path") if isinstance(cell, Mapping) and cell.get("bytes") is None else cell
    return {"bytes": None, "path": str(folder / path)} if isinstance(path, str) else cell


def is_image_folder(folder: Path) -> bool:
    """Whether a folder has a folder of images for each class."""
    try:
        return folder.is_dir() and any(_is_image_file(file) for _, file in _files(folder))
    except OSError:  # not for our eyes
        return False


def read_image_folder(folder: Path, request: Request) -> Cells:
    """One row for each image: the image, its folder's name as its class, and its place in the folder as its id."""
    import pandas as pd

    files = list(_files(folder))
    images = [(label, file) for label, file in files if _is_image_file(file)]
    if not images:
        raise DataError("encoders.no-images", where=str(folder))
    rows = images[: request.most]
    frame = pd.DataFrame(
        {
            IMAGE: [{"bytes": None, "path": str(file)} for _, file in rows],
            CLASS: [label for label, _ in rows],
        },
        index=pd.Index([f"{label}/{file.name}" for label, file in rows], name=FILE),
    )
    others = len(files) - len(images)
    notes = (Note("encoders.other-files", {"count": others}),) if others else ()
    return Cells(frame.iloc[:, request.places(list(frame.columns))], notes, id=FILE)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files in the folders of a folder, each with its folder's name."""
    for inner in _names(folder, folders=True):
        yield from ((inner, folder / inner / name) for name in _names(folder / inner, folders=False))


def _names(folder: Path, *, folders: bool) -> list[str]:
    with os.scandir(folder) as entries:
        seen = (entry for entry in entries if entry.name[0] != ".")
        return sorted(entry.name for entry in seen if (entry.is_dir() if folders else entry.is_file()))


def _is_image_file(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES
