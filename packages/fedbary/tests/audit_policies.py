"""Policies of owners whom an audit attacks."""

import fedbary as fb

# So many questions that no attack runs out of them.
MANY_QUESTIONS = 10_000


def trusting_policy(protocol="sketch"):
    """Of an owner who believes the server and answers whatever it asks, as often as it asks."""
    return fb.OwnerPolicy(protocols=(protocol,), trust_server=True, max_questions=MANY_QUESTIONS)


def guarding_policy(protocol="sketch"):
    """Of an owner who has chosen nothing: one question, guarded answers."""
    return fb.OwnerPolicy(protocols=(protocol,))


def private_policy(epsilon):
    """Of an owner who spends this ε and no more."""
    return fb.OwnerPolicy(require_epsilon=True, epsilon_budget=epsilon)
