"""A site that does nothing for its server but jobs without code, whatever the server says of who asks for it.

FLARE 2.9 looks at a site's rules only if the request itself says that it needs a permission, and takes the role of
whoever asks from the request; a role called ``super`` may do everything. So a dishonest server, or another site, could
read every file that the site's user can (``cat``), and have a folder of the site's deleted by calling a job like it:
the ledger's, for one.
"""

from __future__ import annotations

import uuid
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any
from zipfile import BadZipFile, ZipFile

from nvflare.apis.app_validation import AppValidationKey
from nvflare.fuel.hci.proto import ReplyKeyword
from nvflare.private.admin_defs import Message, error_reply
from nvflare.private.defs import SysCommandTopic, TrainingTopic
from nvflare.private.fed.client.admin import RequestProcessor
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors
from nvflare.private.fed.utils.app_authz import AppAuthzService
from nvflare.private.fed.utils.app_deployer import AppDeployer

_CODE = "custom"  # FLARE's name of the folder with a job's own code
# What a job needs, and who is there with which FLARE. Neither files nor logs, nor an end of the site.
_TOPICS = frozenset(
    {
        TrainingTopic.CHECK_STATUS,
        TrainingTopic.GET_SCOPES,
        TrainingTopic.CHECK_RESOURCE,
        TrainingTopic.CANCEL_RESOURCE,
        TrainingTopic.DEPLOY,
        TrainingTopic.START_JOB,
        TrainingTopic.ABORT,
        TrainingTopic.ABORT_TASK,
        TrainingTopic.NOTIFY_JOB_STATUS,
        SysCommandTopic.REPORT_RESOURCES,
        SysCommandTopic.REPORT_VERSION,
    }
)


class _Refusing(RequestProcessor):  # type: ignore[misc]
    """In the place of what answers requests that nobody may make."""

    def __init__(self, other: RequestProcessor) -> None:
        self._topics = list(other.get_topics())

    def get_topics(self) -> list[str]:
        return self._topics

    def process(self, req: Message, app_ctx: object) -> Message:  # noqa: ARG002 - as FLARE calls it
        return error_reply(ReplyKeyword.NOT_AUTHORIZED)


class ClosedSite(AppDeployer):  # type: ignore[misc]
    """The part ``app_deployer`` of a site's ``local/resources.json``: it closes the site, and takes jobs in."""

    def __init__(self) -> None:
        super().__init__()
        # FLARE's own list, from which the site's program is made after its parts are.
        processors = ClientRequestProcessors.request_processors
        processors[:] = [one if _TOPICS.issuperset(one.get_topics()) else _Refusing(one) for one in processors]

    def deploy(  # noqa: PLR0917 - as FLARE calls it
        self, workspace: Any, job_id: str, job_meta: dict[str, Any], app_name: str, app_data: bytes, fl_ctx: Any
    ) -> str:
        """Take a job in, as FLARE does; returns why not, if so."""
        why = refused(job_id, job_meta, app_data, str(workspace.site_name))
        return why or str(super().deploy(workspace, job_id, job_meta, app_name, app_data, fl_ctx) or "")


def refused(job_id: object, job_meta: dict[str, Any], app_data: bytes, site: str) -> str:
    """Why a job is not taken in, if so: FLARE removes the folder that is called as it, and would run what it brings."""
    try:
        if str(uuid.UUID(str(job_id))) != job_id:
            return "not a job's id"
        with ZipFile(BytesIO(app_data)) as archive:
            names = [part.lower() for name in archive.namelist() for part in PurePosixPath(name).parts]
    except (ValueError, BadZipFile):
        return "not a job"
    derived = AppAuthzService.derive_local_app_info({}, job_meta, site)
    return "BYOC not permitted" if _CODE in names or derived.get(AppValidationKey.BYOC) else ""
