"""The secrets that stop a commit: provider tokens, private keys, connection strings (spec page 5, "Secrets"). Pure.

Every pattern runs in linear time on any text: a fixed beginning that the character before cannot prolong, and
bounded repetitions. Sample values of documentation (`AKIAIOSFODNN7EXAMPLE`, `ghp_xxxxxxxx`) are none; neither is a
connection string without a real password or to the own machine, which is noticed instead.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from touchline.secrets.values import Grade

_B = r"(?<![A-Za-z0-9_])"
_E = r"(?![A-Za-z0-9_])"
_HEX = "[0-9a-f]"

TOKENS: Mapping[str, str] = {
    "aws-access-key-id": rf"{_B}(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{{16}}{_E}",
    "aws-secret-key": (
        r"(?i:aws.{0,20}?(?:secret|key).{0,20}?[=:\s\"'])"
        r"(?![0-9a-fA-F]{40})(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
    ),
    "github-token": rf"{_B}gh[pousr]_[A-Za-z0-9_]{{36,255}}",
    "github-fine-grained-token": rf"{_B}github_pat_[A-Za-z0-9_]{{50,255}}",
    "gitlab-token": rf"{_B}gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_=.-]{{20,300}}",
    "slack-token": rf"{_B}xox[abeoprs]-(?:[0-9A-Za-z]{{1,20}}-){{0,6}}[A-Za-z0-9]{{10,200}}",
    "slack-app-token": rf"{_B}xapp-\d-[A-Z0-9]{{5,20}}-\d{{5,20}}-{_HEX}{{30,128}}",
    "slack-webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/]{20,200}",
    "discord-webhook": r"discord(?:app)?\.com/api/webhooks/\d{15,22}/[A-Za-z0-9_-]{50,100}",
    "teams-webhook": r"webhook\.office\.com/webhookb2/[0-9a-f-]{36}@[0-9a-f-]{36}/[A-Za-z0-9_/-]{20,200}",
    "discord-token": r"(?<![\w.-])[MNO][A-Za-z\d_-]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,40}(?![\w.-])",
    "telegram-token": r"(?<![\w.])\d{8,10}:AA[0-9A-Za-z_-]{33}(?![\w-])",
    "stripe-key": rf"{_B}[rs]k_live_[0-9a-zA-Z]{{20,250}}",
    "stripe-webhook-secret": rf"{_B}whsec_[A-Za-z0-9+/=]{{32,100}}",
    "openai-key": (
        rf"{_B}sk-(?:[A-Za-z0-9_-]{{0,160}}T3BlbkFJ[A-Za-z0-9_-]{{20,160}}"
        r"|(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,300})"
    ),
    "anthropic-key": rf"{_B}sk-ant-[A-Za-z0-9_-]{{32,250}}",
    "openrouter-key": rf"{_B}sk-or-v1-{_HEX}{{64}}",
    "xai-key": rf"{_B}xai-[A-Za-z0-9]{{60,120}}{_E}",
    "groq-key": rf"{_B}gsk_[A-Za-z0-9]{{48,60}}{_E}",
    "perplexity-key": rf"{_B}pplx-[A-Za-z0-9]{{40,64}}{_E}",
    "replicate-token": rf"{_B}r8_[A-Za-z0-9]{{37}}{_E}",
    "huggingface-token": rf"{_B}(?:hf|api_org)_[A-Za-z]{{34,40}}{_E}",
    "google-api-key": r"(?<![\w-])AIza[0-9A-Za-z_-]{35}(?![\w-])",
    "google-oauth-secret": r"(?<![\w-])GOCSPX-[0-9A-Za-z_-]{28}(?![\w-])",
    "google-oauth-token": r"(?<![\w.-])ya29\.[0-9A-Za-z_-]{30,500}",
    "npm-token": rf"{_B}npm_[A-Za-z0-9]{{36}}{_E}",
    "npmrc-token": r"/:_authToken\s{0,5}=\s{0,5}[\"']?(?P<value>[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27})",
    "pypi-token": rf"{_B}pypi-AgE[A-Za-z0-9_-]{{50,400}}",
    "rubygems-key": rf"{_B}rubygems_{_HEX}{{48}}{_E}",
    "crates-token": rf"{_B}cio[A-Za-z0-9]{{32}}{_E}",
    "docker-token": rf"{_B}dckr_(?:pat|oat)_[A-Za-z0-9_-]{{27,40}}",
    "sendgrid-key": r"(?<![\w.])SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{27,64}(?![\w-])",
    "mailchimp-key": rf"(?<![0-9a-zA-Z]){_HEX}{{32}}-us\d{{1,2}}{_E}",
    "mailgun-key": rf"{_B}key-{_HEX}{{32}}{_E}",
    "twilio-key": rf"{_B}SK{_HEX}{{32}}{_E}",
    "square-token": rf"{_B}(?:sq0(?:atp|csp|idp)-[0-9A-Za-z_-]{{22,60}}|EAAA[A-Za-z0-9_-]{{60}}{_E})",
    "shopify-token": rf"{_B}shp(?:at|ca|pa|ss)_[a-fA-F0-9]{{32}}{_E}",
    "digitalocean-token": rf"{_B}do[opr]_v1_{_HEX}{{64}}{_E}",
    "databricks-token": rf"{_B}dapi{_HEX}{{32}}(?:-\d)?{_E}",
    "linear-key": rf"{_B}lin_(?:api|oauth)_[A-Za-z0-9]{{32,64}}{_E}",
    "notion-token": rf"{_B}ntn_[A-Za-z0-9]{{40,60}}{_E}",
    "figma-token": rf"{_B}fig[dou][rh]?_[A-Za-z0-9_-]{{40,60}}",
    "airtable-token": rf"{_B}pat[A-Za-z0-9]{{14}}\.{_HEX}{{64}}{_E}",
    "atlassian-token": rf"{_B}ATATT3[A-Za-z0-9_=-]{{100,300}}",
    "bitbucket-token": rf"{_B}ATBB[A-Za-z0-9_=-]{{24,100}}",
    "azure-storage-key": r"(?i:AccountKey|SharedAccessKey)\s{0,3}=\s{0,3}(?P<value>[A-Za-z0-9+/]{43,86}={1,2})",
    "azure-client-secret": r"(?<![\w~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![\w~-])",
    "vault-token": rf"{_B}hv[sbr]\.[A-Za-z0-9_-]{{24,300}}",
    "terraform-token": rf"{_B}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,70}}",
    "artifactory-key": rf"{_B}AKCp[A-Za-z0-9]{{69}}{_E}",
    "newrelic-key": rf"{_B}NRAK-[A-Z0-9]{{27}}{_E}",
    "grafana-token": rf"{_B}(?:glsa_[A-Za-z0-9]{{32}}_{_HEX}{{8}}|glc_[A-Za-z0-9+/]{{32,400}})",
    "sentry-token": rf"{_B}sntr(?:ys_eyJ[A-Za-z0-9+/=_]{{60,400}}|yu_{_HEX}{{64}})",
    "postman-key": rf"{_B}PMAK-{_HEX}{{24}}-{_HEX}{{34}}{_E}",
    "doppler-token": rf"{_B}dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9_.]{{40,60}}",
    "planetscale-token": rf"{_B}pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{{32,64}}",
    "supabase-token": rf"{_B}sb(?:p_(?:v0_)?{_HEX}{{40}}|_secret_[A-Za-z0-9_-]{{20,50}})",
    "netlify-token": rf"{_B}nf[pcou]_[A-Za-z0-9_]{{36,50}}{_E}",
    "dropbox-token": rf"{_B}sl\.(?:u\.)?[A-Za-z0-9_=-]{{100,400}}",
    "facebook-token": rf"{_B}EAA[MC][A-Za-z0-9]{{80,300}}",
    "cloudflare-origin-key": rf"{_B}v1\.0-{_HEX}{{24}}-{_HEX}{{146}}",
    "heroku-key": rf"{_B}HRKU-[A-Za-z0-9_-]{{36,70}}",
    "pulumi-token": rf"{_B}pul-{_HEX}{{40}}{_E}",
    "age-key": rf"{_B}AGE-SECRET-KEY-1[0-9A-Z]{{58}}{_E}",
    "onepassword-token": rf"{_B}ops_eyJ[A-Za-z0-9+/=_-]{{100,900}}",
}
"""Kind -> pattern; where a group `value` exists, it is the secret, else the whole match."""

_HEADER_TEXT = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"

PRIVATE_KEYS = {
    "private-key": (
        rf"{_HEADER_TEXT}(?P<value>(?s:(?!-----END).){{0,600}}?[A-Za-z0-9+/]{{32}}(?s:(?!-----END).){{0,20000}}?"
        r"(?:-----END[A-Z0-9 ]{0,60}-{0,5}|\Z|(?=-----BEGIN)))"
    ),
    "putty-key": (
        r"PuTTY-User-Key-File-\d:(?P<value>(?s:.){0,4000}?Private-Lines:\s{0,5}\d{1,3}\s{1,3}"
        r"[A-Za-z0-9+/]{32}(?:[A-Za-z0-9+/=\s]{0,8000}))"
    ),
}
"""As above; a header without key material is only noticed."""

_SCHEME = r"(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,24})://"
_USER = r"(?P<user>[^\s:/@'\"<>`|\\]{0,128})"
_HOST = r"(?P<host>[^\s/'\"<>`|\\:,?#@]{1,253})"
_URL = re.compile(rf"{_SCHEME}{_USER}:(?P<value>[^\s/?'\"<>`|\\]{{1,256}})@{_HOST}")
_DATABASES = (
    r"(?i:postgres|pgsql|mysql|maria|mongo|redis|valkey|amqp|mssql|sqlserver|oracle|clickhouse|cassandra|ldap|smtp)"
)
_DSN = re.compile(
    rf"(?<![A-Za-z0-9+.-])(?P<scheme>{_DATABASES}[A-Za-z0-9+.-]{{0,24}})://{_USER}:"
    rf"(?P<value>[^\s'\"<>`|\\]{{1,256}})@{_HOST}"
)
"""Here a password may hold what a URL proper may not: many drivers take it."""

_KEYED = re.compile(
    r"(?i)(?<![A-Za-z0-9])(?:server|data source|host|addr(?:ess)?|network address)\s{0,3}=\s{0,3}"
    r"(?P<host>[^\s;'\"]{1,200})"
    r"(?=[;\s])(?P<rest>[^\r\n'\"`]{0,400}?)(?<![A-Za-z0-9])(?:password|pwd)\s{0,3}=\s{0,3}(?P<value>[^\s;'\"`]{3,128})"
)
_JDBC = re.compile(
    r"(?i)jdbc:[a-z0-9:]{2,40}//(?P<host>[^\s/'\"?:;]{1,253})[^\s'\"]{0,300}?[?&;]password=(?P<value>[^\s&;'\"]{3,128})"
)

_HINTS: Mapping[str, str] = {
    "aws-access-key-id": "a3t abia acca akia asia",
    "aws-secret-key": "aws",
    "github-token": "ghp_ gho_ ghu_ ghs_ ghr_",
    "github-fine-grained-token": "github_pat_",
    "gitlab-token": "gl",
    "slack-token": "xox",
    "slack-app-token": "xapp-",
    "slack-webhook": "hooks.slack.com",
    "discord-webhook": "webhooks/",
    "teams-webhook": "webhook.office.com",
    "telegram-token": ":aa",
    "stripe-key": "k_live_",
    "stripe-webhook-secret": "whsec_",
    "openai-key": "sk-",
    "anthropic-key": "sk-ant-",
    "openrouter-key": "sk-or-",
    "xai-key": "xai-",
    "groq-key": "gsk_",
    "perplexity-key": "pplx-",
    "replicate-token": "r8_",
    "huggingface-token": "hf_ api_org_",
    "google-api-key": "aiza",
    "google-oauth-secret": "gocspx-",
    "google-oauth-token": "ya29.",
    "npm-token": "npm_",
    "npmrc-token": ":_authtoken",
    "pypi-token": "pypi-",
    "rubygems-key": "rubygems_",
    "crates-token": "cio",
    "docker-token": "dckr_",
    "sendgrid-key": "sg.",
    "mailchimp-key": "-us",
    "mailgun-key": "key-",
    "twilio-key": "sk",
    "square-token": "sq0 eaaa",
    "shopify-token": "shp",
    "digitalocean-token": "_v1_",
    "databricks-token": "dapi",
    "linear-key": "lin_",
    "notion-token": "ntn_",
    "figma-token": "fig",
    "airtable-token": "pat",
    "atlassian-token": "atatt3",
    "bitbucket-token": "atbb",
    "azure-storage-key": "accountkey sharedaccesskey",
    "azure-client-secret": "q~",
    "vault-token": "hvs. hvb. hvr.",
    "terraform-token": ".atlasv1.",
    "artifactory-key": "akcp",
    "newrelic-key": "nrak-",
    "grafana-token": "glsa_ glc_",
    "sentry-token": "sntr",
    "postman-key": "pmak-",
    "doppler-token": "dp.",
    "planetscale-token": "pscale_",
    "supabase-token": "sbp_ sb_secret_",
    "netlify-token": "nfp_ nfc_ nfo_ nfu_",
    "dropbox-token": "sl.",
    "facebook-token": "eaam eaac",
    "cloudflare-origin-key": "v1.0-",
    "heroku-key": "hrku-",
    "pulumi-token": "pul-",
    "age-key": "age-secret-key-",
    "onepassword-token": "ops_",
    "private-key": "private key",
    "putty-key": "putty-user-key-file",
}
"""Kind -> lower-case beginnings of which one must occur; a text without them is not searched at length."""

_HEADER = re.compile(_HEADER_TEXT)
_JWT = re.compile(r"(?<![\w.-])eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{20,1000}(?![\w-])")
_TOKEN_IN_URL = re.compile(r"(?<![A-Za-z0-9+.-])https?://(?P<value>[A-Za-z0-9_-]{24,200})@[A-Za-z0-9.-]{3,200}")

_MARK = re.compile(r"redacted-[a-z0-9-]{1,60}-[0-9a-f]{16}")
_SAMPLE = re.compile(r"(?i)example|sample|placeholder|dummy|your[-_]|[-_]here|change[-_]?me|(.)\1{7}|\*{3}|\.{3}")
_NO_PASSWORD = re.compile(
    r"(?i)(?:your)?[-_]?(?:my|the|db|user|some|default|root|admin|test)?[-_]?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|credentials?|key)\d{0,3}"
    r"|(?:[a-z]+[-_])+(?:secret|password|token)"
    r"|p|pass\w{0,4}|x+|\*+|\.+|-+|_+|changeme|change[-_]me|example|placeholder|redacted|hidden|masked|none|null|true|false|foo|bar|baz|hunter2"
    r"|[%$#][A-Za-z_({\[].*|.*[{}<>()\[\]].*|.*\$\{?\w+.*|%[sdr]|\$\d"
)
_OWN_MACHINE = re.compile(
    r"(?i)localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[?::1\]?|(?:.*\.)?(?:test|example|invalid|localhost)|(?:.*\.)?example\.(?:com|org|net)"
    r"|host\.docker\.internal|[{$<%(].*|host(?:name)?|server"
)


@dataclass(frozen=True, slots=True)
class Found:
    """One match in a text. Not a `Hit`: it holds the value, and never leaves the process that scans."""

    kind: str
    grade: Grade
    start: int
    end: int
    value: str


def find_stopping(text: str, *, loose: bool = False) -> Iterator[Found]:
    """Tokens, private keys and connection strings in `text`; what cannot be real is left out or only noticed."""
    lowered = text.lower()
    for kind in (*TOKENS, *PRIVATE_KEYS):
        hints = _HINTS.get(kind, "").split()
        if hints and not any(hint in lowered for hint in hints):
            continue
        for match in _pattern(kind, loose=loose).finditer(text):
            found = _found(kind, Grade.STOP, match)
            if kind in PRIVATE_KEYS:
                yield found
            elif not is_sample(found.value):
                yield (
                    found if is_varied(found.value) else Found(kind, Grade.NOTICED, found.start, found.end, found.value)
                )
    yield from _connections(text)
    yield from _softer(text)


def find_own(text: str, patterns: Mapping[str, re.Pattern[str]]) -> Iterator[Found]:
    """What the repository's own patterns find."""
    for kind, pattern in patterns.items():
        for match in pattern.finditer(text):
            found = _found(kind, Grade.STOP, match)
            if found.value:
                yield found


