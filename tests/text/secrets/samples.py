"""The development list: secrets as people write them down, and what only looks like one. None was ever in use.

A secret stands between ⟦ and ⟧. `{W20}` is replaced by 20 letters and digits drawn by chance: this file holds
no token itself: `W` letters and digits, `L` letters, `l` small ones, `U` capitals, `D` digits, `H` small hexadecimal,
`B` Base64, `S` its form for addresses, `C` capitals and digits, `z` small letters and digits, `V` Base32.
"""

# ruff: noqa: RUF001 - full-width marks and dashes stand in texts of other languages

from __future__ import annotations

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
//packages.example.org/:_authToken=⟦npm_{W36}⟧
_auth=⟦{B40}==⟧
twine upload -u __token__ -p ⟦pypi-AgEIcHlwaS5vcmc{S120}⟧ dist/*
gem push needs ⟦rubygems_{H48}⟧
cargo login ⟦cio{W31}7⟧
nuget key ⟦oy2{z43}⟧
docker login -u acme -p ⟦dckr_pat_{S27}⟧
{"auths": {"https://images.example.org/v1/": {"auth": "⟦YWNtZTpodW50ZXIyLXh5eg==⟧"}}}
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
Deploy user for prod: deploy / ⟦kX9#vLq2!pZ⟧ (ask before using)
Sign in as ops@example.com with ⟦Winter-Storm-1987⟧
The FTP account is webmaster, its password ⟦Blue$ky99⟧
router admin pw = ⟦fritz-4711-box⟧
VPN: user mheld, PW ⟦Vpn!2024#x⟧
We set the Grafana admin password to ⟦graf4na-rocks⟧ last night.
WiFi "Guest" -> ⟦welcome-2-acme⟧ is the key
pass=⟦qwertz99⟧
pw: ⟦4f!kk2⟧
userPassword: {SSHA}⟦{B32}⟧
MASTER_KEY: ⟦{B44}⟧
rails credentials master key ⟦{H32}⟧
config/master.key contains ⟦{H32}⟧
AIRFLOW__CORE__FERNET_KEY=⟦{S43}=⟧
fernet = Fernet(b"⟦{S43}=⟧")
aes key: ⟦{H64}⟧
HMAC secret ⟦{H64}⟧ for the callbacks
session secret: ⟦keyboard cat 42⟧
app.secret_key = '⟦{B24}⟧'
app.config['SECRET_KEY'] = b'⟦_5#y2L"F4Q8z\n\xec]/⟧'
const stripe = require('stripe')('⟦sk_test_{W24}⟧');
openai.api_key = "⟦sk-{W48}⟧"
client = Anthropic(api_key="⟦sk-ant-api03-{S93}AA⟧")
boto3.client('s3', aws_access_key_id='⟦AKIA{C16}⟧', aws_secret_access_key='⟦{B40}⟧')
s3 = new AWS.S3({accessKeyId: "⟦AKIA{C16}⟧", secretAccessKey: "⟦{B40}⟧"})
[default]\naws_access_key_id=⟦AKIA{C16}⟧\naws_secret_access_key=⟦{B40}⟧
conn = psycopg2.connect("dbname=shop user=app password=⟦Ora-nge7⟧ host=db")
mongoose.connect('mongodb://admin:⟦Pa55-Mongo⟧@localhost:27017/x')
DATABASE_URL=postgresql://app:⟦{W16}⟧@10.1.1.5:5432/prod?sslmode=require
REDIS_URL="rediss://default:⟦{W32}⟧@eu1.upstash.io:6379"
CELERY_BROKER_URL=amqps://u:⟦{S32}⟧@rabbit.cloudamqp.com/u
spring:\n  datasource:\n    username: app\n    password: ⟦{W14}⟧
db:\n  user: root\n  pass: ⟦tOOr-77⟧
[database]\nuser = "app"\npassword = "⟦Sup3r$ecret⟧"
user=app\npassword=⟦Sup3r$ecret⟧\nhost=db
{"user":"app","pwd":"⟦jsonPwd1!⟧"}
{"credentials":{"login":"bob","secret":"⟦{W20}⟧"}}
<connectionStrings><add name="x" connectionString="Server=s;User ID=sa;Password=⟦Azure!234⟧"/></connectionStrings>
<server><id>nexus</id><username>ci</username><password>⟦{W12}⟧</password></server>
machine git.example.com\n  login bob\n  password ⟦{W40}⟧
default login anonymous password ⟦bob@1234x⟧
https://oauth2:⟦glpat-{S20}⟧@gitlab.com/acme/app.git
https://⟦{H40}⟧@git.example.com/acme/app.git
https://bob:⟦{W20}⟧@artifactory.example.com/api/npm
https://example.com/cb?code=⟦4/0A{S60}⟧&state=xyz
https://login.example.com/reset/⟦{S43}⟧
https://acme.example.com/invite?token=⟦{S32}⟧&email=bob
https://example.okta.com/activate/⟦{S24}⟧
Click https://app.example.com/verify-email?key=⟦{W40}⟧ within an hour
https://files.example.com/d/report.pdf?Expires=1767225600&OSSAccessKeyId=x&Signature=⟦{W28}%3D⟧
https://example.blob.core.windows.net/?sv=2020-08-04&ss=b&sig=⟦{W40}%2B{W3}%3D⟧
https://sqs.us-east-1.amazonaws.com/?X-Amz-Security-Token=⟦{W300}⟧&X-Amz-Signature=⟦{H64}⟧
https://discordapp.com/api/webhooks/{D18}/⟦{S68}⟧
https://hooks.slack.com/workflows/⟦T{C8}/A{C8}/{D18}/{W24}⟧
https://outlook.office.com/webhook/⟦{H8}-{H4}-{H4}-{H4}-{H12}@{H8}-{H4}-{H4}-{H4}-{H12}/IncomingWebhook/{H32}/{H8}-{H4}-{H4}-{H4}-{H12}⟧
mattermost: https://chat.example.com/hooks/⟦{z26}⟧
https://prod-12.westeurope.logic.azure.com/workflows/{H32}/triggers/manual/paths/invoke?api-version=2016-10-01&sp=%2Ftriggers&sig=⟦{S43}⟧
curl -X POST -H 'Content-Type: application/json' -u elastic:⟦{W20}⟧ localhost:9200
curl https://api.stripe.com/v1/charges -u ⟦sk_live_{W24}⟧:
curl "https://api.example.com?apikey=⟦{W32}⟧"
curl -H "PRIVATE-TOKEN: ⟦glpat-{S20}⟧" https://gitlab.com
curl --header "X-Auth-Token:⟦{H32}⟧" http://x
wget --password ⟦wg3tPass⟧ ftp://x
PGPASSWORD='⟦pg P4ss!⟧' pg_dump
mysql -h db -u app -p'⟦Quo-ted7⟧' shop
export MYSQL_PWD=⟦mySqlEnv8⟧
sshpass -p ⟦Sshp4ss⟧ scp f bob@x:
expect "password:" ; send "⟦Exp3ct!⟧\r"
ansible-playbook x.yml -e "db_password=⟦AnsPw77⟧"
gpg --passphrase '⟦my dog rex 7⟧' -c f
borg init; export BORG_PASSPHRASE='⟦b0rg-backup⟧'
RESTIC_PASSWORD=⟦rest1cPw⟧ restic backup
echo -n '⟦p@ss4k8s⟧' | base64
docker run -e POSTGRES_PASSWORD=⟦pgDock3r⟧ postgres
docker run -e MYSQL_ROOT_PASSWORD=⟦secret⟧ mysql
kubectl create secret docker-registry r --docker-password=⟦DckrPw1!⟧
az login --service-principal -u x -p ⟦{W3}8Q~{S34}⟧ --tenant y
gcloud auth activate --key ⟦{B60}⟧
heroku config:set STRIPE_KEY=⟦sk_live_{W24}⟧
npm config set //npm.example.com/:_authToken ⟦npm_{W36}⟧
pip install --index-url https://bob:⟦Pyp1Pw⟧@packages.example.com/simple x
git remote add o https://bob:⟦{W20}⟧@github.com/x/y
git config --global http.extraheader "AUTHORIZATION: basic ⟦Ym9iOmh1bnRlcjItc2VjcmV0⟧"
Authorization: Digest username="bob", response="⟦{H32}⟧"
Authorization: AWS4-HMAC-SHA256 Credential=AKIA{C16}/20240101/us-east-1/s3/aws4_request, Signature=⟦{H64}⟧
X-Amz-Security-Token: ⟦{B300}⟧
x-goog-api-key: ⟦AIza{S35}⟧
Api-Key: ⟦{H32}⟧
X-Shopify-Access-Token: ⟦shpat_{H32}⟧
Cookie: connect.sid=⟦s%3A{S32}.{W43}⟧
Cookie: .AspNetCore.Session=⟦CfDJ8{S80}⟧
set-cookie: __Host-session=⟦{S64}⟧; Secure
Cookie: JSESSIONID=⟦{C32}⟧; Path=/
csrf_token=⟦{W32}⟧
"id_token": "⟦eyJhbGciOiJSUzI1NiJ9.eyJ{S60}.{S200}⟧"
jwt: ⟦eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ{S60}.{S43}⟧
Firebase: ⟦AAAA{S7}:APA91b{S134}⟧
"apiKey": "⟦AIza{S35}⟧", "authDomain": "x.firebaseapp.com"
"private_key_id": "{H40}", "private_key": "⟦-----BEGIN PRIVATE KEY-----\\n{B64}\\n{B64}\\n-----END PRIVATE KEY-----\\n⟧"
AZURE_STORAGE_KEY=⟦{B86}==⟧
AZURE_CLIENT_SECRET=⟦{S34}~{S5}⟧
APPINSIGHTS_INSTRUMENTATIONKEY is fine but the api key ⟦{z40}⟧ is not
COSMOS: AccountEndpoint=https://x.documents.azure.com:443/;AccountKey=⟦{B86}==⟧;
HostName=h.azure-devices.net;DeviceId=d;SharedAccessKey=⟦{B43}=⟧
SHOPIFY_API_SECRET=⟦shpss_{H32}⟧
PAYPAL_SECRET=⟦E{S79}⟧
BRAINTREE_PRIVATE_KEY=⟦{H32}⟧
MAILGUN_API_KEY=⟦{H32}-{H8}-{H8}⟧
INTERCOM_ACCESS_TOKEN=⟦dG9rO{B54}=⟧
zendesk token ⟦{W40}⟧
CLOUDINARY_URL=cloudinary://{D15}:⟦{S27}⟧@acme
ALGOLIA_API_KEY=⟦{H32}⟧
SEGMENT_WRITE_KEY=⟦{W32}⟧
AMPLITUDE_SECRET_KEY: ⟦{H32}⟧
MIXPANEL_API_SECRET=⟦{H32}⟧
BUGSNAG_API_KEY=⟦{H32}⟧
SPLUNK_HEC_TOKEN=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
CODECOV_TOKEN=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
SNYK_TOKEN: ⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
consul token ⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
vault root token: ⟦hvs.{S24}⟧
Unseal Key 1: ⟦{B43}=⟧
nomad: secret id ⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
ngrok authtoken ⟦2{W26}_{W21}⟧
ngrok config add-authtoken ⟦2{W26}_{W21}⟧
cloudflared tunnel run --token ⟦eyJhIjoi{W120}⟧
CLOUDFLARE_GLOBAL_KEY=⟦{H37}⟧
linode token ⟦{H64}⟧
vultr api key ⟦{C36}⟧
hcloud token ⟦{W64}⟧
OVH_APPLICATION_SECRET=⟦{W32}⟧
SCW_SECRET_KEY=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
steam api key ⟦{C32}⟧
riot key ⟦RGAPI-{H8}-{H4}-{H4}-{H4}-{H12}⟧
lastfm api secret ⟦{H32}⟧
spotify client secret ⟦{H32}⟧
giphy key is ⟦{W32}⟧
openweather appid=⟦{H32}⟧
TMDB api key (v3): ⟦{H32}⟧
home assistant token ⟦eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ{S60}.{S43}⟧
pushover user key ⟦u{z29}⟧ app token ⟦a{z29}⟧
matrix access token ⟦syt_{W20}_{W20}_{W6}⟧
mastodon access token: ⟦{S43}⟧
bluesky app password ⟦{z4}-{z4}-{z4}-{z4}⟧
gmail app password ⟦abcd efgh ijkl mnop⟧
iCloud app-specific password: ⟦{l4}-{l4}-{l4}-{l4}⟧
TOTP seed ⟦{V16}⟧
2FA secret for GitHub: ⟦{V4} {V4} {V4} {V4}⟧
Recovery codes:\n⟦{z5}-{z5}⟧\n⟦{z5}-{z5}⟧
safe combination: ⟦12-34-56⟧
gate PIN ⟦9031⟧
The alarm code is ⟦4417⟧.
SIM PUK: ⟦83726154⟧
Visa ⟦4539 1488 0343 6467⟧ 09/28 cvc ⟦321⟧
card: ⟦5425233430109903⟧, cvv ⟦111⟧
Kreditkarte ⟦4111 1111 1111 1111⟧
AmEx ⟦3782 822463 10005⟧
PIN der EC-Karte: ⟦7712⟧
Das WLAN-Passwort ist ⟦Katzenfutter7⟧
Kennwort: ⟦Mein$Hund3⟧
Zugang: Benutzer admin, Passwort ⟦Adm!n2024⟧
el password del router es ⟦Tortuga88⟧
la contraseña de la base de datos: ⟦mi_Clave_2024⟧
mot de passe admin = ⟦Fr0mage!⟧
il codice PIN è ⟦5521⟧
wachtwoord van de server is ⟦Stroopwafel1⟧
hasło do bazy to ⟦Pierogi22⟧
пароль администратора: ⟦Moskva77⟧
пароль — ⟦Kot2024⟧
数据库密码: ⟦Db@2024pw⟧
管理员密码为 ⟦Admin@123⟧
wifi パスワード: ⟦tokyo-9988⟧
와이파이 비번 비밀번호 ⟦cafe1234⟧
şifresi: ⟦Istanbul34⟧
mật khẩu: ⟦Hanoi2024⟧
age: ⟦AGE-SECRET-KEY-1{C58}⟧
nostr ⟦nsec1{z58}⟧
[Interface]\nPrivateKey = ⟦{B43}=⟧\nAddress = 10.0.0.2/32
wg genkey gave ⟦{B43}=⟧ as private key
metamask private key ⟦{H64}⟧
PRIVATE_KEY=0x⟦{H64}⟧
hardhat accounts: [`0x⟦{H64}⟧`] // private key
solana keypair ⟦{W87}⟧
sops age key in env: SOPS_AGE_KEY=⟦AGE-SECRET-KEY-1{C58}⟧
passwords: alice ⟦Al1ce!pw⟧, bob ⟦B0b!pass⟧
enable secret 9 ⟦$9${W14}${W43}⟧
username admin privilege 15 password 7 ⟦0822455D0A16⟧
snmp community ⟦pr1v8comm⟧
radius shared secret: ⟦testing123⟧
ipsec psk ⟦{W24}⟧
ldap bind password: ⟦Ld4p-b1nd⟧
bindpw ⟦ldapB1nd⟧
rootpw ⟦r00tLdap⟧
smtp_sasl_password_maps: [smtp.x.com]:587 bob:⟦mailPw12⟧
password_confirmation=⟦conf1rm!⟧
ALTER ROLE app PASSWORD '⟦r0leP@ss⟧'
CREATE LOGIN app WITH PASSWORD = '⟦M$sql123⟧';
GRANT ALL ON *.* TO 'x'@'%' IDENTIFIED BY '⟦gr4ntPw⟧'
SET PASSWORD FOR 'bob' = PASSWORD('⟦setPw99⟧');
INSERT INTO users VALUES ('bob', 'password', '⟦Ins3rtPw⟧')
user.password = '⟦Rub1Pass⟧'
setPassword("⟦J4vaPass⟧")
.withPassword("⟦kotl1nPw⟧")
password := "⟦goP4ssw⟧"
let password = String::from("⟦rustPw12⟧");
define('DB_PASSWORD', '⟦phpP4ss⟧');
$db_password = '⟦phpP4ss⟧';
putenv("DB_PASS=⟦phpP4ss⟧");
System.setProperty("javax.net.ssl.keyStorePassword", "⟦ksPass12⟧");
Environment.SetEnvironmentVariable("API_KEY", "⟦{W24}⟧");
os.putenv('TOKEN', '⟦{W24}⟧')
variable "db_password" {\n  default = "⟦tfPass12⟧"\n}
password                 = "⟦tfP4ss99⟧"
--set-string auth.password=⟦hlmPw123⟧
secrets:\n  api: ⟦{W32}⟧
stringData:\n  username: x\n  password: ⟦k8Spw77⟧
## Staging access\n\n- host: staging.example.org\n- user: deployer\n- password: ⟦Gr4pe-Juice!7⟧\n
Hi Tom,\n\nthe new login for the billing portal is\n\nUser: tom.b\nPassword: ⟦Fj3kd9Xp⟧\n\nBest, Ana
Meeting notes: Ana said the root password of db-3 is now "⟦turnip-42-fog⟧", rotate next week.
TODO: remove hardcoded key ⟦sk-proj-{S100}⟧ from notebook cell 4
Traceback: openai.AuthenticationError: Incorrect API key provided: ⟦sk-{W48}⟧
log: 2024-05-01 10:00:00 DEBUG sending header Authorization=Bearer ⟦{S60}⟧
GET /api/v1/users?access_token=⟦{W40}⟧ HTTP/1.1
127.0.0.1 - - [01/May/2024] "GET /login?user=bob&password=⟦Tr33house9⟧ HTTP/1.1" 200
{"level":"info","msg":"login","user":"bob","password":"⟦p455-w0rd-x⟧"}
[client]\nuser=backup\npassword=⟦B4ckup#2024⟧
[remote "origin"]\n\turl = https://bob:⟦ghp_{W36}⟧@github.com/acme/app.git
services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: ⟦pg-Docker-77⟧
services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=⟦pgDocker77⟧
env:\n  - name: API_TOKEN\n    value: "⟦{W32}⟧"
kind: Secret\nmetadata:\n  name: db\ndata:\n  username: ⟦YWRtaW4=⟧\n  password: ⟦MWYyZDFlMmU2N2Rm⟧
users:\n- name: admin\n  user:\n    token: ⟦eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJ{S80}.{S200}⟧
users:\n- name: x\n  user:\n    client-key-data: ⟦LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ{B200}⟧
-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n⟦{B64}⟧\n-----END RSA PRIVATE KEY-----
> -----BEGIN OPENSSH PRIVATE KEY-----\n> ⟦{B70}⟧\n> {B70}\n> -----END OPENSSH PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n⟦{B64}⟧\n{B64}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----
SSH_KEY="-----BEGIN EC PRIVATE KEY-----\\n⟦{B64}⟧\\n-----END EC PRIVATE KEY-----"
PRIVATE_KEY=⟦MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{B200}⟧
my seed words are ⟦legal winner thank year wave sausage worth useful legal winner thank yellow⟧
mnemonic: "⟦zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong⟧"
recovery phrase → ⟦letter advice cage absurd amount doctor acoustic avoid letter advice cage above⟧
ETH_PRIVATE_KEY=⟦{H64}⟧
wallet key ⟦0x{H64}⟧
Mein Passwort ist ⟦Schn3ckenhaus⟧.
PW für den NAS: ⟦nas!Keller9⟧
Der PIN für die Haustür lautet ⟦2580⟧
Le code de la porte est ⟦A4519⟧
mot de passe du compte : ⟦Camembert!12⟧
la clave del wifi es ⟦Sangria2023⟧
contraseña del servidor = ⟦p3rr0-gato⟧
a senha é ⟦Futebol#10⟧
la password del database è ⟦Pizza!Napoli4⟧
het wachtwoord is ⟦Molen&Wind7⟧
lösenordet är ⟦Fika-kl15⟧
adgangskoden er ⟦Hygge2024!⟧
salasana on ⟦Sauna-99-C⟧
hasło: ⟦Zubr!wka5⟧
heslo: ⟦Knedlik77⟧
jelszó: ⟦Gulyas-Leves3⟧
parola este ⟦Brasov!2020⟧
пароль от wifi: ⟦Medved-1812⟧
Пароль: ⟦qwerty12345⟧
şifre: ⟦Kebap!1453⟧
密码: ⟦Dragon#888⟧
登录密码是 ⟦Panda2024!⟧
パスワードは「⟦Fuji-3776⟧」です
비밀번호는 ⟦Kimchi!77⟧ 입니다
mật khẩu wifi là ⟦PhoBo2024⟧
kata sandi: ⟦Nasi-Goreng1⟧
κωδικός: ⟦Athina-2004⟧
curl -k -u 'svc:⟦P@$$w0rd!⟧' https://x
curl -H "apikey: ⟦{W32}⟧" https://x
curl -d '{"username":"bob","password":"⟦jsonB0dy!⟧"}' https://x/login
curl -F password=⟦f0rmPass⟧ https://x
wget --header="Authorization: Bearer ⟦{W32}⟧" https://x
ssh bob@host # password ⟦Wh1skers⟧
scp uses pass ⟦Wh1skers99⟧
mysqladmin -u root password ⟦N3wRoot!⟧
mysql --user=root --password=⟦R00tPass⟧ shop
psql "host=db user=app password=⟦psqlP4ss⟧"
PGPASSFILE is empty, PGPASSWORD=⟦tr1ck-y⟧
mongosh "mongodb+srv://c0.mongodb.net" --username bob --password ⟦M0ngoShell⟧
redis-cli AUTH ⟦r3disAuth⟧
docker login -u bob -p ⟦D0ckerHub!⟧
echo "⟦D0ckerHub!⟧" | docker login -u bob --password-stdin
kubectl create secret generic x --from-literal=token=⟦{W32}⟧
aws ecr get-login; docker login -u AWS -p ⟦eyJwYXlsb2FkIjoi{B200}⟧
vault kv put secret/db password="⟦Vault-Pw-1⟧"
terraform login; credentials "app.terraform.io" { token = "⟦{W14}.atlasv1.{W67}⟧" }
gh auth login --with-token <<< ⟦ghp_{W36}⟧
ansible_ssh_pass: ⟦Ans1ble!⟧
ansible_password=⟦Ans1ble!⟧
smbclient -U 'corp\bob%⟦Smb!Pass1⟧' //srv/x
net use \\srv\x ⟦W1n!Pass⟧ /user:corp\bob
runas /savecred; cmdkey /add:srv /user:bob /pass:⟦Cmdk3y!⟧
New-Object PSCredential("bob", (ConvertTo-SecureString "⟦Pw5hell!⟧" -AsPlainText -Force))
schtasks /create /ru bob /rp ⟦T4sk!Pass⟧
openssl enc -aes-256-cbc -k ⟦encK3y!⟧ -in f
openssl pkcs12 -export -passout pass:⟦Pkcs12!⟧
gpg --batch --yes --passphrase="⟦gpgP4ss!⟧" -c f
7z a -p"⟦Z1pPass!⟧" x.7z f
zip -e -P '⟦Z1pPass!⟧' x.zip f
restic -r s3:x --password-command 'echo ⟦R3stic!⟧'
rclone config: pass = ⟦{S40}⟧
git clone https://deploy-token:⟦gldt-{W20}⟧@gitlab.com/x
svn co --username bob --password ⟦Svn!Pass⟧ https://x
ftp://bob:⟦Ftp!Pass⟧@x/y
sftp -o password=⟦Sftp!Pass⟧ bob@x
ldap: bindDN cn=admin bindPassword: ⟦Ld4p!⟧99
spring.mail.password=⟦Mail!Pass9⟧
spring.data.redis.password: ⟦R3dis!⟧77
jdbc:mysql://db:3306/x?user=app&password=⟦Jdbc!P4ss⟧&useSSL=true
jdbc:sqlserver://db;databaseName=x;user=sa;password=⟦S4!Strong⟧;
Data Source=db;User ID=sa;Password="⟦Qu0ted;Pw⟧";
AccountEndpoint=https://c.documents.azure.com/;AccountKey=⟦{B86}==⟧
Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=k;SharedAccessKey=⟦{B43}=⟧
amqp://guest:⟦r4bbit!⟧@mq:5672/
nats://user:⟦n4ts-pw⟧@n1:4222
mqtt password ⟦Mosqu1tto!⟧
influx token: ⟦{S86}==⟧
ELASTIC_PASSWORD=⟦{W20}⟧
elastic / ⟦{W20}⟧
kibana_system password: ⟦{W20}⟧
MINIO_ROOT_PASSWORD=⟦minio-Adm1n⟧
KEYCLOAK_ADMIN_PASSWORD=⟦Kc!Admin1⟧
NEXTAUTH_SECRET=⟦{B43}=⟧
SESSION_SECRET=⟦{H64}⟧
COOKIE_SECRET: ⟦{W32}⟧
WEBHOOK_SECRET=⟦whsec_{W32}⟧
GITHUB_WEBHOOK_SECRET=⟦{H40}⟧
SLACK_SIGNING_SECRET=⟦{H32}⟧
DISCORD_TOKEN=⟦M{W23}.{W6}.{W27}⟧
TWITTER_API_SECRET=⟦{W50}⟧
FACEBOOK_APP_SECRET=⟦{H32}⟧
GOOGLE_CLIENT_SECRET=⟦GOCSPX-{S28}⟧
"client_secret":"⟦GOCSPX-{S28}⟧"
"refresh_token": "⟦1//0{S80}⟧"
LINKEDIN_CLIENT_SECRET=⟦{W16}⟧
REDDIT_CLIENT_SECRET=⟦{S27}⟧
SPOTIFY_CLIENT_SECRET=⟦{H32}⟧
DROPBOX_ACCESS_TOKEN=⟦sl.{S130}⟧
BOX_CLIENT_SECRET=⟦{W32}⟧
ZOOM_API_SECRET=⟦{W36}⟧
TRELLO_TOKEN=⟦{H64}⟧
JIRA_API_TOKEN=⟦{W24}⟧
CONFLUENCE_TOKEN=⟦ATATT3xFfGF0{S150}⟧
ZENDESK_API_TOKEN=⟦{W40}⟧
HEROKU_API_KEY is ⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
DATADOG_APP_KEY=⟦{H40}⟧
PAGERDUTY_TOKEN=⟦{S20}⟧
OPSGENIE_API_KEY=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
NEWRELIC_LICENSE_KEY=⟦{H36}NRAL⟧
LOGDNA_KEY=⟦{H32}⟧
ROLLBAR_ACCESS_TOKEN=⟦{H32}⟧
PLAID_SECRET=⟦{H30}⟧
COINBASE_API_SECRET=⟦{W32}⟧
BINANCE_SECRET_KEY=⟦{W64}⟧
KRAKEN_PRIVATE_KEY=⟦{B86}==⟧
ALPACA_SECRET_KEY=⟦{W40}⟧
TELEGRAM_API_HASH=⟦{H32}⟧
VONAGE_API_SECRET=⟦{W16}⟧
PUSHER_SECRET=⟦{H20}⟧
ABLY_API_KEY=⟦{W6}.{W6}:{S43}⟧
PUBNUB_SECRET_KEY=⟦sec-c-{B60}⟧
SUPABASE_JWT_SECRET=⟦{B88}⟧
FIREBASE_TOKEN=⟦1//0{S90}⟧
CLOUDFLARE_TUNNEL_TOKEN=⟦eyJhIjoi{W150}⟧
UPSTASH_REDIS_REST_TOKEN=⟦{W80}=⟧
TURSO_AUTH_TOKEN=⟦eyJhbGciOiJFZERTQSJ9.eyJ{S60}.{S86}⟧
MONGODB_ATLAS_PRIVATE_KEY=⟦{H8}-{H4}-{H4}-{H4}-{H12}⟧
CONFLUENT_SECRET=⟦{B64}⟧
DBT_TOKEN=⟦dbtc_{W40}⟧
FIVETRAN_API_SECRET=⟦{W32}⟧
METABASE_PASSWORD=⟦Meta!Base1⟧
LOOKER_CLIENT_SECRET=⟦{W24}⟧
PostHog personal key ⟦phx_{W43}⟧
Mixpanel service account secret ⟦{W32}⟧
"secret": "⟦{W20}⟧"
'token': '⟦{W24}⟧'
:secret => "⟦{W24}⟧"
secret := []byte("⟦{W24}⟧")
val apiKey = "⟦{W32}⟧"
private static final String API_KEY = "⟦{W32}⟧";
#define WIFI_PASS "⟦esp32-WiFi!⟧"
const char* password = "⟦esp32-WiFi!⟧";
WiFi.begin("home", "⟦esp32-WiFi!⟧");
client.login("⟦M{W23}.{W6}.{W27}⟧")
new Octokit({ auth: "⟦ghp_{W36}⟧" })
axios.defaults.headers.common['Authorization'] = 'Bearer ⟦{W40}⟧'
headers = {'X-API-Key': '⟦{W32}⟧'}
requests.post(url, headers={"Authorization": "Token ⟦{H40}⟧"})
auth = HTTPBasicAuth("bob", "⟦Req!Pass1⟧")
session.auth = ("bob", "⟦Req!Pass1⟧")
engine = create_engine("postgresql+psycopg://app:⟦{W16}⟧@db/x")
redis.Redis(host="x", password="⟦r3dis!Pw⟧")
pymysql.connect(host='x', user='root', passwd='⟦PyMy!Sql⟧')
paramiko: ssh.connect(h, username="bob", password="⟦P4ramiko⟧")
server.login(sender, "⟦abcd efgh ijkl mnop⟧")
jwt.encode(payload, "⟦sup3r-s3cret-k3y⟧", algorithm="HS256")
jwt.sign(payload, '⟦sup3r-s3cret-k3y⟧')
cipher = AES.new(b"⟦{W32}⟧", AES.MODE_GCM)
-- password for sa: ⟦S4!dmin99⟧
/* db pwd = ⟦C0mment!Pw⟧ */
# pass: ⟦C0mment!Pw⟧
<!-- admin password: ⟦Html!Pw1⟧ -->
<input type="hidden" name="api_key" value="⟦{W32}⟧">
<apiKey>⟦{W32}⟧</apiKey>
<entry key="password">⟦X3ml!Pw⟧</entry>
password,⟦Csv!Pw99⟧
Password	⟦T4b!Pw99⟧
Passwd > ⟦Arr0w!Pw⟧
credit card 4⟦111 1111 1111 1111⟧ exp 01/29
CC: ⟦5555-5555-5555-4444⟧
card no ⟦6011111111111117⟧
⟦378282246310005⟧ is the company amex
the Visa ⟦4012888888881881⟧ was charged
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
"resolved": "https://packages.example.org/x/-/x-1.0.0.tgz"
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
The deploy of {H7} took 12 minutes.
git checkout {H40} -- src/
go.sum: github.com/x/y v1.2.3 h1:{B43}=
"sha512": "{H128}",
poetry.lock: hash = "sha256:{H64}"
Subresource: integrity="sha256-{B43}="
docker image ID {H12}
CONTAINER ID {H12} nginx Up 3 hours
etag "{H32}-4"
x-request-id: {H8}-{H4}-{H4}-{H4}-{H12}
x-amz-request-id: {C16}
x-amz-id-2: {B76}
cf-ray: {H16}-FRA
correlation id {H32}
span_id={H16} trace_id={H32}
run_01{C24}
Build #48213 finished
JIRA-4821 was closed
job id: 8123987123
order id: 4539148803436468
Order no. 5425 2334 3010 9904
Tracking: 00340434161094042557
account number 0532013000
IBAN GB82 WEST 1234 5698 7654 32
BIC DEUTDEFF500
VAT DE123456789
ISBN-13: 978-0-306-40615-7
+1 415 555 2671
tel: 0049-89-1234567
SSID is HomeNet, channel 11
MAC address 3c:22:fb:12:34:56
serial number C02{C9}
part no. 4C-5512-88
license: Apache-2.0
License key formats are described in chapter 4.
public key of the server: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B42} root@srv
-----BEGIN PGP PUBLIC KEY BLOCK-----\n{B64}\n-----END PGP PUBLIC KEY BLOCK-----
-----BEGIN CERTIFICATE REQUEST-----\n{B64}\n-----END CERTIFICATE REQUEST-----
fingerprint 2048 SHA256:{B43} root@srv (RSA)
known_hosts: github.com ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{B300}
bitcoin address 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa
eth address 0x{H40}
tx 0x{H64}
contract at 0x{H40} on mainnet
ENS name vitalik.eth
npub1{z58}
age public key age1{z58}
wireguard PublicKey: {B43}=
YOUR_API_KEY
<YOUR_TOKEN_HERE>
API_TOKEN=<token>
SECRET_KEY=changeme
password=${PASSWORD}
password: !vault |
password: "{{ lookup('env', 'PW') }}"
password: ENC[AES256_GCM,data:{B20},iv:{B44},tag:{B24},type:str]
DB_PASS=$(cat /run/secrets/db)
DB_PASSWORD=`pass show db`
token = os.environ.get("TOKEN", "")
api_key = settings.OPENAI_API_KEY
const apiKey = import.meta.env.VITE_API_KEY
let token: String = env::var("TOKEN")?;
password := viper.GetString("db.password")
var password = Console.ReadLine();
$password = Read-Host -AsSecureString
password = input("Password: ")
passwords = load_passwords(path)
assert password == expected_password
raise ValueError("password must not be empty")
logger.info("token refreshed for user %s", user)
return {"token": create_token(user)}
token_hash = hashlib.sha256(token.encode()).hexdigest()
if not secrets.compare_digest(a, b):
class TokenBucket:
TOKENS_PER_MINUTE = 90000
max_new_tokens=512, temperature=0.7
"usage": {"prompt_tokens": 312, "completion_tokens": 88, "total_tokens": 400}
context window: 200000 tokens
token budget for the page: 8,000
tokens/s: 43.2
secret_name = "prod/db/password"
secretRef: name: db-credentials
passwordKey: admin-password
keyRef: projects/p/locations/l/keyRings/r/cryptoKeys/k
kms_key_id: arn:aws:kms:eu-west-1:123456789012:key/{H8}-{H4}-{H4}-{H4}-{H12}
vault path secret/data/prod/db
op item get "Prod DB" --fields password
1Password entry "Prod DB", vault Shared
bw get password prod-db
pass show work/db
Use `gh auth token` to print the token.
The token is in the keychain.
The API key lives in AWS Secrets Manager under prod/openai.
Rotate the signing key every quarter, see runbook 12.
Passwords need 12+ characters, a digit and a symbol.
Password rules: min 10 chars, max 128 chars, no reuse of last 5.
His password was "too short", the form said.
The password field accepts 72 bytes with bcrypt.
Forgot password? Click the link.
the secret sauce is butter
keep this secret until Friday
The secret to speed is caching.
key takeaway: measure first
Key metrics: p95 230ms, p99 410ms
primary key (tenant_id, id)
The key was cut on Tuesday; the spare key is at the desk.
piano key C4, then G5
API keys have the prefix sk_ and 32 characters.
An access token expires after 3600 seconds, a refresh token after 30 days.
OAuth scopes: read:user repo:status
JWT header: {"alg": "HS256", "typ": "JWT"}
basic auth over TLS only
bearer tokens are sent in the Authorization header
Authorization: Bearer {token}
-H "Authorization: Bearer ${ACCESS_TOKEN}"
curl -u $USER:$TOKEN https://x
curl -u : --negotiate https://x
mysql --defaults-file=~/.my.cnf -p
sshpass -f /root/.sshpw ssh x
docker login --username ci --password-stdin
psql "postgres://app@db/shop"
postgres://app:***@db/shop
postgres://{user}:{password}@{host}/{db}
mongodb://user:pass@localhost
https://example.com?token=<token>
https://example.com/?utm_source=x&utm_campaign=spring2024
https://example.com/?q=password+reset+2024
https://maps.example.com/@52.5200,13.4050,12z
https://open.spotify.com/track/{W22}
https://www.amazon.com/dp/B0{C8}
https://example.atlassian.net/browse/OPS-1234
https://app.slack.com/client/T{C8}/C{C8}
https://s3.amazonaws.com/bucket/{H32}/file.zip
https://drive.google.com/file/d/{S33}/view
https://gist.github.com/bob/{H32}
https://example.com/verify
magic link login is documented in auth.md
Cookie: consent=true; theme=light; _gid=GA1.1.{D10}.{D10}
Set-Cookie: locale=de-DE; Path=/; SameSite=Lax
csrf protection is on
data:font/woff2;base64,{B300}
data:application/json;base64,eyJ{W40}
"cursor": "{B40}=="
"after": "{B24}"
"nonce": "{H24}"
salt rounds: 12
salt and pepper to taste
seed: 1337
PYTHONHASHSEED=0
random_state=20240501
uuid4() gave {H8}-{H4}-{H4}-{H4}-{H12}
"id": "{W20}"
user id: auth0|{H24}
Stripe customer cus_{W14}, subscription sub_{W24}
publishable key pk_live_{W40}
reCAPTCHA site key 6L{W38}
Google Analytics G-{C10}
client id {H32}
app id: {H8}-{H4}-{H4}-{H4}-{H12}
AWS account id 210987654321
AKIDs are key ids
ami-{H17}, i-{H17}, vpc-{H8}
sg-{H17}
instance type m5.2xlarge
error 0x80070005
color #a1b2c3
hex dump: de ad be ef 00 11 22 33
2024-05-01T10:00:00.123456Z
epoch 1714557600123
lat 52.520008, lon 13.404954
v2.31.0-rc.1+build.5
Python 3.11.9 (main, Apr 2 2024)
CVE-2024-12345 is fixed
RFC 7519 section 4.1
EAN 4012345678901
card ending in 4242
the test card number 4242 4242 4242 4243 is refused
pin 3 dependencies
pin: false
PIN pad is broken
door code changes every month
zip: 94107
promo code SUMMER24
coupon code: WELCOME10
status code: 404
exit code 1
area code 415
error code: E1001
the access code page returns 403
"""


def _fill(line: str, rng: random.Random) -> str:
    return _BLANK.sub(
        lambda blank: "".join(rng.choices(ALPHABETS[blank[1]], k=int(blank[2]))), line.replace("\\n", "\n")
    )


def secrets(seed: int = 1) -> list[Sample]:
    """Texts with secrets in them."""
    rng = random.Random(seed)
    filled = [_fill(line, rng) for line in SECRETS.strip().splitlines()]
    marked = [Sample(re.sub("[⟦⟧]", "", line), tuple(re.findall(r"⟦([^⟧]*)⟧", line, re.DOTALL))) for line in filled]
    return [*marked, *(Sample(text, tuple(held)) for text, held in MADE(rng))]


def lookalikes(seed: int = 2) -> list[str]:
    """Texts without a secret."""
    rng = random.Random(seed)
    return [_fill(line, rng) for line in LOOKALIKES.strip().splitlines()]
