"""Reports: what a result says, for people who do not read code."""

from fedbary.report.write import write_report

__all__ = ["write_report"]
