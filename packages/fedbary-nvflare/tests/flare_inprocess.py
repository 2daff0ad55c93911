"""A FLARE job in this process: the real apps, proxies and FOBS, no sockets, and sites that misbehave on purpose."""

import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContextManager
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace
from nvflare.collab import CollabCallError, collab
from nvflare.collab.api._invocation import _InvocationDispatcher
from nvflare.collab.api.app import ClientApp, ServerApp
from nvflare.collab.api.constants import FL_CONTEXT_PROP
from nvflare.collab.api.proxy import Proxy
from nvflare.collab.runtime.defs import CallHeaderKey, CallReplyKey, ObjectCallKey
from nvflare.collab.runtime.dispatch import _call_app_method
from nvflare.collab.runtime.lifecycle import run_server
from nvflare.fuel.f3.message import Message
from nvflare.fuel.utils import fobs

from drawn_tables import many
from fedbary.engines.packed import Packed
from fedbary_nvflare.site import Site

logging.getLogger("nvflare").setLevel(logging.CRITICAL)
for noisy in ("Proxy", "InProcess", "Group", "GroupCallContext", "ResultWaiter", "job"):
    logging.getLogger(noisy).setLevel(logging.CRITICAL + 1)


class Job:
    """A job's server and sites, each with a workspace below ``folder``; ``simulated`` as FLARE's simulator says it.

    ``clients`` maps a site's name to what it publishes; ``sent`` counts the bytes of all calls and answers.
    """

    def __init__(self, folder, clients, *, simulated=True, job_id="simulate_job"):
        self.folder, self.sent, self._lock = Path(folder), 0, threading.Lock()
        self._pool, self._abort = ThreadPoolExecutor(400), Signal()
        self._names, self._job_id, self._simulated = list(clients), job_id, simulated
        self.apps = {name: ClientApp(client) for name, client in clients.items()}
        for name, app in self.apps.items():
            app.name = name
            self._set_up(app, name)

    def run(self, main):
        """Let the main of the job run, as FLARE's controller does."""
        app = ServerApp(main)
        self._set_up(app, "server")
        return run_server(app, logging.getLogger("job"))

    def abort(self):
        self._abort.trigger("aborted")

    def called(self, caller, site, kwargs, timeout):
        """What a published method answers, as FLARE's dispatcher gives it."""
        fault = getattr(self.apps[site].obj, "fault", None)
        if fault == "vanishes":
            raise CollabCallError(site, "ask", TimeoutError("timed out"))
        if fault == "silent":  # others have all the time that a busy machine needs
            timeout = 0.1
        request = self._carried({ObjectCallKey.CALLER: caller, ObjectCallKey.ARGS: [], ObjectCallKey.KWARGS: kwargs})
        headers = {CallHeaderKey.AUTHENTICATED_CALLER: caller, CallHeaderKey.METHOD_NAME: "ask"}
        message = Message({**headers, CallHeaderKey.TARGET_NAME: f"{site}.client"}, request)
        answer = self._pool.submit(_call_app_method, message, self.apps[site], logging.getLogger("job"))
        try:
            reply = self._carried(answer.result(timeout).payload)
        except TimeoutError as error:
            raise CollabCallError(site, "ask", TimeoutError("timed out")) from error
        if CallReplyKey.ERROR in reply:
            words = (reply.get(key) for key in (CallReplyKey.ERROR, CallReplyKey.ERROR_TYPE))
            raise CollabCallError(site, "ask", *words, remote_traceback=reply.get(CallReplyKey.ERROR_TRACEBACK))
        return reply[CallReplyKey.RESULT]

    def _carried(self, payload):
        data = fobs.dumps(payload)
        with self._lock:
            self.sent += len(data)
        return fobs.loads(data)

    def _set_up(self, app, name):
        root = self.folder / name
        for part in ("local", "startup"):
            (root / part).mkdir(parents=True, exist_ok=True)
        context = FLContextManager(None, name, self._job_id).new_context()
        context.set_prop(FLContextKey.SIMULATE_MODE, self._simulated, private=True, sticky=True)
        app.set_prop(FL_CONTEXT_PROP, context)
        proxies = [self._proxy(app, other) for other in self._names]
        app.setup(Workspace(str(root), name), self._proxy(app, "server"), proxies, self._abort)

    def _proxy(self, app, target):
        dispatcher = _Dispatcher(self, app.name, target, self._pool, self._abort)
        proxy = Proxy(app, target, target, dispatcher, {})
        if target in self.apps:
            interface = self.apps[target].get_collab_interface()["client"]
            proxy.add_child("client", Proxy(app, f"{target}.client", "", dispatcher, interface))
        return proxy


