"""What the three services say when they refuse, in their own words, and rules that make them say it."""

import json
import threading
from collections.abc import Callable

from .proxy import Answer, Asked, Forward, Rule

_S3 = {
    "conflict": (409, "ConditionalRequestConflict"),
    "throttle": (503, "SlowDown"),
    "busy": (503, "ServiceUnavailable"),
    "fault": (500, "InternalError"),
    "denied": (403, "AccessDenied"),
    "expired": (400, "ExpiredToken"),
    "skewed": (403, "RequestTimeTooSkewed"),
}
_AZURE = {
    "conflict": (409, "OperationNotAllowed"),
    "throttle": (503, "ServerBusy"),
    "busy": (503, "ServerBusy"),
    "fault": (500, "OperationTimedOut"),
    "denied": (403, "AuthorizationPermissionMismatch"),
    "expired": (403, "AuthenticationFailed"),
    "skewed": (403, "AuthenticationFailed"),
}
_GCS = {
    "conflict": (409, "conflict"),
    "throttle": (429, "rateLimitExceeded"),
    "busy": (429, "rateLimitExceeded"),
    "fault": (503, "backendError"),
    "denied": (403, "forbidden"),
    "expired": (401, "authError"),
    "skewed": (401, "authError"),
}


def answer(scheme: str, kind: str) -> Answer:
    """How a service says something."""
    status, code = {"s3": _S3, "az": _AZURE, "gs": _GCS}[scheme][kind]
    text = "Request date header too old" if kind == "skewed" else "So it is"
    if scheme == "gs":
        told = {"code": status, "message": text, "errors": [{"reason": code, "message": text}]}
        return Answer(status, (("Content-Type", "application/json"),), json.dumps({"error": told}).encode())
    headers = (("Content-Type", "application/xml"),)
    if scheme == "az":
        headers += (("x-ms-error-code", code),)
    body = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{text}</Message></Error>'
    return Answer(status, headers, body.encode())


def always(what: Answer | None) -> Rule:
    """Nothing arrives; every request is answered with this."""
    return lambda asked, forward: what


def drop_answer(asked: Asked, forward: Forward) -> None:
    """The request arrives, and the answer is lost."""
    forward(asked)


def never_answers(gate: threading.Event) -> Rule:
    """The request arrives, and the answer comes when it is too late."""

    def rule(asked: Asked, forward: Forward) -> Answer:
        done = forward(asked)
        gate.wait(300)
        return done

    return rule


def for_some(which: Callable[[Asked], bool], rule: Rule, times: int = 1_000_000) -> Rule:
    """``rule`` for the first so many requests that ``which`` picks; the others pass."""
    lock = threading.Lock()
    left = times

    def chosen(asked: Asked, forward: Forward) -> Answer | None:
        nonlocal left
        with lock:
            hit = left > 0 and which(asked)
            left -= hit
        return rule(asked, forward) if hit else forward(asked)

    return chosen


def writes(asked: Asked) -> bool:
    return asked.writes


def ignoring_conditions(which: Callable[[Asked], bool]) -> Rule:
    """The conditions on these requests are not evaluated, as some emulators and caches do."""

    def rule(asked: Asked, forward: Forward) -> Answer:
        if which(asked):
            asked = asked.without("if-match", "if-none-match").without_query("ifGenerationMatch")
        return forward(asked)

    return rule
