"""See which method finds wrong labels best: several on the same rows, with the truth at hand.

200 digits, 20 of them with a wrong label. `sketch` is ours, and its client sees no reference row; the others need both
tables in one place. `fedbary compare --rows` does the same for files.
"""

import fedbary as fb

digits = fb.datasets.load("digits")
rows, wrong = fb.corruptions.flip_labels(digits.train.take(range(200)), 0.1, seed=0)
methods = ["sketch", "logistic", "knn-shapley", "lava"]
result = fb.compare_rows({"mine": rows}, digits.test, methods=methods, wrong={"mine": wrong}, seed=0)
print(result.summary()[["method", "auroc"]].round(3).to_string(index=False))
