"""Clouds that are signed in to with the usual credentials of the machine instead of a key.

The clouds' own libraries are extras of this package: they are imported only when such a model is used.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

_ERRORS = {"bedrock": ("botocore", "BotoCoreError"), "vertex": ("google.auth", "GoogleAuthError")}
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_SECONDS = 5.0
_REFUSED_BY_AWS = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature"}
)
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def sign_in_errors(provider: str) -> tuple[type[Exception], ...]:
    """Return what a client of a cloud raises if it can't sign in; empty for other providers."""
    if provider not in _ERRORS:
        return ()
    library, name = _ERRORS[provider]
    known = [getattr(import_module(f"{library}.exceptions"), name)] if _is_installed(library) else []
    return (RuntimeError, *known)  # the SDKs raise the first where a library finds no credentials


def sign_in_trouble(provider: str) -> str:
    """Return why a cloud can't be signed in to, with the command that mends it; empty if it can."""
    return _CHECKS[provider]()


def sign_in_refusal(provider: str) -> str:
    """Return why a cloud refuses the credentials of this machine, with the command that mends it; empty if it does not.

    It is asked, which is free; if it can't be reached, the answer is empty.
    """
    return _REFUSALS[provider]()


def region_trouble(provider: str, model: str, base_url: str) -> str:
    """Return which variable with a region or project is missing for a cloud; empty if none is."""
    if provider == "bedrock" and not any(map(os.environ.get, _REGIONS)) and not _region_of_profile():
        return "set AWS_REGION, or a region in your AWS profile: aws configure set region us-east-1"
    needed = ("CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID") if "claude" in model else ()
    needed = needed or ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
    missing = [name for name in needed if not os.environ.get(name)]
    if provider != "vertex" or not missing or (base_url and "claude" not in model):
        return ""
    return f"set {' and '.join(missing)}"


def _aws() -> str:
    if not (_is_installed("botocore") and _is_installed("boto3")):
        return _install("boto3", "bedrock", "AWS_BEARER_TOKEN_BEDROCK")
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    try:
        credentials = get_session().get_credentials()
        if credentials is not None:
            credentials.get_frozen_credentials()  # renews those that have expired, or fails
    except BotoCoreError as error:
        return f"your AWS credentials can't be used: {error}; sign in again: aws sso login"
    if credentials is None:
        return "there are no AWS credentials; sign in: aws configure, or aws sso login, or set AWS_BEARER_TOKEN_BEDROCK"
    return ""


def _aws_refusal() -> str:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import get_session

    config = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 1})
    try:
        get_session().create_client("sts", config=config).get_caller_identity()
    except ClientError as error:
        said = error.response.get("Error", {})
        if said.get("Code") in _REFUSED_BY_AWS:
            return f"AWS refuses your credentials: {said['Code']}: {said.get('Message')}; sign in again: aws sso login"
    except BotoCoreError:  # no way to AWS from here; the first call will show
        pass
    return ""


def _google_refusal() -> str:
    import google.auth
    from google.auth.exceptions import RefreshError, TransportError
    from google.auth.transport.requests import Request

    credentials, _ = google.auth.default(scopes=_SCOPES)
    try:
        credentials.refresh(Request())
    except RefreshError as error:
        said = next((each for each in error.args if isinstance(each, str)), "")
        return f"Google refuses your credentials: {said}; sign in again: gcloud auth application-default login"
    except TransportError:  # no way to Google from here; the first call will show
        pass
    return ""


def _google() -> str:
    if not _is_installed("google.auth"):
        return _install("google-auth", "vertex", "GOOGLE_OAUTH_ACCESS_TOKEN")
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    try:
        google.auth.default(scopes=_SCOPES)
    except GoogleAuthError as error:
        return f"there are no Google credentials ({error}); sign in: gcloud auth application-default login"
    return ""


def _region_of_profile() -> str:
    if not _is_installed("botocore"):
        return ""
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    try:
        return str(get_session().get_config_variable("region") or "")
    except BotoCoreError:  # reported by the check of the credentials
        return ""


def _install(library: str, extra: str, variable: str) -> str:
    return f"{library} is not installed: pip install 'pytest-crmeval[{extra}]'; or set {variable}"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package around it
        return False


_CHECKS: Mapping[str, Callable[[], str]] = {"bedrock": _aws, "vertex": _google}
_REFUSALS: Mapping[str, Callable[[], str]] = {"bedrock": _aws_refusal, "vertex": _google_refusal}
