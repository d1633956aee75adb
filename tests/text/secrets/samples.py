"""The development list: secrets as people write them down, and what only looks like one. None was ever in use.

A secret stands between ⟦ and ⟧. `{W20}` is replaced by 20 letters and digits drawn by chance, so that this file holds no
token itself: `W` letters and digits, `L` letters, `l` small letters, `U` capitals, `D` digits, `H` small hexadecimal,
`B` Base64, `S` Base64 for addresses, `C` capitals and digits, `z` small letters and digits, `V` Base32.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
import string
from typing import NamedTuple

from tests.text.secrets.made import MADE

ALPHABETS = {
    "W": string.ascii_letters + string.digits,
    "L": string.ascii_letters,
    "l": string.ascii_lowercase,
    "U": string.ascii_uppercase,
    "D": string.digits,
    "H": "0123456789abcdef",
    "B": string.ascii_letters + string.digits + "+/",
    "S": string.ascii_letters + string.digits + "-_",
    "C": string.ascii_uppercase + string.digits,
    "z": string.ascii_lowercase + string.digits,
    "V": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
}
_BLANK = re.compile(r"\{([WLlUDHBSCzV])(\d+)\}")


class Sample(NamedTuple):
    """A text, and the secrets in it."""

    text: str
    secrets: tuple[str, ...]


SECRETS = r"""
AKIA key in prose: rotate ⟦AKIA{C16}⟧ before Friday
aws_secret_access_key = ⟦{B40}⟧
AWS_SECRET_ACCESS_KEY="⟦{B40}⟧"
{"AccessKeyId": "⟦ASIA{C16}⟧", "SecretAccessKey": "⟦{B40}⟧", "SessionToken": "⟦{B300}⟧"}
aws configure set aws_secret_access_key ⟦{B40}⟧
export AWS_SESSION_TOKEN=⟦{B200}⟧==
git clone https://⟦ghp_{W36}⟧@github.com/acme/app.git
remote: https://x-access-token:⟦ghs_{W36}⟧@github.com/acme/app
GITHUB_TOKEN: ⟦github_pat_{W22}_{W59}⟧
The mirror uses ⟦glpat-{S20}⟧ until May
CI_JOB_TOKEN=⟦glcbt-{z2}_{S20}⟧
runner registration ⟦GR1348941{S20}⟧
Bitbucket app password ⟦ATBB{W32}⟧
Jira API token is ⟦ATATT3xFfGF0{S180}={H8}⟧
slack: ⟦xoxb-{D12}-{D13}-{W24}⟧
SLACK_APP_TOKEN=⟦xapp-1-A{C10}-{D13}-{H64}⟧
user token ⟦xoxp-{D12}-{D12}-{D12}-{H32}⟧ leaked
post to https://hooks.slack.com/services/⟦T{C8}/B{C10}/{W24}⟧
https://discord.com/api/webhooks/{D18}/⟦{S68}⟧
https://acme.webhook.office.com/webhookb2/⟦{H8}-{H4}-{H4}-{H4}-{H12}@{H8}-{H4}-{H4}-{H4}-{H12}/IncomingWebhook/{H32}/{H8}-{H4}-{H4}-{H4}-{H12}⟧
https://hooks.zapier.com/hooks/catch/⟦{D7}/{z7}⟧/
https://maker.ifttt.com/trigger/door/with/key/⟦{S22}⟧
https://chat.googleapis.com/v1/spaces/AAAA{W7}/messages?key=⟦AIza{S35}⟧&token=⟦{S43}%3D⟧
https://api.telegram.org/bot⟦{D10}:AA{S33}⟧/sendMessage
TELEGRAM_BOT_TOKEN=⟦{D9}:AA{S33}⟧
https://oapi.dingtalk.com/robot/send?access_token=⟦{H64}⟧
https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
https://open.feishu.cn/open-apis/bot/v2/hook/⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
https://hook.eu1.make.com/⟦{z32}⟧
STRIPE_SECRET_KEY=⟦sk_live_{W24}⟧
stripe listen gave ⟦whsec_{H64}⟧
restricted key ⟦rk_live_{W99}⟧
Google Maps: ⟦AIza{S35}⟧
client_secret: ⟦GOCSPX-{S28}⟧
Authorization: Bearer ⟦ya29.{S120}⟧
refresh token: ⟦1//0{S60}⟧
OPENAI_API_KEY=⟦sk-proj-{S74}T3BlbkFJ{S74}⟧
old style openai ⟦sk-{W20}T3BlbkFJ{W20}⟧
ANTHROPIC_API_KEY=⟦sk-ant-api03-{S93}AA⟧
openrouter ⟦sk-or-v1-{H64}⟧
groq: ⟦gsk_{W52}⟧
hf login with ⟦hf_{L34}⟧
REPLICATE_API_TOKEN=⟦r8_{W37}⟧
pplx key ⟦pplx-{W48}⟧ in the notebook
xai ⟦xai-{W80}⟧
pinecone: ⟦pcsk_{W6}_{W63}⟧
LANGCHAIN_API_KEY=⟦lsv2_pt_{H32}_{H10}⟧
WANDB_API_KEY=⟦{H40}⟧
MISTRAL_API_KEY=⟦{W32}⟧
COHERE_API_KEY="⟦{W40}⟧"
DEEPSEEK_API_KEY=⟦sk-{H32}⟧
//registry.npmjs.org/:_authToken=⟦npm_{W36}⟧
_auth=⟦{B40}==⟧
twine upload -u __token__ -p ⟦pypi-AgEIcHlwaS5vcmc{S120}⟧ dist/*
gem push needs ⟦rubygems_{H48}⟧
cargo login ⟦cio{W31}7⟧
nuget key ⟦oy2{z43}⟧
docker login -u acme -p ⟦dckr_pat_{S27}⟧
{"auths": {"https://index.docker.io/v1/": {"auth": "⟦YWNtZTpodW50ZXIyLXh5eg==⟧"}}}
SENTRY_AUTH_TOKEN=⟦sntrys_eyJ{S100}_{S43}⟧
sentry user token ⟦sntryu_{H64}⟧
grafana: ⟦glsa_{W32}_{H8}⟧
grafana cloud ⟦glc_eyJ{B120}⟧=
NEW_RELIC_API_KEY=⟦NRAK-{C27}⟧
DD_API_KEY=⟦{H32}⟧
DD-API-KEY: ⟦{H32}⟧
dynatrace ⟦dt0c01.{C24}.{C64}⟧
HONEYCOMB_API_KEY=⟦hcaik_{z58}⟧
LINEAR_API_KEY=⟦lin_api_{W40}⟧
figma ⟦figd_{S40}⟧
notion integration: ⟦secret_{W42}9⟧
notion ⟦ntn_{D11}{W35}⟧
airtable ⟦pat{W14}.{H64}⟧
asana pat ⟦1/{D16}:{H32}⟧
CONTENTFUL_TOKEN=⟦CFPAT-{S43}⟧
PMAK for the suite: ⟦PMAK-{H24}-{H34}⟧
SONAR_TOKEN=⟦sqp_{H40}⟧
CIRCLE_TOKEN=⟦CCIPAT_{W22}_{H40}⟧
vault login ⟦hvs.{S95}⟧
VAULT_TOKEN=⟦hvs.{S24}⟧
X-Vault-Token: ⟦s.{W24}⟧
doppler ⟦dp.st.prd.{W43}⟧
OP_SERVICE_ACCOUNT_TOKEN=⟦ops_eyJ{S200}⟧
1Password secret key ⟦A3-{C6}-{C6}-{C5}-{C5}-{C5}-{C5}⟧
tailscale up --authkey=⟦tskey-auth-k{W12}CNTRL-{W32}⟧
docker swarm join --token ⟦SWMTKN-1-{z50}-{z25}⟧ 10.0.0.1:2377
kubeadm join 10.0.0.1:6443 --token ⟦{z6}.{z16}⟧ --discovery-token-ca-cert-hash sha256:{H64}
pulumi ⟦pul-{H40}⟧
TFE_TOKEN=⟦{W14}.atlasv1.{S67}⟧
DIGITALOCEAN_TOKEN=⟦dop_v1_{H64}⟧
HEROKU_API_KEY=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
heroku ⟦HRKU-{S36}⟧
FLY_API_TOKEN="FlyV1 ⟦fm2_{B200}⟧"
RENDER_API_KEY=⟦rnd_{W32}⟧
NETLIFY_AUTH_TOKEN=⟦nfp_{W36}⟧
CLOUDFLARE_API_TOKEN=⟦{S40}⟧
X-Auth-Key: ⟦{H37}⟧
SUPABASE_SERVICE_ROLE_KEY=⟦eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{S80}.{S43}⟧
supabase ⟦sbp_{H40}⟧
supabase secret ⟦sb_secret_{S22}_{S8}⟧
planetscale ⟦pscale_tkn_{S43}⟧
neon ⟦napi_{z64}⟧
databricks ⟦dapi{H32}⟧-2
SNOWFLAKE_PASSWORD=⟦Zephyr!{W8}⟧
twilio auth token ⟦{H32}⟧
TWILIO_AUTH_TOKEN=⟦{H32}⟧
SG key ⟦SG.{S22}.{S43}⟧
mailgun ⟦key-{H32}⟧
mailgun ⟦{H32}-{H8}-{H8}⟧
mailchimp ⟦{H32}-us14⟧
postmark server token: ⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
brevo ⟦xkeysib-{H64}-{W16}⟧
RESEND_API_KEY=⟦re_{W8}_{W24}⟧
hubspot ⟦pat-na1-{H8}-{H4}-{H4}-{H4}-{H12}⟧
shopify ⟦shpat_{H32}⟧
square ⟦sq0atp-{S22}⟧
paypal ⟦access_token$production${z16}${H32}⟧
plaid ⟦access-production-{H8}-{H4}-{H4}-{H4}-{H12}⟧
razorpay secret: ⟦{W24}⟧
FLWSECK: ⟦FLWSECK-{H32}-X⟧
EZ ⟦EZAK{W54}⟧
mapbox secret ⟦sk.eyJ{S80}.{S22}⟧
facebook page token ⟦EAA{W160}⟧
twitter bearer ⟦AAAAAAAAAAAAAAAAAAAAA{W80}⟧
twitch chat ⟦oauth:{z30}⟧
okta: Authorization: SSWS ⟦00{S40}⟧
azure ad app secret ⟦{W3}8Q~{S34}⟧
DefaultEndpointsProtocol=https;AccountName=logs;AccountKey=⟦{B86}==⟧;EndpointSuffix=core.windows.net
Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=⟦{B43}=⟧
https://logs.blob.core.windows.net/c/b.txt?sv=2022-11-02&sr=b&sig=⟦{W43}%3D⟧&se=2026-01-01
https://acme-fn.azurewebsites.net/api/run?code=⟦{S54}==⟧
azure devops pat: ⟦{z52}⟧
https://bucket.s3.amazonaws.com/dump.sql?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x&X-Amz-Signature=⟦{H64}⟧
https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4&X-Goog-Signature=⟦{H512}⟧
https://d111.cloudfront.net/v.mp4?Expires=1767225600&Signature=⟦{S200}⟧&Key-Pair-Id=K{C13}
https://app.example.com/reset-password?token=⟦{S43}⟧
magic link: https://app.example.com/auth/magic/⟦{S40}⟧
https://example.com/users/confirmation?confirmation_token=⟦{S20}⟧
join at https://chat.example.com/invite/⟦{W24}⟧
https://zoom.us/j/{D11}?pwd=⟦{W32}⟧.1
https://calendar.google.com/calendar/ical/bob%40example.com/private-⟦{H32}⟧/basic.ics
https://api.example.com/v1/data?api_key=⟦{W32}⟧
https://example.com/login#access_token=⟦{S60}⟧&token_type=bearer
postgres://app:⟦{W12}⟧@db.internal:5432/shop
mongodb+srv://root:⟦p%40ss{W6}⟧@cluster0.mongodb.net/test
redis://:⟦{W20}⟧@cache:6379/0
amqp://worker:⟦rabbit{D4}⟧@mq/%2f
mysql://root:⟦tiger⟧@10.0.0.5/db
smtp://mailer:⟦Winter2024!⟧@smtp.example.com:587
https://bob:⟦S3cr3t!pass⟧@nexus.example.com/repo
ftp://ftpuser:⟦f7p-p4ss⟧@files.example.com
jdbc:postgresql://db/app?user=app&password=⟦{W10}⟧
jdbc:oracle:thin:scott/⟦tiger9⟧@//db:1521/orcl
Server=db;Database=shop;User Id=sa;Password=⟦Str0ng#Pass⟧;Encrypt=yes
Data Source=db;Initial Catalog=x;Uid=app;Pwd=⟦pa55w0rd⟧;
curl -u admin:⟦hunter2⟧ https://nexus.example.com
curl --user 'bob:⟦correct horse⟧' https://x.example.com
curl -H 'X-Api-Key: ⟦{W32}⟧' https://api.example.com
curl -H "Authorization: Basic ⟦YWRtaW46aHVudGVyMg==⟧" https://x
curl -H "Authorization: token ⟦{H40}⟧" https://api.example.com
curl -b 'session=⟦{S40}⟧' https://x.example.com
wget --http-user=bob --http-password=⟦bobpass99⟧ https://x
http -a bob:⟦open sesame9⟧ https://x
mysql -u root -p⟦Sup3rS3cret⟧ shop
mysqldump --password=⟦dumpme77⟧ shop
PGPASSWORD=⟦pgpass123⟧ psql -h db
sshpass -p '⟦r00t!pass⟧' ssh root@10.0.0.1
docker login registry.example.com -u ci -p ⟦Reg1stry!⟧
redis-cli -h cache -a ⟦redispass42⟧ ping
openssl rsa -in key.pem -passin pass:⟦keypass9⟧
gpg --batch --passphrase ⟦gpgPass77⟧ -d f.gpg
zip -P ⟦zipPass1⟧ out.zip f
7z x -p⟦7zPass!1⟧ a.7z
ldapsearch -x -D cn=admin -w ⟦ldapAdm1n⟧ -b dc=x
htpasswd -b .htpasswd bob ⟦bobsSecret1⟧
echo 'bob:⟦n3wpass⟧' | chpasswd
echo ⟦sudopass1⟧ | sudo -S apt update
keytool -importkeystore -storepass ⟦changeit1⟧ -keystore k
smbclient //srv/share -U bob%⟦smbPass9⟧
net use Z: \\srv\share /user:bob ⟦W1nPass!⟧
sqlcmd -S db -U sa -P ⟦SaPass123⟧
kubectl create secret generic db --from-literal=password=⟦k8sPass1⟧
helm upgrade app --set db.password=⟦helmPass2⟧
vault kv put secret/app password=⟦v4ultPw⟧
ansible_become_pass=⟦becomeMe7⟧
nmcli dev wifi connect Cafe password ⟦coffee4all⟧
wpa_passphrase HomeNet ⟦sunny-day-42⟧
psk="⟦my wifi key 99⟧"
WIFI:T:WPA;S:HomeNet;P:⟦blue-whale-7⟧;;
xfreerdp /u:bob /p:⟦RdpPass1⟧ /v:srv
mongo -u admin -p ⟦m0ngoPass⟧ --authenticationDatabase admin
mytool deploy --token ⟦{W24}⟧ --env prod
mytool --api-key=⟦{W24}⟧
machine api.example.com login bob password ⟦n3trcPass⟧
db.example.com:5432:shop:app:⟦pgPass99⟧
bob:⟦$apr1${W8}${W22}⟧
root:⟦$6${W16}${W86}⟧:19000:0:99999:7:::
alice:⟦$2y$10${W53}⟧
Administrator:500:⟦aad3b435b51404eeaad3b435b51404ee:{H32}⟧:::
password: ⟦hunter2⟧
password = "⟦letmein!⟧"
Password: ⟦Tr0ub4dor&3⟧
"password": "⟦correct horse battery staple⟧"
passphrase: ⟦correct-horse-battery-staple⟧
DB_PASSWORD=⟦s3cr3t⟧
MYSQL_ROOT_PASSWORD: ⟦r00tpw⟧
spring.datasource.password=⟦springP4ss⟧
SECRET_KEY = '⟦django-insecure-{z50}⟧'
SECRET_KEY_BASE=⟦{H128}⟧
JWT_SECRET=⟦{W32}⟧
APP_KEY=base64:⟦{B43}=⟧
ENCRYPTION_KEY=⟦{H64}⟧
api_key: ⟦{H32}⟧
apiKey: "⟦{W24}⟧"
x-api-key: ⟦{W40}⟧
"client_secret": "⟦{S32}⟧"
webhookSecret = "⟦{W32}⟧"
ACCESS_TOKEN=⟦{W40}⟧
token: ⟦{H40}⟧
ALGOLIA_ADMIN_KEY=⟦{H32}⟧
os.environ["DB_PASSWORD"] = "⟦pyPass12⟧"
ENV DB_PASSWORD=⟦dockerPw1⟧
ENV DB_PASSWORD ⟦dockerPw1⟧
setx API_TOKEN "⟦{W20}⟧"
$env:API_TOKEN = "⟦{W20}⟧"
<password>⟦xmlPass1⟧</password>
<add key="ApiKey" value="⟦{W24}⟧"/>
<property name="password" value="⟦beanPass1⟧"/>
- name: DB_PASSWORD\n  value: ⟦k8sEnvPw⟧
{"name": "DB_PASSWORD", "value": "⟦ecsPass1⟧"}
| DB password | ⟦mdPass99⟧ |
**Password:** ⟦boldPass7⟧
Password: `⟦tickPass7⟧`
user: bob, pass: ⟦bobPass7⟧
login: admin / ⟦Adm1nPass⟧
credentials are admin:⟦admin123⟧
creds: root/⟦toor99⟧
the wifi password is ⟦sunflower42⟧
The password for the staging admin is ⟦Gr33nTea!⟧
my password is ⟦sunflower⟧.
set the root password to ⟦R00t-2024⟧
the new API key for Acme is ⟦{W32}⟧
use the token ⟦{W32}⟧ for the deploy
the license key is ⟦{C5}-{C5}-{C5}-{C5}-{C5}⟧
PIN: ⟦4821⟧
The door code is ⟦7391#⟧
my card PIN is ⟦4821⟧
CVV ⟦123⟧
cvv: ⟦737⟧
Passwort: ⟦Geheim123⟧
Das Passwort für den Server lautet ⟦Xk9!mnop⟧
Kennwort ist ⟦Sommer2023⟧
mot de passe : ⟦Soleil99⟧
Le mot de passe du wifi est ⟦Bonjour42⟧
contraseña: ⟦Verano2024⟧
La contraseña es ⟦gato-azul-9⟧
senha: ⟦Praia2024⟧
A senha do banco é ⟦Lua#1234⟧
la password è ⟦Ciao2024!⟧
wachtwoord: ⟦Fiets123⟧
lösenord: ⟦Sommar22⟧
hasło: ⟦Zima2024⟧
heslo je ⟦Zima2024⟧
пароль: ⟦Zima2024⟧
Пароль от сервера ⟦qwerty123⟧
şifre: ⟦Yaz2024!⟧
密码：⟦abc12345⟧
密码是⟦Xy123456⟧
パスワード：⟦sakura88⟧
パスワードは⟦sakura88⟧です
비밀번호: ⟦seoul2024⟧
비밀번호는 ⟦seoul2024⟧
كلمة المرور: ⟦Sahara99⟧
סיסמה: ⟦Haifa2024⟧
CREATE USER app IDENTIFIED BY '⟦sqlPass1⟧';
ALTER USER app WITH PASSWORD '⟦pgPass1⟧';
requirepass ⟦redisPw9⟧
enable secret 5 ⟦$1${W4}${W22}⟧
enable password ⟦cisco123⟧
snmp-server community ⟦s3cretRO⟧ RO
: PSK "⟦ipsecShared9⟧"
otpauth://totp/Acme:bob?secret=⟦{V32}⟧&issuer=Acme
TOTP secret: ⟦{V32}⟧
backup code: ⟦8237-1192⟧
Set-Cookie: session=⟦{S40}⟧; Path=/; HttpOnly
Cookie: theme=dark; sessionid=⟦{z32}⟧; lang=en
Cookie: PHPSESSID=⟦{z26}⟧
Set-Cookie: remember_token=⟦{W32}⟧; Max-Age=3600
Authorization: Bearer ⟦{W40}⟧
authorization: ApiKey ⟦{B60}⟧
PRIVATE-TOKEN: ⟦{S20}⟧
Ocp-Apim-Subscription-Key: ⟦{H32}⟧
Proxy-Authorization: Basic ⟦cHJveHk6cHJveHlwYXNz⟧
ConvertTo-SecureString "⟦PwshPass1⟧" -AsPlainText -Force
requests.get(url, auth=("bob", "⟦pyAuth99⟧"))
smtp.login("bob@example.com", "⟦smtpPw77⟧")
DriverManager.getConnection("jdbc:mysql://db/x", "app", "⟦javaPw12⟧")
AGE key ⟦AGE-SECRET-KEY-1{C58}⟧
PrivateKey = ⟦{B43}=⟧
ETH private key: ⟦0x{H64}⟧
private_key=⟦{H64}⟧
deployer key ⟦0x{H64}⟧
xprv: ⟦xprv9s21ZrQH143K{L96}⟧
const password = '⟦jsPass-12⟧';
let apiToken = `⟦{W24}⟧`
password="⟦yoMama99⟧" # TODO move
password: '⟦p@$$w0rd⟧'
passwd=⟦P4ss;word⟧
export TOKEN='⟦{S32}⟧'
The secret is ⟦{W24}⟧, keep it safe
secret=⟦{B44}⟧
secret_token: ⟦{H64}⟧
consumer_secret = "⟦{W50}⟧"
access_token_secret: ⟦{W45}⟧
"refresh_token":"⟦{S64}⟧"
AUTH0_CLIENT_SECRET=⟦{S64}⟧
private_key_passphrase: ⟦KeyPass99⟧
ssh key passphrase is ⟦rainy-tuesday-7⟧
SSN: ⟦123-45-6789⟧
{\"password\":\"⟦escPass77⟧\"}
username=bob&password=⟦formPw77⟧&remember=1
The password changed from ⟦oldPass1⟧ to ⟦newPass2⟧
Zugangsdaten: admin / ⟦Start123!⟧
mot de passe: « ⟦Château99⟧ »
bitwarden ⟦0.{H8}-{H4}-{H4}-{H4}-{H12}.{W30}:{B22}==⟧
NPM_TOKEN=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
LAUNCHDARKLY_SDK_KEY=⟦sdk-{H8}-{H4}-{H4}-{H4}-{H12}⟧
sumo su{W12} is the access id and access key ⟦{W64}⟧
rollbar access token ⟦{H32}⟧
pagerduty api key: ⟦{W20}⟧
"""

LOOKALIKES = r"""
commit {H40}
Merge {H7} into main
fixed in {H8} and {H12}
sha256:{H64}
sha512-{B86}==
integrity="sha384-{B64}" crossorigin
md5 {H32}
ETag: "{H32}"
ETag: W/"{H16}"
trace {H8}-{H4}-{H4}-{H4}-{H12} took 12 ms
request id {H8}-{H4}-{H4}-{H4}-{H12}
traceparent: 00-{H32}-{H16}-01
session_id: {H8}-{H4}-{H4}-{H4}-{H12}
user_id=usr_{W16}
cus_{W14}
pi_{W24}
acct_{W16}
price_{W24} is the price id
pk_live_{W24} is the publishable key
NEXT_PUBLIC_STRIPE_KEY=pk_test_{W24}
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{B43} bob@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{B300} bob
-----BEGIN PUBLIC KEY-----\n{B64}\n-----END PUBLIC KEY-----
-----BEGIN CERTIFICATE-----\n{B64}\n{B64}\n-----END CERTIFICATE-----
PublicKey = {B43}=
peer public key: {B43}=
age1{z58}
bc1q{z38}
0x{H40} is the contract address
transaction 0x{H64} was mined
block hash 0x{H64}
SHA256:{B43} is the host key fingerprint
key fingerprint {U4} {D4} {U4}
GPG key id 0x{H16}
AWS account 123456789012
arn:aws:iam::123456789012:role/deploy
arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-password-AbCdEf
AKIA is the prefix of access keys
keys begin with sk- or pk-
tokens begin with ghp_
password: ${DB_PASSWORD}
password: $DB_PASSWORD
password: {{ vault_db_password }}
password: <your password>
password: ********
password: xxxxxxxx
password: [redacted]
password: changeme
password: null
password: ""
password: str
password: string
password = os.environ["DB_PASSWORD"]
password = os.getenv("DB_PASSWORD")
password = getpass.getpass("Password: ")
password = config.get("password")
password := os.Getenv("PASSWORD")
const password = process.env.DB_PASSWORD;
const token = await getToken();
String password = System.getenv("DB_PASSWORD");
def login(username: str, password: str) -> bool:
def check_password(self, password: str, hashed: bytes) -> bool: ...
if password != confirm_password:
user.set_password(form.cleaned_data["password"])
token = request.headers.get("Authorization")
token = tokens[i]
self.token = token
headers = {"Authorization": f"Bearer {token}"}
headers = {"Authorization": "Bearer " + token}
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer YOUR_TOKEN
Authorization: Basic <credentials>
curl -H "Authorization: Bearer $TOKEN" https://api.example.com
curl -u "$USER:$PASS" https://example.com
curl -u user:password https://example.com
curl -u username https://example.com
mysql -u root -p shop
mysql -u root -p
ssh -p 2222 bob@example.com
docker run -p 8080:80 nginx
docker login -u bob --password-stdin
mkdir -p /var/lib/app
psql -p 5432 -U app
redis-cli -p 6379 ping
export API_KEY=YOUR_API_KEY
API_KEY=your-api-key-here
api_key: "YOUR_API_KEY"
api_key = "<API_KEY>"
apiKey: process.env.API_KEY
API_KEY=${API_KEY:-}
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
token: ${{ secrets.NPM_TOKEN }}
secretKeyRef: {name: db, key: password}
secretName: tls-certificate
existingSecret: my-app-credentials
kind: Secret
passwordSecretRef: db-password
client_secret: op://vault/item/field
secret: projects/acme/secrets/db/versions/3
max_tokens: 2048
"max_tokens": 4096,
num_tokens = 512
total_tokens: 18234
tokens: 1,024
token_count=15
token limit is 8192
input_tokens=12 output_tokens=44
cost per token 0.000015
pad_token: "<pad>"
eos_token_id: 50256
tokenizer: cl100k_base
next_page_token: {W24}
nextToken: {W40}
password_min_length: 12
password policy: 12 characters, one digit
PasswordAuthentication no
password_hash_algorithm = argon2id
password reset link expires in 24h
secret_rotation_days: 90
token_ttl: 3600
key: value
primary_key: id
foreign_key = user_id
cache_key = f"user:{id}"
partition_key: tenant_id
sort key is created_at
idempotency_key: {H8}-{H4}-{H4}-{H4}-{H12}
public_key: {B43}=
keyboard: qwerty123
The password must have at least 12 characters.
The password is required.
The password is wrong.
The password is stored as a hash.
Never share your password with anyone.
Passwords are hashed with bcrypt (cost 12).
He forgot his password again and reset it on Monday.
The secret of a good stew is patience.
The token bucket holds 20 tokens.
A JWT has three parts separated by dots.
Use a long passphrase of five words.
the key to success is practice
API keys are rotated every 90 days
The api key is kept in the vault under entry 231
We store the token in Redis for 15 minutes.
Ask Priya for the password of the NAS.
password: see 1Password
password: in the vault
password: required, at least twelve characters
secret: see the vault
token: the unit in which models count text
pin the version to 3.11.4
PIN entry is shown after 3 tries
zip code 90210
error code 40431
exit code: 137
country code: 4930
order number 4111111111111112
order 5500 0000 0000 0005
invoice 2023-004512
tracking number 1Z999AA10123456784
phone +49 30 1234567
phone (555) 123-4567
ISBN 978-3-16-148410-0
ISBN 9783161484100
IBAN DE89 3704 0044 0532 0130 00
EAN 4006381333931
IMEI 490154203237518
timestamp 1700000000000000
card number 1234 5678 9012 3456
version 1.2.3.4
192.168.10.24:5432
fe80::1ff:fe23:4567:890a
MAC 00:1B:44:11:3A:B7
data:image/png;base64,{B200}
![x](data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP{B60})
https://example.com/a/b/c?page=2&sort=desc
https://example.com/docs/password-reset?step=2
https://example.com/article/{D8}-how-to-reset-a-password
https://cdn.example.com/app.{H20}.js?v={D6}
https://www.youtube.com/watch?v={S11}
https://docs.google.com/document/d/{S44}/edit
https://github.com/acme/app/commit/{H40}
https://github.com/acme/app/blob/main/src/auth/token.py#L10
https://user@example.com/path
https://{H32}@o12345.ingest.sentry.io/67890
git@github.com:acme/app.git
postgres://localhost:5432/shop
postgres://user:password@localhost/db
postgres://$USER:$PASS@db/shop
postgres://user:${PASSWORD}@db/shop
redis://cache:6379/0
mongodb://localhost:27017/?replicaSet=rs0
jdbc:postgresql://db:5432/app
Server=db;Database=shop;Integrated Security=true
npm install --save-dev @types/node@20.1.0
pip install assay==0.1.0
"resolved": "https://registry.npmjs.org/x/-/x-1.0.0.tgz"
image: nginx@sha256:{H64}
docker pull app:{H12}
container {H64} started
m_01J{C23} supersedes it
01J{C23} is a ULID
Set-Cookie: theme=dark; Path=/
Cookie: lang=en; theme=dark
Cookie: _ga=GA1.2.{D10}.{D10}
input type="password" name="password" id="password"
<label for="password">Password</label>
placeholder="Enter your password"
"password": {"type": "string", "minLength": 8}
"required": ["username", "password"]
"forgotPassword": "Forgot your password?"
error.password.tooShort=The password is too short
SELECT password_hash FROM users WHERE id = 1
ALTER TABLE users ADD COLUMN password_hash text
CREATE USER app IDENTIFIED BY '{password}';
GRANT ALL ON shop.* TO app
password_file = /run/secrets/db_password
ssl_key: /etc/ssl/private/server.key
key_path = "~/.ssh/id_ed25519"
IdentityFile ~/.ssh/id_rsa
machine learning login flow with password fields
login: see the wiki
username: bob
user: bob@example.com
credentials: include
credentials: "same-origin"
withCredentials: true
secret santa is on 12 December
secrets: inherit
secret = secrets.token_hex(32)
secrets.choice(alphabet)
hmac.new(key, message, hashlib.sha256)
signature = sign(private_key, payload)
private_key = load_pem_private_key(data, password=None)
token_type: bearer
grant_type=password
scope: api:read tokens:write
auth: oauth2
basic auth is enabled
Basic understanding of Kubernetes is enough
bearer of good news
Bearer authentication is described in RFC 6750
WIFI: the guest network needs no password
seed = 42
random_seed: 1234567
seed data for the tests lives in fixtures/
the wallet phrase must never be typed into a website
total 1234 5678 in the ledger
row 4000000000000000000 of the table
Terraform state serial 4512
{"kty":"RSA","n":"{S342}","e":"AQAB","kid":"{S20}"}
x = [{D2}, {D2}, {D3}, {D3}]
#FF00AA and #00ff7f
rgba(12, 200, 33, 0.5)
uuid: {H8}-{H4}-{H4}-{H4}-{H12}
build-id {H40}
"hash": "{H64}"
digest: {B43}=
checksum {H8}
Content-MD5: {B22}==
nonce="{S22}"
csp nonce {B22}==
file_{W24}
asst_{W24}
call_{W24}
org-{W24}
proj_{W16}
req_{H32}
AC{H32} is the Twilio account SID
G-{C10}
UA-{D8}-1
client_id: {D12}-{z32}.apps.googleusercontent.com
client_id={W20}
app id {D10}
tenant id {H8}-{H4}-{H4}-{H4}-{H12}
access_key_id comes from the instance profile
keyId: {C20}
kid: {S22}
jti: {H8}-{H4}-{H4}-{H4}-{H12}
the token {H8} expired at noon
password manager: 1Password 8.10
2FA is on for all admins
OTP codes are valid for 30 seconds
MFA: required
backup codes are printed and kept in the safe
recovery code page
door code: ask at the desk
the alarm code was changed on Monday
api_version: 2024-05-01
secret_version: 3
password_changed_at: 2024-05-01T10:00:00Z
last_token_refresh=2024-05-01
token expires 2025-01-01
key=lambda item: item.name
sorted(rows, key=operator.itemgetter("name"))
map.get(key) == value
for key, value in mapping.items():
key_value = {"a": 1}
keyspace: orders_v2
keystore: android
hotkey: ctrl+shift+p
turkey: 12 kg
monkey: 3
tokenize(text)
compass: north
bypass: true
passed: 120, failed: 3
pass: 42
passing --verbose
passport number required
class Password(Field): pass
PASSWORD_FIELD = "password"
TOKEN_URL = "/oauth/token"
TOKEN_HEADER = "X-Token"
SECRET_NAME = "db-credentials"
API_KEY_HEADER = "X-API-Key"
RESET_TOKEN_LENGTH = 32
"""


def _fill(line: str, rng: random.Random) -> str:
    return _BLANK.sub(lambda blank: "".join(rng.choices(ALPHABETS[blank[1]], k=int(blank[2]))), line.replace("\\n", "\n"))


def secrets(seed: int = 1) -> list[Sample]:
    """Texts with secrets in them."""
    rng = random.Random(seed)
    filled = [_fill(line, rng) for line in SECRETS.strip().splitlines()]
    marked = [
        Sample(re.sub("[⟦⟧]", "", line), tuple(re.findall(r"⟦([^⟧]*)⟧", line, re.DOTALL))) for line in filled
    ]
    return [*marked, *(Sample(text, tuple(held)) for text, held in MADE(rng))]


def lookalikes(seed: int = 2) -> list[str]:
    """Texts without a secret."""
    rng = random.Random(seed)
    return [_fill(line, rng) for line in LOOKALIKES.strip().splitlines()]
