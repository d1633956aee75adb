"""Secrets of many kinds and lines that only look like them, from a seeded generator. None was ever in use."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def _some(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def _jwt(rng: random.Random) -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{rng.randrange(10**9)}"}}')
    encoded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, _some(rng, ALNUM + "-_", 43)])


def _private_key(rng: random.Random) -> str:
    kind = rng.choice(["RSA ", "EC ", "OPENSSH ", ""])
    body = "\n".join(_some(rng, ALNUM + "+/", 64) for _ in range(4))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def _password(rng: random.Random) -> str:
    return _some(rng, string.ascii_letters, 6) + _some(rng, string.digits, 3) + rng.choice("!#_-")


Made = tuple[str, str]
"""The secret, and the text around it with `{}` in its place."""

KINDS: dict[str, Callable[[random.Random], Made]] = {
    "AWS access key": lambda r: ("AKIA" + _some(r, string.ascii_uppercase + string.digits, 16), "the key {} is ours"),
    "AWS secret key": lambda r: (_some(r, ALNUM + "/+", 40), "aws_secret_access_key = {}"),
    "Azure storage key": lambda r: (_some(r, ALNUM + "+/", 86) + "==", "AccountName=x;AccountKey={};"),
    "GitHub token": lambda r: (r.choice(["ghp_", "gho_", "ghs_"]) + _some(r, ALNUM, 36), "clone with {}"),
    "GitHub fine-grained token": lambda r: ("github_pat_" + _some(r, ALNUM + "_", 82), "token {}."),
    "GitLab token": lambda r: ("glpat-" + _some(r, ALNUM, 20), "use {} for the mirror"),
    "Slack token": lambda r: (f"xoxb-{r.randrange(10**11, 10**12)}-{_some(r, ALNUM, 24)}", "bot: {}"),
    "Stripe key": lambda r: ("sk_live_" + _some(r, ALNUM, 24), "charge with {} please"),
    "Google API key": lambda r: ("AIza" + _some(r, ALNUM + "_-", 35), "maps?key={}"),
    "OpenAI key": lambda r: ("sk-proj-" + _some(r, ALNUM, 48), "OPENAI_API_KEY={}"),
    "Anthropic key": lambda r: ("sk-ant-api03-" + _some(r, ALNUM, 80), "export KEY={}"),
    "Hugging Face token": lambda r: ("hf_" + _some(r, ALNUM, 34), "login --token {}"),
    "npm token": lambda r: ("npm_" + _some(r, ALNUM, 36), "//packages.example.org/:_authToken={}"),
    "PyPI token": lambda r: ("pypi-AgEIcHlwaS5vcmc" + _some(r, ALNUM + "-_", 80), "twine upload -p {}"),
    "SendGrid key": lambda r: (f"SG.{_some(r, ALNUM, 22)}.{_some(r, ALNUM, 43)}", "mail goes out with {}"),
    "Twilio key": lambda r: ("SK" + _some(r, HEX, 32), "twilio {} for texts"),
    "Mailchimp key": lambda r: (f"{_some(r, HEX, 32)}-us{r.randrange(1, 20)}", "lists: {}"),
    "Telegram bot token": lambda r: (f"{r.randrange(10**8, 10**10)}:{_some(r, ALNUM, 35)}", "bot {} answers"),
    "Discord bot token": lambda r: (
        f"M{_some(r, ALNUM, 23)}.{_some(r, ALNUM, 6)}.{_some(r, ALNUM, 27)}",
        "discord {} joins",
    ),
    "JSON web token": lambda r: (_jwt(r), "Cookie: session={}"),
    "private key": lambda r: (_private_key(r), "Here it is:\n{}\nKeep it."),
    "password in an address": lambda r: (_password(r), "postgresql://app:{}@db.example.org:5432/shop"),
    "named password": lambda r: (_password(r), r.choice(["password: {}", 'password="{}"', "DB_PASSWORD={}"])),
    "bearer token": lambda r: (_some(r, ALNUM, 40) + "7", "Authorization: Bearer {}"),
    "DigitalOcean token": lambda r: ("dop_v1_" + _some(r, HEX, 64), "doctl auth init -t {}"),
    "Shopify token": lambda r: ("shpat_" + _some(r, HEX, 32), "store {} sync"),
}


def secrets(seed: int = 1, each: int = 10) -> list[tuple[str, Made]]:
    """So many of each kind."""
    rng = random.Random(seed)
    return [(kind, make(rng)) for kind, make in KINDS.items() for _ in range(each)]


_PROSE = """The password policy asks for twelve characters.
Tokens are counted by the tokenizer of the model.
Ask Priya for the secret of her sourdough.
The token bucket refills every 100 milliseconds.
Rotate the API key every 90 days; the API key is kept in the vault.
A secret is only a secret while nobody writes it down.
password: required, at least twelve characters
token: the unit in which models count text
The passphrase is asked for once and never stored.
secret: see the vault
We keep credentials in the vault, never in the repository.
api_key = os.environ["SERVICE_API_KEY"]
token = tokenizer.encode(text)
password = getpass.getpass()
client_secret: ${CLIENT_SECRET}
password: <your password>
auth_token = settings.auth_token
def check_password(password: str, hashed: bytes) -> bool:
max_tokens: 4096
secretName: tls-certificate
postgresql://user:password@localhost/name
https://example.org/docs/password-reset?step=2
git clone https://github.com/example/repository.git
ssh git@github.com:example/repository.git
The key is under the mat, the token on the shelf.
Set ASSAY_DB to the path of the store.
The rate limiter hands out 20 tokens per second.
if token is None: raise PermissionError
access_key_id comes from the instance profile
sig verification failed for the package""".splitlines()


def innocent(seed: int = 2, each: int = 60) -> list[str]:
    """Lines without a secret: prose, code, hashes, ids, encoded images, addresses."""
    rng = random.Random(seed)
    made: list[str] = list(_PROSE)
    for _ in range(each):
        digest = hashlib.sha256(rng.randbytes(8)).hexdigest()
        made += [
            f"commit {digest[:40]}",
            f"sha256:{digest}",
            f"integrity sha512-{base64.b64encode(rng.randbytes(64)).decode()}",
            f"trace {uuid.UUID(bytes=rng.randbytes(16))} took {rng.randrange(900)} ms",
            f"m_01J{_some(rng, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 23)} supersedes it",
            f"![logo](data:image/png;base64,{base64.b64encode(rng.randbytes(120)).decode()})",
            f"https://cdn.example.org/assets/app.{digest[:20]}.js?v={rng.randrange(10**6)}",
            f"The build of {rng.choice(['March', 'May'])} has {rng.randrange(10**6):,} lines in {digest[:7]}.",
            f"x = [{', '.join(str(rng.randrange(1000)) for _ in range(8))}]",
            f'etag: W/"{digest[:16]}"',
        ]
    return made
