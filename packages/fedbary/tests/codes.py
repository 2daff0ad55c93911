"""How tests look at an error: by its code, not by its words."""

from collections.abc import Callable

from fedbary.errors import FedbaryError


def coded(*codes: str) -> Callable[[BaseException], bool]:
    """For ``pytest.raises(..., check=coded("data.no-rows"))``."""

    def check(error: BaseException) -> bool:
        assert isinstance(error, FedbaryError)
        assert error.code in codes, f"{error.code}: {error}"
        return True

    return check


def parameter(name: str) -> Callable[[BaseException], bool]:
    """For ``pytest.raises(SettingsError, check=parameter("workers"))``: the one that is wrong is named."""

    def check(error: BaseException) -> bool:
        assert isinstance(error, FedbaryError)
        assert (error.code, error.public["name"]) == ("settings.parameter", name), str(error)
        return True

    return check