class _Dispatcher(_InvocationDispatcher):
    def __init__(self, job, caller, target, pool, abort):
        super().__init__(abort)
        self._job, self._caller, self._target, self._pool = job, caller, target, pool

    def call_target_in_group(self, gcc, func_name, *args, **kwargs):
        def call():
            try:
                gcc.set_result(self._job.called(self._caller, self._target, kwargs, gcc.call_opt.timeout))
            except Exception as error:
                gcc.set_exception(error)
            finally:
                gcc.call_completed()

        self._pool.submit(call)

    def handle_exception(self, exception):
        raise exception


class Misbehaving(Site):
    """A site that does something else than to answer: ``fault`` names what, ``patience`` is the server's.

    What it replays is its first answer, or one of another run.
    """

    def __init__(self, fault, patience=1.0):
        self.fault, self.patience, self._first = fault, patience, None
        if fault == "replays a run":
            self._first = Packed({"session": "0" * 32, "kind": "sketch", "step": 1}).to_plain()

    @collab.publish
    def ask(self, message: dict) -> dict:
        if self.fault == "raises":
            raise RuntimeError("/home/ann/secret.parquet")
        if self.fault == "silent":
            time.sleep(1.5 * self.patience)
        honest = super().ask(message)
        if self.fault.startswith("replays"):
            self._first = self._first or honest
            return self._first
        return honest if self.fault == "silent" else _changed(honest, self.fault)


class FaultySites(Site):
    """What all sites of a simulated job publish: ``faults`` says by name which misbehave, and how."""

    def __init__(self, faults, patience):
        self.faults, self.patience, self._faulty = faults, patience, None

    @collab.publish
    def ask(self, message: dict) -> dict:
        fault = self.faults.get(str(collab.site_name))
        if fault is None:
            return super().ask(message)
        self._faulty = self._faulty or Misbehaving(fault, self.patience)
        return self._faulty.ask(message)


def _changed(answer, fault):
    packed = Packed.from_plain(answer)
    if fault == "wrong version":
        return answer | {"head": answer["head"] | {"version": 99}}
    if fault == "no message":
        return ["nothing", 7]
    if fault == "nan":
        arrays = {name: array * np.nan for name, array in packed.arrays.items()}
        return Packed(packed.head, dict.fromkeys(packed.scalars, float("nan")), arrays).to_plain()
    arrays = {name: array[..., None] for name, array in packed.arrays.items()}
    return Packed(packed.head, packed.scalars, arrays or {"cost": np.zeros((2, 2))}).to_plain()


def drawn_tables(count, rows=20):
    """Tables of two classes for as many sites, and a reference."""
    tables, reference = many(count, rows)
    return {f"site-{place}": table for place, table in enumerate(tables.values(), 1)}, reference


def write_table(file, table):
    """As a file that an owner or a coordinator reads; its path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({**table.columns, "label": table.labels}).to_parquet(file)
    return str(file)


def owners_files(folder, tables, *, config_in=None, **more):
    """A file of rows for each site, and its owner's config in the site's own folder, or one for all sites."""
    for name, table in tables.items():
        write_table(folder / "data" / f"{name}.parquet", table)
    own = {"data-path": str(folder / "data" / "{site}.parquet"), "table": "{site}", "report": False}
    own |= {"state-path": str(folder / "state"), **more}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
    for local in [config_in] if config_in else [folder / name / "local" for name in tables]:
        local.mkdir(parents=True, exist_ok=True)
        (local / "fedbary.toml").write_text(text)
