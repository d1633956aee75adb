"""Secrets with a format of their own: service tokens, private keys, payment cards.

- Checksums that distinguish a real number or key from one that only looks like it.
- Service tokens by prefix: kind, prefix, what follows, check.
- Payment cards, by brand, length and check digit.
- Private keys: armoured blocks, web tokens, key sets, wallets, seed phrases.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from assay.text.secrets.rules import Finding, Prefixed, SearchRule, search_rule

# --- Checksums that tell a real number or key from one that only looks like it ---

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_RIPPLE_TO_BITCOIN = str.maketrans("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz", _BASE58)
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit of the others."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def passes_base58_check(text: str) -> bool:
    """Whether a Base58 text ends in the double SHA-256 checksum of Bitcoin keys."""
    number = 0
    for letter in text:
        place = _BASE58.find(letter)
        if place < 0:
            return False
        number = number * 58 + place
    leading = len(text) - len(text.lstrip("1"))
    payload = b"\0" * leading + number.to_bytes((number.bit_length() + 7) // 8, "big")
    return len(payload) > 4 and _double_sha256(payload[:-4])[:4] == payload[-4:]


def passes_ripple(text: str) -> bool:
    """Whether a Ripple family seed, which has an alphabet of its own, ends in its checksum."""
    return passes_base58_check(text.translate(_RIPPLE_TO_BITCOIN))


def passes_bech32(text: str) -> bool:
    """Whether a text with a human-readable part is sound Bech32 or Bech32m."""
    text = text.lower()
    prefix, _, data = text.rpartition("1")
    if not prefix or any(letter not in _BECH32 for letter in data):
        return False
    values = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    return _bech32_remainder(values + [_BECH32.index(letter) for letter in data]) in {1, 0x2BC830A3}


def passes_stellar(text: str) -> bool:
    """Whether a Stellar seed ends in its CRC-16 checksum."""
    number = 0
    for letter in text:
        place = _BASE32.find(letter)
        if place < 0:
            return False
        number = number << 5 | place
    payload = number.to_bytes(len(text) * 5 // 8, "big")
    return _crc16(payload[:-2]) == int.from_bytes(payload[-2:], "little")


def _double_sha256(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def _bech32_remainder(values: Sequence[int]) -> int:
    generators = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate(generators):
            if top >> place & 1:
                remainder ^= generator
    return remainder


def _crc16(data: bytes) -> int:
    remainder = 0
    for byte in data:
        remainder ^= byte << 8
        for _ in range(8):
            remainder = (remainder << 1 ^ 0x1021 if remainder & 0x8000 else remainder << 1) & 0xFFFF
    return remainder


# --- Service tokens by prefix: kind, prefix, what follows, check ---
#
# Lengths are lower bounds where a service has changed them before. Account names, publishable keys and other ids that
# the services call public are left out.

_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_HEX = "[0-9a-fA-F]"
_BASE64 = "[A-Za-z0-9+/]"
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_END = "(?![A-Za-z0-9])"
_DUMMY = re.compile(r"x{6}|0{12}|\*{3}|\.{3}|…|your|placeholder|redacted", re.IGNORECASE)


def is_real(token: str) -> bool:
    """Whether a token is real: not a row of `x` or a placeholder such as `your-token`."""
    return not _DUMMY.search(token)


def has_digit(token: str) -> bool:
    """Whether a token has a digit after its prefix and is not a stand-in: names in code have none."""
    return is_real(token) and any(letter.isdigit() for letter in token[3:])


def is_mixed(token: str) -> bool:
    """Whether a token has small and capital letters and a digit, and is not a stand-in."""
    body = token[3:]
    return has_digit(token) and body.lower() != body and body.upper() != body


class _Row(NamedTuple):
    kind: str
    prefixes: str
    body: str
    check: Callable[[str], bool] = is_real


_TABLE = (
    # Clouds
    _Row("AWS access key", "AKIA ASIA ABIA ACCA", f"[0-9A-Z]{{16}}{_END}"),
    _Row("AWS access key", "A3T", f"[0-9A-Z]{{17}}{_END}", has_digit),
    _Row("AWS session token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", f"{_BASE64}{{80,3000}}=*"),
    _Row("AWS Bedrock key", "ABSK", f"{_BASE64}{{40,200}}=*"),
    _Row("AWS MWS token", "amzn.mws.", _UUID),
    _Row("AWS MWS token", "amzn1.oa2-cs.v1.", f"{_HEX}{{32,100}}"),
    _Row("Google API key", "AIza", f"{_WORD}{{30,60}}"),
    _Row("Google OAuth secret", "GOCSPX-", f"{_WORD}{{20,60}}"),
    _Row("Google access token", "ya29.", r"[A-Za-z0-9_.-]{20,2000}"),
    _Row("Google refresh token", "1//0", f"{_WORD}{{30,200}}"),
    _Row("Firebase server key", "AAAA", f"[A-Za-z0-9_-]{{7}}:APA91{_WORD}{{60,200}}"),
    _Row("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{32,80}}"),
    _Row("Alibaba access key", "LTAI", f"{_ALNUM}{{12,28}}{_END}", is_mixed),
    _Row("Tencent secret id", "AKID", f"{_ALNUM}{{28,36}}{_END}", is_mixed),
    _Row("Yandex key", "AQVN", f"{_WORD}{{30,60}}", is_mixed),
    _Row("Yandex token", "y0_ y0__", f"{_WORD}{{40,100}}", is_mixed),
    _Row("Yandex token", "t1.9", r"[A-Za-z0-9_=-]{20,300}\.[A-Za-z0-9_=-]{40,200}"),
    _Row("Heroku key", "HRKU-", f"{_WORD}{{30,80}}"),
    _Row("Fly token", "fm2_ fm1r_ fm1a_ fo1_", r"[A-Za-z0-9+/=_-]{30,2000}"),
    _Row("Render key", "rnd_", f"{_ALNUM}{{20,60}}", has_digit),
    _Row("Vercel token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", f"{_WORD}{{20,100}}", has_digit),
    _Row("Netlify token", "nfp_ nfc_ nfo_ nfb_ nfu_", f"{_ALNUM}{{30,60}}"),
    _Row("Cloudflare key", "v1.0-", f"{_HEX}{{24}}-{_HEX}{{100,200}}"),
    _Row("Cloudflare token", "cfut_ cfat_ cfk_", f"{_WORD}{{30,80}}", has_digit),
    _Row("Scaleway key", "SCW", f"[0-9A-Z]{{17}}{_END}", has_digit),
    _Row("Scalingo token", "tk-us-", f"{_WORD}{{40,60}}"),
    _Row("Linode token", "lin-", f"{_HEX}{{60,70}}{_END}"),
    _Row("Hetzner token", "hcloud_", f"{_ALNUM}{{40,80}}"),
    # Source code, packages, builds
    _Row("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,120}"),
    _Row("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,255}"),
    _Row(
        "GitLab token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        r"[\w.-]{18,120}",
    ),
    _Row("GitLab token", "glffct- glwt-", r"[\w.-]{18,120}"),
    _Row("GitLab token", "GR1348941", f"{_WORD}{{18,40}}"),
    _Row("GitLab session", "_gitlab_session=", f"{_HEX}{{32}}"),
    _Row("Bitbucket token", "ATBB", f"{_ALNUM}{{24,40}}{_END}"),
    _Row("Bitbucket token", "ATCTT3xFfG", r"[\w=.-]{40,300}"),
    _Row("Atlassian token", "ATATT3 ATSTT3 ATOAT3", r"[\w=.-]{40,400}"),
    _Row("npm token", "npm_", f"{_ALNUM}{{30,60}}"),
    _Row("PyPI token", "pypi-AgE pypi-", f"{_WORD}{{50,400}}"),
    _Row("RubyGems token", "rubygems_", f"{_HEX}{{40,64}}"),
    _Row("crates.io token", "cio", f"{_ALNUM}{{32}}{_END}", is_mixed),
    _Row("NuGet key", "oy2", f"[a-z0-9]{{43}}{_END}"),
    _Row("Clojars token", "CLOJARS_", f"{_HEX}{{40,80}}"),
    _Row("Hex token", "hexpm_", f"{_HEX}{{30,80}}"),
    _Row("Packagist token", "packagist_", f"{_ALNUM}{{30,80}}"),
    _Row("Docker token", "dckr_pat_ dckr_oat_", f"{_WORD}{{20,80}}"),
    _Row("Artifactory token", "AKCp", f"{_ALNUM}{{60,90}}"),
    _Row("Artifactory token", "cmVmdGtuOj", f"{_ALNUM}{{40,100}}"),
    _Row("CircleCI token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9_]{30,120}"),
    _Row("Buildkite token", "bkua_ bkaj_ bkpat_", f"{_ALNUM}{{30,60}}"),
    _Row("SonarQube token", "sqp_ sqa_ squ_", f"{_HEX}{{40}}"),
    _Row("Sourcegraph token", "sgp_ sgd_ slk_", r"[A-Fa-f0-9_]{40,100}"),
    _Row("Travis token", "travis_", f"{_ALNUM}{{22,40}}", is_mixed),
    _Row("Pulumi token", "pul-", f"{_HEX}{{40}}"),
    _Row("Vault token", "hvs. hvb. hvr.", f"{_WORD}{{20,300}}"),
    _Row("Vault token", "s.", f"{_ALNUM}{{24}}(?![A-Za-z0-9(.])", is_mixed),
    _Row("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_.-]{30,120}"),
    _Row("1Password token", "ops_eyJ", "[A-Za-z0-9_=-]{60,4000}"),
    _Row("1Password secret key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){4}[A-Z0-9]{5,6}"),
    _Row("Infisical token", "st.", f"{_HEX}{{8,40}}[.-][A-Za-z0-9.-]{{30,200}}"),
    _Row("Tailscale key", "tskey-", f"(?:[a-z]{{2,10}}-)?{_ALNUM}{{6,40}}(?:-{_ALNUM}{{10,60}})?"),
    _Row("Docker Swarm token", "SWMTKN-", r"\d-[a-z0-9]{40,60}-[a-z0-9]{20,30}"),
    _Row("K3s token", "K10", f"{_HEX}{{64}}::[\\w-]{{1,40}}:{_HEX}{{16,64}}"),
    _Row("Postman key", "PMAK-", f"{_HEX}{{20,30}}-{_HEX}{{30,40}}"),
    _Row("ReadMe key", "rdme_", r"[a-z0-9]{50,90}"),
    # Models
    _Row("Anthropic key", "sk-ant-", f"{_WORD}{{20,200}}"),
    _Row("OpenRouter key", "sk-or-", f"{_WORD}{{30,120}}"),
    _Row("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{_WORD}{{20,250}}"),
    _Row("OpenAI key", "sk-", f"{_WORD}{{20,250}}", has_digit),
    _Row("OpenAI session", "sess-", f"{_ALNUM}{{36,60}}", is_mixed),
    _Row("Hugging Face token", "hf_ api_org_", f"{_ALNUM}{{28,60}}"),
    _Row("Replicate token", "r8_", f"{_ALNUM}{{30,60}}"),
    _Row("Groq key", "gsk_", f"{_ALNUM}{{30,90}}"),
    _Row("xAI key", "xai-", f"{_ALNUM}{{40,120}}"),
    _Row("Perplexity key", "pplx-", f"{_ALNUM}{{30,80}}"),
    _Row("Together key", "tgp_v1_", f"{_WORD}{{30,80}}"),
    _Row("Fireworks key", "fw_ fpk_", f"{_ALNUM}{{20,60}}{_END}", is_mixed),
    _Row("Pinecone key", "pcsk_", r"[A-Za-z0-9_]{40,120}"),
    _Row("LangSmith key", "lsv2_pt_ lsv2_sk_ ls__", r"[a-f0-9_]{30,80}"),
    _Row("Langfuse key", "sk-lf-", _UUID),
    _Row("Voyage key", "pa-", f"{_WORD}{{40,60}}{_END}", is_mixed),
    _Row("Jina key", "jina_", f"{_WORD}{{40,90}}"),
    _Row("Tavily key", "tvly-", f"{_WORD}{{20,80}}"),
    _Row("Firecrawl key", "fc-", f"{_HEX}{{32}}{_END}"),
    _Row("NVIDIA key", "nvapi-", f"{_WORD}{{40,100}}"),
    _Row("Cerebras key", "csk-", "[a-z0-9]{40,60}"),
    _Row("ElevenLabs key", "sk_", f"{_HEX}{{48}}{_END}"),
    _Row("Weights & Biases key", "wandb_v1_", f"{_WORD}{{30,120}}"),
    # Chat, mail, phone
    _Row("Slack token", "xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxc- xoxd- xoxe-", r"[A-Za-z0-9%/+=-]{18,300}"),
    _Row("Slack token", "xoxe.", r"xox[bp]-\d-[A-Za-z0-9-]{30,300}"),
    _Row("Slack token", "xapp-", r"\d-[A-Za-z0-9]{6,20}-\d{6,20}-[a-zA-Z0-9]{20,100}"),
    _Row("Slack token", "xwfp-", r"[A-Za-z0-9-]{20,200}"),
    _Row("SendGrid key", "SG.", r"[\w-]{16,32}\.[\w-]{30,60}"),
    _Row("Twilio key", "SK", f"[0-9a-f]{{32}}{_END}"),
    _Row("Mailgun key", "key-", f"[0-9a-z]{{32}}{_END}", has_digit),
    _Row("Brevo key", "xkeysib- xsmtpsib-", f"{_ALNUM}{{40,80}}-{_ALNUM}{{12,24}}"),
    _Row("Resend key", "re_", r"[A-Za-z0-9]{6,12}_[A-Za-z0-9]{18,40}", is_mixed),
    _Row("Mailchimp key", "md-", f"[A-Za-z0-9_-]{{22}}{_END}", is_mixed),
    _Row("HubSpot token", "pat-", f"(?:na|eu|ap|af|sa)\\d-{_UUID}"),
    _Row("Intercom token", "dG9rO", r"[A-Za-z0-9+/=_-]{30,100}"),
    _Row("Discord token", "mfa.", f"{_WORD}{{60,120}}"),
    # Payment and trade
    _Row("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", r"[0-9A-Za-z_]{14,255}"),
    _Row("Stripe key", "whsec_", r"[0-9A-Za-z+/=]{20,100}"),
    _Row("Square token", "sq0atp- sq0csp- sq0ids-", f"{_WORD}{{20,60}}"),
    _Row("Square token", "EAAA", f"{_WORD}{{56,80}}{_END}", is_mixed),
    _Row("Facebook token", "EAA", f"{_ALNUM}{{60,400}}", is_mixed),
    _Row("Instagram token", "IGQ IGAA", f"{_WORD}{{60,400}}", is_mixed),
    _Row("PayPal token", "access_token$production$ access_token$sandbox$", r"[0-9a-z]{13,20}\$[0-9a-f]{32}"),
    _Row("Plaid token", "access-sandbox- access-production- access-development-", _UUID),
    _Row("Flutterwave key", "FLWSECK-", r"[0-9A-Za-z]{10,60}(?:-X)?"),
    _Row("Flutterwave key", "FLWSECK_TEST-", r"[0-9A-Za-z]{10,60}(?:-X)?"),
    _Row("Razorpay key", "rzp_live_ rzp_test_", f"{_ALNUM}{{14,30}}"),
    _Row("Mollie key", "live_ test_", f"(?<!k_live_)(?<!k_test_){_ALNUM}{{30,60}}{_END}", is_mixed),
    _Row("Paddle key", "pdl_live_apikey_ pdl_sdbx_apikey_", r"[A-Za-z0-9_]{30,120}"),
    _Row("EasyPost key", "EZAK EZTK", f"{_ALNUM}{{54}}"),
    _Row("Shippo token", "shippo_live_ shippo_test_", f"{_HEX}{{40}}"),
    _Row("Duffel token", "duffel_live_ duffel_test_", f"{_WORD}{{40,60}}"),
    _Row("GoCardless token", "live_ sandbox_", f"(?<!k_live_){_WORD}{{40}}{_END}", is_mixed),
    _Row("Adyen key", "AQE", r"[A-Za-z0-9+/=_-]{80,400}", is_mixed),
    _Row("Shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_", f"{_HEX}{{30,40}}"),
    _Row("Checkout.com key", "sk_sbox_", r"[a-z0-9*#$=]{20,60}"),
    _Row("Coinbase key", "organizations/", f"{_UUID}/apiKeys/{_UUID}"),
    # Watching
    _Row("Sentry token", "sntrys_ sntryu_ sntrya_ sntryi_", r"[A-Za-z0-9+/=_-]{30,1000}"),
    _Row("Grafana token", "glsa_", f"{_ALNUM}{{20,50}}(?:_{_HEX}{{8}})?"),
    _Row("Grafana token", "glc_", r"[A-Za-z0-9+/=_-]{30,1000}"),
    _Row("Grafana key", "eyJrIjoi", r"[A-Za-z0-9+/=_-]{40,400}"),
    _Row("New Relic key", "NRAK- NRJS- NRII- NRIQ- NRRA- NRBR- NRSP-", f"{_WORD}{{18,60}}"),
    _Row("Dynatrace token", "dt0c01. dt0s01. dt0s02. dt0s03. dt0s16.", r"[A-Z0-9]{8,32}\.[A-Z0-9]{30,100}"),
    _Row("Honeycomb key", "hcaik_ hcxik_ hcamk_ hcalk_ hcxlk_ hcbik_", r"[a-z0-9_]{30,100}"),
    _Row("PostHog key", "phx_ phs_", f"{_ALNUM}{{30,60}}"),
    _Row("LaunchDarkly key", "sdk- api-", f"{_UUID}{_END}"),
    _Row("Prefect key", "pnu_ pnb_", f"{_ALNUM}{{30,60}}"),
    _Row("dbt token", "dbtc_ dbts_ dbtu_", r"[\w+/=-]{30,100}"),
    _Row("Databricks token", "dapi dkea dose", f"[0-9a-f]{{32}}(?:-\\d)?{_END}"),
    # Documents, design, data
    _Row("Linear token", "lin_api_ lin_oauth_ lin_wh_", f"{_ALNUM}{{30,80}}"),
    _Row("Figma token", "figd_ figo_ figu_ figur_", f"{_WORD}{{30,80}}"),
    _Row("Notion token", "ntn_", f"{_ALNUM}{{40,60}}"),
    _Row("Notion token", "secret_", f"{_ALNUM}{{40,46}}{_END}", is_mixed),
    _Row("Airtable token", "pat", f"{_ALNUM}{{14}}\\.{_HEX}{{64}}"),
    _Row("Airtable key", "key", f"{_ALNUM}{{14}}{_END}", is_mixed),
    _Row("Asana token", "1/ 2/", r"\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}"),
    _Row("Contentful token", "CFPAT-", f"{_WORD}{{40,50}}"),
    _Row("Typeform token", "tfp_", f"{_WORD}{{40,80}}"),
    _Row("ClickUp token", "pk_", r"\d{5,12}_[0-9A-Z]{30,40}"),
    _Row("Dropbox token", "sl.", f"{_WORD}{{100,1500}}", is_mixed),
    _Row("Supabase key", "sbp_", f"(?:v0_)?{_HEX}{{40}}"),
    _Row("Supabase key", "sb_secret_", f"{_WORD}{{20,60}}"),
    _Row("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{30,90}"),
    _Row("Neon key", "napi_", r"[a-z0-9]{40,90}"),
    _Row("Prisma key", "prisma+postgres://accelerate.prisma-data.net/?api_key=", r"([A-Za-z0-9_.-]{20,2000})"),
    _Row("Mapbox token", "sk.eyJ tk.eyJ", r"[A-Za-z0-9_-]{20,200}\.[A-Za-z0-9_-]{16,60}"),
    _Row("LinkedIn token", "WPL_AP0. WPL_AP1.", r"[A-Za-z0-9._=-]{10,60}"),
    _Row("Twitch token", "oauth:", f"[a-z0-9]{{30}}{_END}"),
    _Row("Twitter bearer token", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,200}"),
    _Row("Riot key", "RGAPI-", _UUID),
    _Row("Matrix token", "syt_", r"[A-Za-z0-9]{4,60}_[A-Za-z0-9]{16,40}_[A-Za-z0-9]{4,10}"),
    _Row("ngrok token", "2", r"[A-Za-z0-9]{26}_[A-Za-z0-9]{18,30}(?!\w)", is_mixed),
    _Row("Cloudflare tunnel token", "eyJhIjoi", r"[A-Za-z0-9+/=_-]{60,400}"),
    _Row("Adobe secret", "p8e- s8e-", f"{_WORD}{{30,40}}"),
    _Row("Okta token", "SSWS ", f"(00{_WORD}{{38,44}})"),
    _Row("Frame.io token", "fio-u-", f"{_WORD}{{60,70}}"),
    _Row("Typesense key", "ts_admin_", f"{_ALNUM}{{20,60}}"),
    _Row("Unkey key", "unkey_", f"{_ALNUM}{{16,60}}"),
    _Row("Svix secret", "svix_ testsk_", r"[\w.-]{24,80}", has_digit),
    _Row("Zuplo key", "zpka_ zpct_", r"[a-z0-9_]{30,90}"),
    _Row("Assay token", "assay_", f"{_WORD}{{30,80}}", has_digit),
    # Keys of wallets and tools
    _Row("age key", "AGE-SECRET-KEY-1 age-secret-key-1", r"[0-9A-Za-z]{50,70}"),
    _Row("age key", "AGE-PLUGIN-", r"[A-Z0-9-]{2,30}1[02-9AC-HJ-NP-Z]{20,400}"),
    _Row("extended private key", "xprv yprv zprv tprv uprv vprv", r"[A-Za-z0-9]{90,120}"),
    _Row("Nostr key", "nsec1", f"[a-z0-9]{{58}}{_END}"),
    _Row("Cardano key", "ed25519_sk1 ed25519e_sk1 ed25519bip32secret1", r"[02-9ac-hj-np-z]{50,200}"),
    _Row("Cardano key", "addr_xsk1 root_xsk1 acct_xsk1 stake_sk1 addr_sk1", r"[02-9ac-hj-np-z]{50,250}", passes_bech32),
    _Row("Tezos key", "edsk edesk spsk p2sk", f"[1-9A-HJ-NP-Za-km-z]{{48,100}}{_END}", passes_base58_check),
    _Row("Kubernetes bootstrap token", "kubeadm join", r"[^\n]{0,100}--token[ =]([a-z0-9]{6}\.[a-z0-9]{16})"),
)


def _make_prefixed() -> Iterator[Prefixed]:
    for row in _TABLE:
        for prefix in row.prefixes.split(" ") if not row.prefixes.endswith(" ") else [row.prefixes]:
            yield Prefixed(kind=row.kind, prefix=prefix, pattern=re.escape(prefix) + row.body, check=row.check)


PREFIXED = tuple(_make_prefixed())
"""Tokens that begin with a fixed text."""

_AZURE_MARKS = "AzFu|AzSe|AzCa|AZDO|ACDb|AIoT|AEhb|ASbT|APIm|\\+ASt|\\+AEh|\\+ARm|\\+ASb"
SHAPED: tuple[SearchRule, ...] = (
    search_rule(
        "Azure client secret", "q~", r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{30,36}(?![\w~])", flags=0, check=is_real
    ),
    search_rule(
        "Azure key",
        "azfu azse azca azdo acdb aiot aehb asbt apim +ast +aeh +arm +asb",
        rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{32,86}}(?:{_AZURE_MARKS})[A-Za-z0-9+/]{{2,10}}={{0,2}}(?![A-Za-z0-9+/])",
        flags=0,
    ),
    search_rule("Azure key", "jqqj99", rf"(?<!{_ALNUM}){_ALNUM}{{30,60}}JQQJ99{_ALNUM}{{20,40}}", flags=0),
    search_rule(
        "Terraform token", ".atlasv1.", rf"(?<!{_ALNUM}){_ALNUM}{{10,20}}\.atlasv1\.{_WORD}{{40,100}}", flags=0
    ),
    search_rule("Bitwarden token", "0.", rf"(?<![\w.])0\.{_UUID}\.{_ALNUM}{{30}}:{_BASE64}{{20,30}}={{0,2}}", flags=0),
    search_rule("Mailchimp key", "-us", rf"(?<!{_ALNUM})[0-9a-f]{{32}}-us\d{{1,2}}(?!\w)", flags=0),
    search_rule("Mailgun key", "-", r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])", flags=0),
    search_rule("Salesforce token", "00d", rf"(?<!{_ALNUM})00D{_ALNUM}{{12,15}}![A-Za-z0-9_.]{{40,200}}", flags=0),
    search_rule(
        "Telegram bot token", ":", rf"(?<!\w)(?:bot)?(\d{{8,10}}:{_WORD}{{35}})(?!\w)", flags=0, check=has_digit
    ),
    search_rule(
        "Discord bot token", ".", rf"(?<![\w.-])[MNO]{_WORD}{{22,27}}\.{_WORD}{{6,7}}\.{_WORD}{{27,45}}(?!\w)", flags=0
    ),
    search_rule(
        "AWS secret key",
        "aws secret",
        r"(?:aws|secret)[\w.-]{0,30}[\"']?\s{0,3}(?:[:=]|=>)\s{0,3}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        check=is_mixed,
        needs=r"[A-Za-z0-9/+]{40}",
        begins=True,
    ),
    search_rule(
        "Twilio key", "twilio", r"(?i:twilio)[^\n]{0,60}?(?<![0-9a-zA-Z])([0-9a-f]{32})(?![0-9a-zA-Z])", flags=0
    ),
    search_rule(
        "Rancher token",
        "token-",
        r"(?<!\w)(?:kubeconfig-[\w.-]{1,40}|token-[a-z0-9]{5}):([a-z0-9]{54})(?!\w)",
        flags=0,
    ),
)
"""Tokens that begin with no fixed text and have a shape of their own."""


# --- Payment cards, by brand, length and check digit ---

CARD = "card number"
_GROUPED = r"\d{4}([ .-])\d{4}\1\d{4}\1\d{1,7}|3[47]\d{2}([ .-])\d{6}\2\d{5}|3[0689]\d{2}([ .-])\d{6}\3\d{4}"
_NUMBER = re.compile(rf"(?<![\w.])(?<![\w.]-)(?:{_GROUPED}|\d{{14,19}})(?![\w-]|[.,]\d)")
_BRANDS = re.compile(
    r"4\d{15}|4\d{18}"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}(?:\d{3})?"  # Discover
    r"|3(?:0[0-5]|09|[689]\d)\d{11}"  # Diners Club
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|62\d{14,17}|81\d{14}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"  # Maestro
    r"|220[0-4]\d{12,15}|(?:60|65|81|82|508)\d{12,14}"  # Mir, RuPay
)
_OTHER_NUMBER = re.compile(
    r"order|tracking|invoice|serial|isbn|imei|iccid|phone|ticket|parcel|shipment|transaction id|trace|request"
    r"|timestamp|account id|user id|"
    r"snowflake|ean|gtin|sku|barcode|reference|bestell|rechnung|id\W{0,3}$",
    re.IGNORECASE,
)


def find_cards(text: str) -> Iterator[Finding]:
    """Find numbers of payment cards."""
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if not _BRANDS.fullmatch(digits) or not passes_luhn(digits) or len(set(digits)) < 2:
            continue
        if match[0].isdigit() and _OTHER_NUMBER.search(text, max(0, match.start() - 30), match.start()):
            continue
        yield Finding(match.start(), match.end(), CARD)


# --- Private keys: armoured blocks, web tokens, key sets, wallets, seed phrases ---

PRIVATE_KEY = "private key"
SEED_PHRASE = "seed phrase"
_LONGEST_KEY = 20_000
_BEGIN = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|[A-Z ]{0,20}SECRET KEY) ?-{4,5}"
)
_BLOCK_END = re.compile(
    r"-{4,5} ?END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|[A-Z ]{0,20}SECRET KEY) ?-{4,5}"
)
_CUT_OFF = re.compile(r"(?:[\s\\>|*#\"'nr]{0,12}[A-Za-z0-9+/=]{16,100}){1,400}")
"""What follows a header whose end was cut off."""

_PUTTY = re.compile(r"Private-Lines: \d{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{4,80}\s{0,4}){1,400})")
_PUTTY_MAC = re.compile(r"Private-MAC: ([0-9a-fA-F]{32,64})")

_LETTERS_RUN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{29,60}+(?![A-Za-z0-9])")
WALLETS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("Bitcoin private key", re.compile(r"5[HJK]\w{49}|[KLc9]\w{50,51}"), passes_base58_check),
    ("encrypted Bitcoin key", re.compile(r"6P\w{56}"), passes_base58_check),
    ("Stellar seed", re.compile(r"S[A-Z2-7]{55}"), passes_stellar),
    ("Ripple seed", re.compile(r"s\w{28}"), passes_ripple),
)

_SEED_RUN = re.compile(
    r"(?<![A-Za-z])[A-Za-z]{3,8}(?:[\s,;|\"'`]{1,4}(?:\d{1,2}[.):]?\s{0,2}|[\"'`-]\s?)?[A-Za-z]{3,8}(?![A-Za-z])){11,}+"
)
_SEED_WORD = re.compile(r"[A-Za-z]{3,8}")
_SEED_LABEL = re.compile(
    r"\bseed\b|mnemonic|metamask|ledger|trezor|wallet|(?:recovery|backup|secret)[- ]?(?:phrase|words)", re.IGNORECASE
)
_SEED_LENGTHS = (12, 15, 18, 21, 24)
"""Words of a seed phrase, as BIP-39 has it."""
_LABEL_REACH = 80
"""Characters before a phrase in which something must say what it is."""

BASE64_OF_BEGIN = "LS0tLS1CRUdJTi"
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{40,40000}={0,2}")

OTHER_KEYS = (
    search_rule(
        "WireGuard key", "privatekey presharedkey", r"(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)"
    ),
    search_rule(
        "Ethereum private key",
        "private secret signing priv wallet deployer signer pk",
        r"(?:private|secret|signing|deployer|signer|wallet|priv|\bpk)[\w \-]{0,30}[\"'`]?\s{0,3}(?:[:=]|is|->"
        r"|=>)?\s{0,3}"
        r"[\"'`]?((?:0x)?[0-9a-f]{64})(?![0-9a-z])",
        needs=r"[0-9a-fA-F]{64}",
        begins=True,
        stride=40,
    ),
    search_rule(
        "Solana private key",
        "solana phantom keypair secret private",
        r"(?:solana|phantom|keypair|secret|private)[^\n]{0,60}?((?<![A-Za-z0-9])[A-Za-z0-9]{86,89}(?![A-Za-z0-9]))",
        needs=r"[A-Za-z0-9]{86}",
        begins=True,
        stride=40,
    ),
    search_rule("Solana private key", "[", r"\[\s?(\d{1,3}(?:\s?,\s?\d{1,3}){63})\s?\]"),
    search_rule(
        "minisign key", "minisign", r"untrusted comment: (?:minisign|rsign) encrypted secret key\s{1,3}(\S{60,400})"
    ),
    search_rule("signify key", "signify", r"untrusted comment: signify secret key\s{1,3}(\S{60,400})"),
    search_rule(
        "XML private key",
        "rsakeyvalue dsakeyvalue",
        r"<(?:D|P|Q|DP|DQ|InverseQ|X)>([A-Za-z0-9+/=\s]{16,2000})</",
        flags=0,
    ),
)


def find_blocks(text: str) -> Iterator[Finding]:
    """Find armoured private keys, also on one line with written line ends, and those whose end is missing."""
    if "BEGIN" not in text:
        return
    begins = list(_BEGIN.finditer(text))
    ends = _BLOCK_END.finditer(text)
    end = next(ends, None)
    for begin, following in pairwise([*begins, None]):
        if begin is None:
            continue
        while end is not None and end.start() < begin.end():
            end = next(ends, None)
        before = len(text) if following is None else following.start()
        if end is not None and end.start() < min(before, begin.end() + _LONGEST_KEY):
            yield Finding(begin.start(), end.end(), PRIVATE_KEY)
        elif (rest := _CUT_OFF.match(text, begin.end(), before)) is not None:
            yield Finding(begin.start(), rest.end(), PRIVATE_KEY)


def find_putty(text: str) -> Iterator[Finding]:
    """Find the private part of PuTTY key files."""
    if "Private-Lines" in text or "Private-MAC" in text:
        for pattern in (_PUTTY, _PUTTY_MAC):
            for match in pattern.finditer(text):
                yield Finding(match.start(1), match.start(1) + len(match[1].rstrip()), "PuTTY private key")


def find_encoded_blocks(text: str) -> Iterator[Finding]:
    """Find armoured private keys that were encoded once more, as Kubernetes keeps them; certificates are left alone."""
    place = text.find(BASE64_OF_BEGIN)
    while place >= 0:
        match = _BASE64_RUN.match(text, place)
        if match is not None and b"PRIVATE KEY" in _decode_start(match[0]):
            yield Finding(match.start(), match.end(), PRIVATE_KEY)
        place = text.find(BASE64_OF_BEGIN, match.end() if match is not None else place + 1)


_WEB_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,8000}+\.(?:eyJ)?[A-Za-z0-9_-]{8,16000}+(?:\.[A-Za-z0-9_-]{0,16000}+){0,3}"
)
_ESCAPED_WEB_TOKEN = re.compile(
    r"(?<=\\[nrt])eyJ[A-Za-z0-9_-]{8,8000}+\.eyJ[A-Za-z0-9_-]{8,16000}+(?:\.[A-Za-z0-9_-]{0,16000}+)?"
)


def find_web_tokens(text: str) -> Iterator[Finding]:
    """Find JSON web tokens, signed or encrypted: the first part must be a JSON header that names an algorithm."""
    if "eyJ" not in text:
        return
    for pattern in (_WEB_TOKEN, _ESCAPED_WEB_TOKEN):
        for match in pattern.finditer(text):
            head = _decode_start(match[0].split(".", 1)[0])
            if b'"alg' in head or b'"typ' in head or b'"enc' in head or b'"kid' in head or ".eyJ" in match[0]:
                yield Finding(match.start(), match.end(), "JSON web token")


_JWK = re.compile(r"[\"']kty[\"']\s?:\s?[\"'](RSA|EC|OKP|oct)[\"']")
_JWK_PARTS = {
    True: re.compile(r"[\"']k[\"']\s?:\s?[\"']([A-Za-z0-9_-]{16,2000})[\"']"),
    False: re.compile(r"[\"'](?:d|p|q|dp|dq|qi)[\"']\s?:\s?[\"']([A-Za-z0-9_-]{16,2000})[\"']"),
}


def find_key_sets(text: str) -> Iterator[Finding]:
    """Find the private members of JSON web keys; public keys have none."""
    if "kty" not in text:
        return
    kinds = {match[1] for match in _JWK.finditer(text)}
    for symmetric in sorted({kind == "oct" for kind in kinds}):
        for match in _JWK_PARTS[symmetric].finditer(text):
            yield Finding(match.start(1), match.end(1), "JSON web key")


def find_wallets(text: str) -> Iterator[Finding]:
    """Find keys of wallets whose checksum holds."""
    for match in _LETTERS_RUN.finditer(text):
        for kind, shape, passes in WALLETS:
            if shape.fullmatch(match[0]) and passes(match[0]):
                yield Finding(match.start(), match.end(), kind)


def find_seed_phrases(text: str) -> Iterator[Finding]:
    """Find seed phrases: as many short words in a row as such a phrase has, after words that say what it is.

    Where the sentence goes on after the phrase, some of its text is masked too: better than masking too little.
    """
    for run in _SEED_RUN.finditer(text):
        if not _SEED_LABEL.search(text, max(0, run.start() - _LABEL_REACH), run.start()):
            continue
        words = list(islice(_SEED_WORD.finditer(text, run.start(), run.end()), max(_SEED_LENGTHS)))
        length = max(length for length in _SEED_LENGTHS if length <= len(words))
        yield Finding(words[0].start(), words[length - 1].end(), SEED_PHRASE)


def _decode_start(encoded: str) -> bytes:
    start = encoded[:80].replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(start[: len(start) // 4 * 4])
    except (ValueError, binascii.Error):
        return b""
