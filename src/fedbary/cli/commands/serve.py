"""`fedbary serve`: a run in progress, in a browser on this machine."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from fedbary.cli.commands.watch import RunFolder, check_run_folder
from fedbary.errors import PrivacyError

_HOUR = 3600


def serve(
    folder: RunFolder,
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any that is free.")] = 0,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any but this machine's own shows the run to others.")
    ] = "127.0.0.1",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    stop_after: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="Stop when nobody has looked for so long.")
    ] = _HOUR,
) -> None:
    """Show a run of `fedbary value`, or of a Flower server, in a browser: live, then its report.

    Prints one address. It holds a random token: whoever knows it can read the page and, once the run has finished,
    the report, and nothing else. Stop with Ctrl-C.
    """
    from fedbary.cli.ui.browser import open_address
    from fedbary.cli.ui.terminal_text import one_line
    from fedbary.engines.live.server import LiveServer, is_loopback
    from fedbary.guard.owner_folder import is_owned

    check_run_folder(folder)
    if is_owned(folder):
        raise PrivacyError(
            f"'{folder}' is what a node keeps for its owner, and its report holds rows: open report.html in a browser "
            "instead, or name the output folder of a run."
        )
    with LiveServer(folder, host=host, port=port) as server:
        if not is_loopback(host):
            where = one_line(host)
            print(
                f"warning: the page and the report of this run can be read at {where} by everyone who can reach this "
                "machine and knows the address below; it travels unencrypted. Leave out --host to keep them here.",
                file=sys.stderr,
            )
        print(server.url, flush=True)
        if open_browser and not open_address(server.url):
            print("no browser could be opened: open the address above in one", file=sys.stderr)
        try:
            while (left := server.last_request + stop_after - time.monotonic()) > 0:
                time.sleep(min(left, 1.0))
        except KeyboardInterrupt:
            return
    print(f"stopped: nobody looked for {stop_after} s", file=sys.stderr)
