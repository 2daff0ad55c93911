"""See who is worth how much where four clients hold the digits 0 to 4 and one holds 5 to 9.

A distance looks at one client at a time, and all of them are about as far from the target. Their worth is what they add
to the others, computed from their cards and without training on anybody's rows: the client that alone knows five digits
is worth most, and the one with 40 % wrong labels least.
"""

import fedbary as fb

digits = fb.datasets.load("digits")
low = digits.train.take(digits.train.labels < 5)
high = digits.train.take(digits.train.labels >= 5)
clients = dict(fb.partitions.by_size(low, [120, 120, 120, 120], seed=0).clients)
clients["client_4"], _ = fb.corruptions.flip_labels(clients["client_4"], 0.4, seed=0)
clients["alone"] = high.take(range(120))

by_distance = fb.value(clients, digits.test, seed=0)
by_worth = fb.value(clients, digits.test, protocol=fb.Cards(worth=True), seed=0)
table = by_worth.scores.to_frame()[["client", "value", "share"]]
table["distance"] = by_distance.clients["distance"]
table["share by distance"] = by_distance.clients["share"]
print(table.round(3).to_string(index=False))
