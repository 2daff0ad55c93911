"""Reports: what a result says, for people who do not read code."""

from fedbary.views.report.write import write_owner_report, write_report

__all__ = ["write_owner_report", "write_report"]
