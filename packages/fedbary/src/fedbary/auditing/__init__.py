"""Audits: attacks that a dishonest server would try, played against an owner's policy and settings."""

from fedbary.auditing.auditor import audit
from fedbary.auditing.result import Audit

__all__ = ["Audit", "audit"]
