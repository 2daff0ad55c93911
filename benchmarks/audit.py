"""What a dishonest server gets from each protocol, by every attack that we know; breast-cancer, one thread.

For each attack its value with a 95 % interval, beside what is promised: `sketch` and `cards` for an owner who trusts
the server, for one who has chosen nothing (``coarsen``, ``guarded``; one question), and with ε = 1; `interpolation`
for one who has chosen nothing, and for one who trusts the server. Pairs of questions are of both `sketch` and `cards`
for an owner who has chosen nothing (the lines of guarded cards) and with ε, otherwise of one protocol. Run: ``python
benchmarks/audit.py`` (``--smoke`` for a quick look).
"""

from __future__ import annotations

import argparse
import sys

import fedbary as fb

PRIVATE = fb.OwnerPolicy(require_epsilon=True, epsilon_budget=1.0)
# Trusting owners answer so many questions that no attack runs out of them.
TRUSTING = {
    name: fb.OwnerPolicy(protocols=(name,), trust_server=True, max_questions=10_000)
    for name in ("sketch", "cards", "interpolation")
}
DEFENCES = (
    (fb.Sketch(), TRUSTING["sketch"]),
    (fb.Sketch(), fb.OwnerPolicy(protocols=("sketch",))),
    (fb.Sketch(epsilon=1.0), PRIVATE),
    (fb.Cards(), TRUSTING["cards"]),
    (fb.Cards(), fb.OwnerPolicy()),
    (fb.Cards(epsilon=1.0), PRIVATE),
    (fb.Interpolation(rounds=4), fb.OwnerPolicy(protocols=("interpolation",))),
    (fb.Interpolation(), TRUSTING["interpolation"]),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="twenty trials only")
    trials = 20 if parser.parse_args().smoke else 500
    print(f"breast-cancer, 398 rows, {trials} owners of each kind in every game, half of them to tune the attack\n")
    for place, (settings, policy) in enumerate(DEFENCES):
        found = fb.audit(
            protocol=settings, policy=policy, trials=trials, progress=lambda words: print(words, file=sys.stderr)
        )
        print(found.to_markdown(header=place == 0), flush=True)


if __name__ == "__main__":
    main()