def is_sample(value: str) -> bool:
    """Whether a value is a mark of ours or plainly one of documentation."""
    return bool(_MARK.fullmatch(value) or _SAMPLE.search(value))


def is_varied(value: str) -> bool:
    """A real token draws on many characters; the alphabet in its order is none."""
    tail = value[-24:]
    steps = sum(ord(after) - ord(before) == 1 for before, after in pairwise(tail))
    return len(set(tail)) >= 6 and steps < len(tail) * 2 // 3


@functools.cache
def _pattern(kind: str, *, loose: bool) -> re.Pattern[str]:
    """Compiled when a hint asks for it. `loose`: in any letter case, since a branch name may have been lower-cased."""
    if kind in PRIVATE_KEYS:
        return re.compile(PRIVATE_KEYS[kind])
    return re.compile(TOKENS[kind], re.IGNORECASE if loose else 0)


def _connections(text: str) -> Iterator[Found]:
    for pattern in (_URL, _DSN, _KEYED, _JDBC):
        for match in pattern.finditer(text):
            found = _found("connection-string", Grade.STOP, match)
            user = match["user"] if "user" in match.re.groupindex else ""
            if _MARK.fullmatch(found.value) or _NO_PASSWORD.fullmatch(found.value) or found.value == user:
                continue
            weak = _OWN_MACHINE.fullmatch(match["host"]) or len(found.value) < 3
            yield Found(found.kind, Grade.NOTICED, found.start, found.end, found.value) if weak else found


def _softer(text: str) -> Iterator[Found]:
    """What is often a sample or a test value: for the player, no stop."""
    for kind, pattern in (("private-key-header", _HEADER), ("json-web-token", _JWT), ("token-in-url", _TOKEN_IN_URL)):
        for match in pattern.finditer(text):
            found = _found(kind, Grade.NOTICED, match)
            if not is_sample(found.value):
                yield found


def _found(kind: str, grade: Grade, match: re.Match[str]) -> Found:
    group = "value" if "value" in match.re.groupindex else 0
    return Found(kind, grade, match.start(group), match.end(group), match[group])
