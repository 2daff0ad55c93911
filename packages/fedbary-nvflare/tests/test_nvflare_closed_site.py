"""What a dishonest server, or another site, gets of FLARE's program at a site: jobs without code, and nothing else."""

import io
import uuid
import zipfile

import pytest

pytest.importorskip("nvflare")

from nvflare.apis.workspace import Workspace
from nvflare.fuel.sec.audit import AuditService
from nvflare.private.admin_defs import Message
from nvflare.private.defs import InfoCollectorTopic, RequestHeader, SysCommandTopic, TrainingTopic, new_cell_message
from nvflare.private.fed.client.admin import FedAdminAgent
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors
from nvflare.private.fed.utils.app_deployer import AppDeployer
from nvflare.private.privacy_manager import PrivacyService

from fedbary_nvflare.closed_site import ClosedSite, refused

JOB = str(uuid.uuid4())


class Cell:
    def register_request_cb(self, **_):
        pass


class Engine:
    """As much of FLARE's as a request needs before it is processed."""

    class Context:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def new_context(self):
        return self.Context()


@pytest.fixture
def processors():
    """FLARE's own list, which a test may change."""
    usual = list(ClientRequestProcessors.request_processors)
    yield ClientRequestProcessors.request_processors
    ClientRequestProcessors.request_processors[:] = usual


@pytest.fixture
def asked(tmp_path, processors):
    """What a site's program answers to a request in which nobody says that it needs a permission."""

    def ask(topic, body="", **headers):
        AuditService.initialize(str(tmp_path / "audit.log"))
        agent = FedAdminAgent("admin_agent", Cell(), Engine())
        for processor in processors:
            agent.register_processor(processor)
        request = Message(topic, body)
        for key, value in headers.items():
            request.set_header(key, value)
        return agent._dispatch_request(new_cell_message({}, request)).payload.body

    yield ask
    AuditService.close()


def test_flare_alone_reads_any_file_to_whoever_asks_and_a_closed_site_none(tmp_path, asked):
    table = tmp_path / "patients.csv"
    table.write_text("patient,diagnosis\n17,malignant\n")
    assert "17,malignant" in asked(SysCommandTopic.SHELL, f"cat '{table}'")  # were it not so, we would not be needed
    ClosedSite()
    assert "malignant" not in asked(SysCommandTopic.SHELL, f"cat '{table}'")
    assert "malignant" not in asked(SysCommandTopic.SHELL, f"cat '{table}'", **{RequestHeader.USER_ROLE: "super"})


def test_a_closed_site_can_neither_be_ended_nor_lose_a_folder_by_a_request(asked):
    ClosedSite()
    ends = (TrainingTopic.DELETE_RUN, TrainingTopic.SHUTDOWN, TrainingTopic.RESTART, TrainingTopic.CONFIGURE_JOB_LOG)
    looks = (SysCommandTopic.CONFIGURE_SITE_LOG, SysCommandTopic.REPORT_ENV, SysCommandTopic.SYS_INFO)
    for topic in (*ends, *looks, SysCommandTopic.SHELL, InfoCollectorTopic.SHOW_ERRORS):
        assert asked(topic, "ls") == asked(topic, "ls", **{RequestHeader.USER_ROLE: "super"}) == "not authorized"
    ClosedSite()  # once more changes nothing
    assert asked(SysCommandTopic.SHELL, "ls") == "not authorized"


def packed(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return file.getvalue()


def test_a_job_is_not_called_as_a_folder_of_the_site_and_brings_no_code():
    ours = packed("config/config_fed_client.json")
    assert refused(JOB, {}, ours, "north") == ""
    for name in ("state", "results", "local", "startup", JOB.upper(), "", None, f"{JOB}/..", f"{{{JOB}}}"):
        assert refused(name, {}, ours, "north")
    for name in ("custom/mine.py", "./custom/mine.py", "x/../custom/mine.py", "Custom/mine.py"):
        assert "BYOC" in refused(JOB, {}, packed(name), "north")
    image = {"launcher_spec": {"north": {"docker": {"image": "mine"}}}}
    assert "BYOC" in refused(JOB, image, ours, "north")
    assert refused(JOB, {}, b"no archive", "north")


@pytest.mark.parametrize("closed", [False, True])
def test_the_ledgers_folder_stays_when_a_job_is_called_like_it(tmp_path, processors, monkeypatch, closed):
    """FLARE removes the folder of a job that it takes in anew, whatever it was."""
    monkeypatch.setattr(PrivacyService, "is_scope_allowed", lambda _: True)
    (tmp_path / "startup").mkdir()
    (tmp_path / "local").mkdir()
    ledger = tmp_path / "state" / "north" / "ledger.jsonl"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("spent\n")
    workspace = Workspace(str(tmp_path), site_name="north")
    deployer = ClosedSite() if closed else AppDeployer()
    why = deployer.deploy(workspace, "state", {}, "fedbary", packed("config/config_fed_client.json"), None)
    assert bool(why) is closed
    assert ledger.exists() is closed
