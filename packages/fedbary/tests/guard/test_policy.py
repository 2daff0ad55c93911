"""The owner's policy: what it refuses, what it tightens, and what a wrong file says."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.errors import PrivacyError, SettingsError
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.registry import PROTOCOLS

EVERYTHING = tuple(PROTOCOLS)


@pytest.mark.parametrize(
    ("policy", "asked", "code", "key"),
    [
        ({}, fb.Interpolation(), "protocol-not-allowed", None),
        ({"min_group": 10}, fb.Sketch(min_group=9), "min-group", None),
        ({"epsilon_budget": 2.0}, fb.Sketch(), "exact-answers", "epsilon_budget"),
        ({"require_epsilon": True, "max_epsilon": 1.0}, fb.Sketch(), "exact-answers", "require_epsilon"),
        ({"require_epsilon": True, "max_epsilon": 1.0}, fb.Sketch(epsilon=1.1), "epsilon-too-large", "max_epsilon"),
        ({"epsilon_budget": 2.0}, fb.Sketch(epsilon=2.1), "epsilon-too-large", "epsilon_budget"),
        ({}, fb.Sketch(epsilon=10.1), "epsilon-too-large", "max_epsilon"),
        ({"epsilon_budget": 2.0}, fb.Cards(), "exact-answers", "epsilon_budget"),
        ({}, fb.Cards(epsilon=10.1), "epsilon-too-large", "max_epsilon"),
        ({}, fb.Cards(epsilon=1.0, delta=2e-6), "delta-too-large", None),
        ({}, fb.Sketch(epsilon=1e9, policy="coarsen"), "epsilon-too-large", "max_epsilon"),
        ({"protocols": EVERYTHING}, fb.Interpolation(allow_reconstruction=True), "reconstruction", None),
        ({"protocols": EVERYTHING, "max_rounds": 3}, fb.Interpolation(rounds=4), "beyond-limit", "max_rounds"),
        ({"protocols": EVERYTHING}, fb.Interpolation(rounds=5), "rounds-solve-rows", None),
        ({"protocols": EVERYTHING}, fb.Interpolation(rounds=9, min_group=9), "rounds-solve-rows", None),
    ],
)
def test_what_goes_beyond_the_policy_is_refused_by_its_key(policy, asked, code, key):
    for ask in (OwnerPolicy(**policy).check, OwnerPolicy(**policy).applied):
        with pytest.raises(PrivacyError, check=coded(f"guard.{code}")) as caught:
            ask(asked)
        assert caught.value.public.get("key") == key


def test_trust_does_not_allow_reconstruction():
    with pytest.raises(PrivacyError, check=coded("guard.reconstruction")):
        OwnerPolicy(protocols=EVERYTHING, trust_server=True).check(fb.Interpolation(allow_reconstruction=True))


def test_settings_that_only_call_themselves_a_protocol_are_refused():
    class Loose(fb.Sketch):
        pass

    with pytest.raises(PrivacyError, check=coded("guard.protocol-not-allowed")):
        OwnerPolicy().check(Loose())


@given(
    asked=st.builds(
        fb.Sketch,
        min_group=st.integers(1, 20),
        epsilon=st.none() | st.floats(1e-3, 10.0),
        policy=st.sampled_from(["trusted", "coarsen"]),
        lower=st.sampled_from(["improved", "triangle"]),
    ),
    least=st.integers(1, 20),
)
def test_no_sketch_settings_are_looser_than_the_owner_s(asked, least):
    own = OwnerPolicy(min_group=least)
    if asked.min_group < least:
        with pytest.raises(PrivacyError):
            own.applied(asked)
        return
    used = own.applied(asked)
    assert used.min_group >= max(least, asked.min_group)
    assert used.policy != "trusted"
    assert used.epsilon == asked.epsilon
    assert own.applied(used) == used


def test_an_untrusted_server_neither_fixes_t_nor_turns_off_coarsening():
    own = OwnerPolicy(protocols=EVERYTHING)
    assert own.applied(fb.Interpolation(t=0.5, rounds=4)).t is None
    assert own.applied(fb.Sketch(epsilon=1.0)).policy == "dp"


def test_cards_are_guarded_and_tell_what_the_owner_shares():
    assert OwnerPolicy().applied(fb.Cards(shared=True)) == fb.Cards(policy="guarded")
    assert OwnerPolicy().applied(fb.Cards(epsilon=1.0)).policy == "dp"
    open_hearted = OwnerPolicy(share_card_with_others=True, share_numbers=False)
    assert open_hearted.applied(fb.Cards()) == fb.Cards(policy="guarded", shared=True, numbers=False)
    assert OwnerPolicy(trust_server=True).applied(fb.Cards()).policy == "trusted"


def test_a_budget_pays_for_private_cards():
    own = OwnerPolicy(epsilon_budget=2.0, max_delta=1e-8)
    own.check(fb.Cards(epsilon=2.0, delta=1e-8))
    assert own.most_telling("cards") == fb.Cards(epsilon=2.0, delta=1e-8)


def test_a_trusted_server_gets_what_it_asks_for_within_limits():
    own = OwnerPolicy(protocols=EVERYTHING, trust_server=True)
    assert own.applied(fb.Sketch()).policy == "trusted"
    assert own.applied(fb.Sketch(epsilon=1e9)).epsilon == 1e9
    assert own.applied(fb.Interpolation(t=0.5, rounds=10)).t == 0.5


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        ({}, 1),
        ({"max_questions": 3}, 3),
        ({"epsilon_budget": 1.0}, 100),
        ({"epsilon_budget": 1.0, "max_questions": 2}, 2),
    ],
)
def test_one_question_unless_a_number_or_a_budget_says_more(policy, most):
    assert OwnerPolicy(**policy).most_questions == most


# What only the server or only the row values read: a client that answers does not depend on it, or checks it itself.
HARMLESS = {
    "sketch": {"support", "lower", "numbers"},
    "cards": {"worth", "exact_up_to", "permutations", "coordinates", "robust", "schema", "numbers"},
    "interpolation": {"support", "p", "tolerance", "gradient", "weights"},
}
BOUNDED = {"min_group", "epsilon", "policy", "rounds", "starts", "points_per_class"}
BOUNDED |= {"t", "allow_reconstruction", "interpolation", "delta", "shared", "keep_measures"}


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_setting_is_bounded_or_known_to_be_harmless(name):
    """A setting that is new must be thought about here, before a server can use it."""
    assert {field.name for field in fields(PROTOCOLS[name])} <= HARMLESS[name] | BOUNDED


policies = st.builds(
    OwnerPolicy,
    min_group=st.integers(1, 50),
    max_epsilon=st.none() | st.floats(1e-6, 1e6),
    protocols=st.lists(st.sampled_from(EVERYTHING), unique=True).map(tuple),
    share_flag_counts=st.booleans(),
    share_card_with_others=st.booleans(),
    max_delta=st.just(0.0) | st.floats(1e-12, 1e-3),
    trust_server=st.booleans(),
    max_rounds=st.integers(1, 99),
    max_questions=st.none() | st.integers(1, 99),
)


@given(policy=policies)
def test_a_written_policy_is_read_back(policy, tmp_path_factory):
    file = tmp_path_factory.mktemp("policy") / "policy.toml"
    file.write_text(policy.to_toml(), encoding="utf-8")
    assert OwnerPolicy.load(file) == policy


def test_a_budget_is_written_and_read_back(tmp_path):
    policy = OwnerPolicy(epsilon_budget=2.5, require_epsilon=True, max_epsilon=0.5)
    (tmp_path / "policy.toml").write_text(policy.to_toml(), encoding="utf-8")
    assert OwnerPolicy.load(tmp_path / "policy.toml") == policy


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("min_groop = 5", "guard.policy-unknown-key", {"key": "min_groop", "guess": " (did you mean 'min_group'?)"}),
        ("min_group = '5'", "guard.policy-value", {"key": "min_group"}),
        ("min_group = true", "guard.policy-value", {"key": "min_group"}),
        ("trust_server = 'no'", "guard.policy-value", {"key": "trust_server"}),
        ("epsilon_budget = nan", "guard.policy-value", {"key": "epsilon_budget"}),
        ("protocols = 'sketch'", "guard.policy-value", {"key": "protocols"}),
        ("protocols = [1]", "guard.policy-value", {"key": "protocols"}),
        ("protocols = ['sketsh']", "guard.policy-unknown-protocol", {"name": "sketsh"}),
        ("require_epsilon = true", "guard.any-epsilon", {}),
        (
            "epsilon_budget = 1\nprotocols = ['interpolation']",
            "guard.protocol-without-epsilon",
            {"key": "epsilon_budget"},
        ),
        ("max_delta = -1", "guard.policy-value", {"key": "max_delta"}),
        ("max_questions = 0", "guard.policy-value", {"key": "max_questions"}),
        ("epsilon_budget = 1.0\nshare_flag_counts = true", "guard.flag-counts-are-exact", {"key": "epsilon_budget"}),
        ("min_group = ", "guard.policy-not-toml", {}),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_it(tmp_path, text, code, named):
    file = tmp_path / "policy.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, check=coded(code)) as caught:
        OwnerPolicy.load(file)
    facts = caught.value.note.facts
    assert facts.items() >= named.items()
    assert str(file) in f"{facts.get('where')} {facts.get('file')}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(SettingsError, check=coded("guard.policy-unreadable")):
        OwnerPolicy.load(tmp_path / name)


def test_a_policy_is_frozen():
    with pytest.raises(AttributeError):
        OwnerPolicy().min_group = 1
    assert replace(OwnerPolicy(), min_group=7).min_group == 7
