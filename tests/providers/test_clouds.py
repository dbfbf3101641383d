"""Signing in to AWS and Google with their own libraries, which are not installed beside ours."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.environments import python_beside
from tests.providers.answers import Say
from tests.providers.loopback import Loopback

AWS = ("boto3==1.44.3", "botocore==1.44.3", "jmespath==1.1.0", "s3transfer==0.19.3")
GOOGLE = ("google-auth==2.62.2", "pyasn1==0.6.5", "pyasn1-modules==0.4.2")
PACKAGES = ("--no-deps", *AWS, *GOOGLE)
"""The rest of what they need is there."""
SCRIPT = '''
"""Print what is said about each state of the credentials, and whether a call is answered."""

import json
import os
import sys

from pytest_crmeval.models.sdks.sign_in import sign_in_refusal, sign_in_trouble
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import ModelError, Prompt
from pytest_crmeval.domain.messages import user_says


def write_key():
    """Write the key of an account whose tokens come from TOKEN_URI."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {"type": "service_account", "client_email": "a@b.example", "private_key_id": "1", "private_key": pem}
    with open(os.environ["GOOGLE_APPLICATION_CREDENTIALS"], "w") as file:
        json.dump(account | {"token_uri": os.environ["TOKEN_URI"], "project_id": "acme"}, file)


def state(spec, address):
    if "TOKEN_URI" in os.environ:
        write_key()
    provider = spec.partition(":")[0]
    if trouble := sign_in_trouble(provider):
        return trouble
    refusal = sign_in_refusal(provider)
    from pytest_crmeval.models.sdks.anthropic import anthropic_backend

    try:
        backend = anthropic_backend(ModelSpec.parse(spec), "", address)
        said = backend.attempt(Prompt(system="", messages=[user_says("Hello")]), 60.0).completion.reply.text
    except ModelError as error:
        said = str(error)
    return f"{refusal}|{said}"


spec, address, *environments = sys.argv[1:]
print(json.dumps([(os.environ.update(json.loads(each)), state(spec, address))[1] for each in environments]))
'''
AWS_DENIES = """<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code>
<Message>The security token included in the request is expired</Message></Error></ErrorResponse>"""
AWS_KNOWS = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
<Account>1</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"""
GOOGLE_DENIES = {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
GOOGLE_KNOWS = {"access_token": "ya29.good", "expires_in": 3600, "token_type": "Bearer"}
ANSWERS = {
    "/denies": (403, "text/xml", AWS_DENIES),
    "/knows": (200, "text/xml", AWS_KNOWS),
    "/google-denies": (400, "application/json", json.dumps(GOOGLE_DENIES)),
    "/google-knows": (200, "application/json", json.dumps(GOOGLE_KNOWS)),
}
SSO = """[profile sso]
sso_session = s
sso_account_id = 1
sso_role_name = r
[sso-session s]
sso_region = eu-central-1
sso_start_url = http://127.0.0.1:1
"""


@contextmanager
def signing_in() -> Iterator[str]:
    """Yield the address of a server that gives the answer of its path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, kind, text = ANSWERS[self.path.rstrip("/")]
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def python_with_clouds() -> Path:
    """Return a Python with the libraries of both clouds: botocore wants an older python-dateutil than our tools."""
    return python_beside("clouds", *PACKAGES)


def states(
    python: Path, home: Path, spec: str, address: str, first: Mapping[str, str], *environments: Mapping[str, str]
) -> list[str]:
    """Return what is said in each environment; they build on each other, and nothing of this machine is in them."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GOOGLE_", "CLOUD"))}
    command = [str(python), "-c", SCRIPT, spec, address, *map(json.dumps, environments)]
    environment = {**clean, "HOME": str(home), **first}
    found = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert not found.returncode, found.stderr
    said: list[str] = json.loads(found.stdout)
    return said


def test_aws_credentials_that_are_missing_expired_or_refused_are_found_before_the_run(
    python_with_clouds: Path, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(SSO, encoding="utf-8")
    nothing = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1"}
    nothing |= {"AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none")}
    keys = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
    spec = "bedrock:anthropic.claude-sonnet-4-5-v1:0"
    with signing_in() as sts, Loopback([Say("Hi")]) as server:
        missing, refused, good, unknown, session = states(
            python_with_clouds,
            tmp_path,
            spec,
            server.url,
            nothing,
            {},
            {**keys, "AWS_ENDPOINT_URL_STS": f"{sts}/denies"},
            {"AWS_ENDPOINT_URL_STS": f"{sts}/knows"},
            {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"},
            {"AWS_PROFILE": "sso", **dict.fromkeys(keys, "")},
        )

    assert missing.startswith("there are no AWS credentials; sign in: aws configure, or aws sso login")
    denied = "ExpiredToken: The security token included in the request is expired"
    assert refused == f"AWS refuses your credentials: {denied}; sign in again: aws sso login|Hi"
    assert ["|Hi", "|Hi"] == [good, unknown]
    assert session.startswith("your AWS credentials can't be used: ")
    assert session.endswith("; sign in again: aws sso login")
    assert {"AWS4-HMAC-SHA256"} == {seen.headers["authorization"].split()[0] for seen in server.seen}


def test_google_credentials_that_are_missing_or_refused_are_found_before_the_run(
    python_with_clouds: Path, tmp_path: Path
) -> None:
    place = {"CLOUD_ML_REGION": "europe-west1", "ANTHROPIC_VERTEX_PROJECT_ID": "acme", "NO_GCE_CHECK": "true"}
    place |= {"CLOUDSDK_CONFIG": str(tmp_path)}
    with signing_in() as tokens, Loopback([Say("Hi")]) as server:
        missing, refused, good, unknown = states(
            python_with_clouds,
            tmp_path,
            "vertex:claude-sonnet-4-5",
            server.url,
            place,
            {},
            {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "key"), "TOKEN_URI": f"{tokens}/google-denies"},
            {"TOKEN_URI": f"{tokens}/google-knows"},
            {"TOKEN_URI": "http://127.0.0.1:1"},
        )

    assert missing.startswith("there are no Google credentials (")
    assert missing.endswith("); sign in: gcloud auth application-default login")
    advice = "sign in again: gcloud auth application-default login"
    assert refused.startswith("Google refuses your credentials: ")
    assert "Token has been expired or revoked" in refused
    assert f"; {advice}|" in refused
    assert "|Hi" == good
    assert unknown.startswith("|")
    assert {"Bearer ya29.good"} == {seen.headers["authorization"] for seen in server.seen}
