"""Reading job logs: bytes in; readings, failures and whether the log was seen to its end out."""

from bot.logs.form import Crossing, Form, LogForms, Print, find_crossing
from bot.logs.result import Failure, ScanResult
from bot.logs.scan import scan

__all__ = ["Crossing", "Failure", "Form", "LogForms", "Print", "ScanResult", "find_crossing", "scan"]
