"""Interrupt a run and go on later, to the same numbers.

After every round the engine writes a checkpoint to its folder. Here a listener stops the run in the fourth exchange;
the second call with the same folder and settings starts there.
"""

import tempfile

import fedbary as fb

digits = fb.datasets.load("digits")
clients = fb.partitions.paper_case(digits.train, 4, seed=0).clients
settings = {"reference": digits.test, "protocol": fb.Interpolation(rounds=6), "seed": 0}


def stop_in_exchange_four(event):
    """Listen to the run, and leave in the middle of it."""
    if event.exchange == 4:
        raise KeyboardInterrupt


with tempfile.TemporaryDirectory() as folder:
    try:
        fb.value(clients, engine=fb.LocalEngine(folder=folder), progress=stop_in_exchange_four, **settings)
    except KeyboardInterrupt:
        print("stopped in exchange 4")
    resumed = fb.value(clients, engine=fb.LocalEngine(folder=folder, resume=True), **settings)

uninterrupted = fb.value(clients, **settings)
print(resumed.clients[["client", "distance"]].round(3).to_string(index=False))
print("the same as without a stop:", resumed.clients.equals(uninterrupted.clients))
