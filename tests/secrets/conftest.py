"""Secrets that are none: made at run time out of pieces, so that no scanner trips over this repository."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.secrets.key import run_key
from touchline.secrets.scan import Scanner

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def word(alphabet: str, length: int, seed: int = 7) -> str:
    """A random word that is the same in every run; no letter twice in a row, no run of the alphabet."""
    source = random.Random(f"{alphabet}{length}{seed}")
    letters = [source.choice(alphabet)]
    while len(letters) < length:
        letter = source.choice(alphabet)
        if letter != letters[-1] and ord(letter) - ord(letters[-1]) != 1:
            letters.append(letter)
    return "".join(letters)


def key_block(name: str, *, seed: int = 1) -> str:
    body = base64.b64encode(word(LETTERS, 900, seed).encode()).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    dashes = "-" * 5
    return "\n".join([f"{dashes}BEGIN {name}{dashes}", *lines, f"{dashes}END {name}{dashes}"])


def corpus() -> dict[str, str]:
    """Kind of secret -> value: at least one of each provider that a team is likely to use."""
    upper = string.ascii_uppercase + "234567"
    return {
        "aws access key id": "AKI" + "A" + word(upper, 16),
        "aws temporary key id": "ASI" + "A" + word(upper, 16),
        "aws secret key": "aws" + "_secret_access_key = " + word(LETTERS + "/+", 40),
        "github classic": "gh" + "p_" + word(LETTERS, 36),
        "github app": "gh" + "s_" + word(LETTERS, 36),
        "github fine grained": "github" + "_pat_" + word(LETTERS, 22) + "_" + word(LETTERS, 59),
        "gitlab personal": "gl" + "pat-" + word(LETTERS, 20),
        "gitlab deploy": "gl" + "dt-" + word(LETTERS, 20),
        "slack bot": "xo" + "xb-" + word("123456789", 12) + "-" + word("123456789", 12) + "-" + word(LETTERS, 24),
        "slack webhook": "https://hooks.sl"
        + "ack.com/services/T"
        + word(upper, 9)
        + "/B"
        + word(upper, 9)
        + "/"
        + word(LETTERS, 24),
        "discord bot": "M" + word(LETTERS, 23) + "." + word(LETTERS, 6) + "." + word(LETTERS, 27),
        "telegram bot": word("123456789", 9) + ":A" + "A" + word(LETTERS, 33),
        "stripe": "sk_" + "live_" + word(LETTERS, 24),
        "stripe restricted": "rk_" + "live_" + word(LETTERS, 24),
        "openai legacy": "sk" + "-" + word(LETTERS, 20) + "T3Blbk" + "FJ" + word(LETTERS, 20),
        "openai project": "sk" + "-proj-" + word(LETTERS, 74) + "T3Blbk" + "FJ" + word(LETTERS, 74),
        "anthropic": "sk" + "-ant-api03-" + word(LETTERS + "_-", 93) + "AA",
        "google api": "AI" + "za" + word(LETTERS + "_-", 35),
        "google oauth": "GOC" + "SPX-" + word(LETTERS, 28),
        "npm": "np" + "m_" + word(LETTERS, 36),
        "npmrc": "//registry.example.invalid/:_auth" + "Token=" + word(HEX, 8) + "-1a2b-4c3d-8e5f-" + word(HEX, 12),
        "pypi": "pypi" + "-AgEIcHlwaS5vcmc" + word(LETTERS, 90),
        "rubygems": "ruby" + "gems_" + word(HEX, 48),
        "docker": "dckr" + "_pat_" + word(LETTERS, 27),
        "sendgrid": "S" + "G." + word(LETTERS, 22) + "." + word(LETTERS, 43),
        "mailchimp": word(HEX, 32) + "-us" + "12",
        "twilio": "S" + "K" + word(HEX, 32),
        "square": "sq0" + "csp-" + word(LETTERS, 43),
        "shopify": "shp" + "at_" + word(HEX, 32),
        "digitalocean": "dop" + "_v1_" + word(HEX, 64),
        "databricks": "da" + "pi" + word(HEX, 32),
        "hugging face": "h" + "f_" + word(string.ascii_letters, 34),
        "linear": "lin" + "_api_" + word(LETTERS, 40),
        "atlassian": "ATA" + "TT3" + word(LETTERS, 180) + "=" + word(HEX, 8),
        "azure storage": "AccountName=a;Account" + "Key=" + word(LETTERS, 86) + "==",
        "vault": "hv" + "s." + word(LETTERS, 90),
        "grafana": "gl" + "sa_" + word(LETTERS, 32) + "_" + word(HEX, 8),
        "new relic": "NR" + "AK-" + word(upper, 27),
        "age": "AGE-SECRET" + "-KEY-1" + word(upper, 58),
        "rsa key": key_block("RSA PRIVATE" + " KEY"),
        "openssh key": key_block("OPENSSH PRIVATE" + " KEY"),
        "encrypted key": key_block("ENCRYPTED PRIVATE" + " KEY"),
        "pgp key": key_block("PGP PRIVATE" + " KEY BLOCK"),
        "postgres": "postgresql" + "://app:" + word(LETTERS, 14) + "@db.prod.internal:5432/main",
        "odd password": "mysql+pymysql" + "://app:p@ss/" + word(LETTERS, 8) + "#1?@db.prod.internal/main",
        "mongodb": "mongodb+srv" + "://app:" + word(LETTERS, 14) + "@cluster0.abcde.mongodb.net/x?retryWrites=true",
        "redis": "rediss" + "://:" + word(LETTERS, 20) + "@cache.prod.internal:6380/0",
        "amqp": "amqp" + "://worker:" + word(LETTERS, 14) + "@mq.prod.internal/v",
        "https": "https" + "://deploy:" + word(LETTERS, 20) + "@git.prod.internal/a/b.git",
        "ado": "Server=tcp:sql.prod.internal,1433;Database=m;User ID=app;Pass"
        + "word="
        + word(LETTERS, 14)
        + ";Encrypt=True",
        "jdbc": "jdbc:postgresql" + "://db.prod.internal/m?user=app&pass" + "word=" + word(LETTERS, 14),
    }


@pytest.fixture(scope="session")
def secrets() -> dict[str, str]:
    return corpus()


@pytest.fixture
def scanner(tmp_path: Path) -> Scanner:
    """Without gitleaks, whatever the machine has."""
    return Scanner(run_key(tmp_path / "private"), scratch=tmp_path, gitleaks=False)


@pytest.fixture
def make_word() -> Callable[[str, int], str]:
    return word


@pytest.fixture
def make_key_block() -> Callable[[str], str]:
    return key_block
