"""tf-idf with a public vocabulary: what scikit-learn computes, from a file that every owner has."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from codes import coded, parameter
from fedbary.data.encoders import encoded, encoder_of, public_vocabulary
from fedbary.errors import DataError, SettingsError

PUBLIC = ["dry cough and fever", "no complaint", "fever since Monday", "dry skin, no fever"]
TEXTS = ["dry cough", "fever and fever", "nothing of it", ""]


def test_it_is_what_scikit_learn_computes_with_the_public_vocabulary(tmp_path):
    path = public_vocabulary(PUBLIC, tmp_path / "public.json")
    usual = TfidfVectorizer(ngram_range=(1, 2)).fit(PUBLIC)
    found = encoded(TEXTS, f"tfidf:{path}", kind="text", name="remark")
    np.testing.assert_allclose(found.block, usual.transform(TEXTS).toarray(), atol=1e-5)
    assert found.encoder == "tfidf:public.json"
    assert str(tmp_path) not in found.encoder
    together = encoded(TEXTS, f"tfidf:{path}", kind="text", name="remark", alone=True)
    np.testing.assert_array_equal(found.block, together.block)


def test_the_digest_is_that_of_the_words_wherever_the_file_lies(tmp_path):
    ours = public_vocabulary(PUBLIC, tmp_path / "public.json")
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "words.json"
    copy.write_text(json.dumps(json.loads(ours.read_text())))
    other = public_vocabulary(PUBLIC[:3], tmp_path / "other.json")
    digests = [encoder_of(f"tfidf:{path}", "text").digest for path in (ours, copy, other)]
    assert digests[0] == digests[1] != digests[2]


def test_the_most_frequent_words_are_kept(tmp_path):
    path = public_vocabulary(PUBLIC, tmp_path / "public.json", most=3)
    assert list(json.loads(path.read_text())["weights"]) == ["dry", "fever", "no"]
    with pytest.raises(SettingsError, check=parameter("most")):
        public_vocabulary(PUBLIC, tmp_path / "public.json", most=0)
    with pytest.raises(DataError, check=coded("encoders.no-words")):
        public_vocabulary(["", "?"], tmp_path / "public.json")


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"version": 2, "weights": {"a": 1}}', '{"version": 1, "weights": {}}',
        '{"version": 1, "weights": {"a": -1}}', '{"version": 1, "weights": {"a": true}}',
        '{"version": 1, "weights": {"": 1}}', '{"version": 1, "weights": {"a\\u001b": 1}}',
        json.dumps({"version": 1, "weights": {str(k): 1 for k in range(5000)}}), "\udcff",
    ],
)  # fmt: skip
def test_files_that_are_no_vocabulary(content, tmp_path):
    (tmp_path / "words.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, check=coded("encoders.no-vocabulary")):
        encoder_of(f"tfidf:{tmp_path / 'words.json'}", "text")


def test_what_to_type_where_there_is_no_file():
    with pytest.raises(SettingsError, check=coded("encoders.tfidf-without-file")):
        encoder_of("tfidf", "text")
    with pytest.raises(SettingsError, check=coded("encoders.no-vocabulary-file")):
        encoder_of("tfidf:nowhere.json", "text")
