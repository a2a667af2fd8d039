"""What a client raises."""

from __future__ import annotations

import httpx
from pydantic import ValidationError

from flowli.domain.errors import FlowliError
from flowli_api.problems import ProblemDetails

__all__ = ["ApiError", "error_of"]


class ApiError(FlowliError):
    """The service answered with a problem.

    Attributes:
        problem: with its stable ``code``.
        retry_after_s: when to try again, if the service said so.
    """

    def __init__(self, problem: ProblemDetails, retry_after_s: float | None = None) -> None:
        which = f" (request {problem.request_id})" if problem.request_id else ""
        super().__init__(f"{problem.code}: {problem.detail}{which}")
        self.problem = problem
        self.retry_after_s = retry_after_s

    @property
    def code(self) -> str:
        """The code of the problem."""
        return self.problem.code


def error_of(response: httpx.Response) -> ApiError:
    """The error that an answer is, also one that no service of ours gave."""
    after = response.headers.get("retry-after", "")
    try:
        problem = ProblemDetails.model_validate_json(response.content)
    except ValidationError:
        title = response.reason_phrase or "no problem details"
        problem = ProblemDetails(
            type="about:blank",
            title=title,
            status=response.status_code,
            code=f"http_{response.status_code}",
            detail=title,
        )
    return ApiError(problem, float(after) if after.isdigit() else None)
