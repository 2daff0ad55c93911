"""docs/privacy.md says of every field what its record says."""

from privacy_table import PAGE, page


def test_the_page_has_the_words_of_the_records():
    """After a change of a record: python tools/privacy_table.py."""
    assert PAGE.read_text(encoding="utf-8") == page()
