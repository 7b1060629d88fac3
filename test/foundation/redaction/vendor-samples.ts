/**
 * A sample or more of each kind of the tables, with the lengths that vendors give: `<class 20>` is so many random
 * characters of a class, `→` stands before the part that is redacted, and `←` behind it. Written out, they would alarm
 * every secret scanner.
 */
export const VENDOR_SAMPLES = `
gateway-key             hk_<url 43> acp_<url 43>
aws-access-key-id       AKIA<upper 16> ASIA<upper 16>
aws-bedrock-api-key     ABSK<base64 128> bedrock-api-key-<base64 80>
aws-session-token       IQoJb3JpZ2lu<base64 300>== FwoGZXIvYXdz<base64 200>
aws-appsync-key         da2-<lower 26>
amazon-mws-token        amzn.mws.<uuid>
azure-client-secret     <alnum 3>→<digit 1>Q~<url 34>
alibaba-access-key-id   LTAI<mixed 20>
yandex-cloud-key        AQVN<url 36> t1.<url 20>.<url 86>
digitalocean-token      dop_v1_<hex 64>
cloudflare-token        cfut_<mixed 48> v1.0-<hex 24>-<hex 146>
heroku-api-key          HRKU-AA<url 58>
fly-access-token        fo1_<url 43> fm2_<base64 120>
netlify-token           nfp_<mixed 36>
scalingo-token          tk-us-<url 48>
deno-token              ddp_<mixed 36>
terraform-cloud-token   <alnum 14>.atlasv1.→<url 67>
vault-token             hvs.<url 95>
pulumi-token            pul-<hex 40>
infracost-api-key       ico-<mixed 32>
doppler-token           dp.pt.<alnum 43> dp.st.prd_eu.<alnum 43>
onepassword-key         ops_eyJ<base64 400> A3-<upper 6>-<upper 6>-<upper 5>-<upper 5>-<upper 5>-<upper 5>
tailscale-key           tskey-api-<mixed 12>CNTRL-<mixed 32>
defined-networking-token dnkey-<url 26>-<url 52>
docker-token            dckr_pat_<url 27> dckr_oat_<url 32>
docker-swarm-token      SWMTKN-1-<lower 50>-<lower 25>
openshift-token         sha256~<url 43>
rancher-token           token-<lower 5>:<lower 54>
age-secret-key          AGE-SECRET-KEY-1<upper 58>
github-token            ghp_<alnum 36> gho_<alnum 36> ghu_<alnum 36> ghs_<alnum 36> ghr_<alnum 76> github_pat_<alnum 22>_<alnum 59>
gitlab-token            glpat-<url 20> glrt-<url 20> glptt-<hex 40> glpat-<alnum 27>.01.<lower 9>
atlassian-token         ATATT3<url 180>=<HEX 8> ATCTT3xFfG<url 180>=<HEX 8> ATBB<mixed 32> ATTA<hex 72>
bitbucket-server-token  BBDC-<base64 44>
circleci-token          CCIPAT_<alnum 22>_<hex 40>
buildkite-token         bkua_<mixed 40>
harness-token           pat.<url 22>.<alnum 24>.<alnum 20>
octopus-api-key         API-<upper 26>
jenkins-token           11<hex 32>
jetbrains-token         perm:<base64 12>.<base64 16>.<alnum 30>
artifactory-token       AKCp<alnum 69> cmVmdGtu<alnum 56>
sonar-token             squ_<mixed 40> sqco_<alnum 59>
sourcegraph-token       sgp_<hex 16>_<hex 40> sgp_local_<hex 40> slk_<hex 64>
stackhawk-api-key       hawk.<url 20>.<url 20>
endor-labs-key          endr+<alnum 16>
nightfall-api-key       NF-<mixed 32>
dependency-track-key    odt_<mixed 40>
trufflehog-key          thog-key-<hex 16> thog-secret-<hex 32>
npm-token               npm_<mixed 36>
pypi-token              pypi-AgEIcHlwaS5vcmc<url 120>
rubygems-token          rubygems_<hex 48>
nuget-api-key           oy2<lower 43>
crates-io-token         cio<mixed 32>
clojars-token           CLOJARS_<hex 60>
packagist-token         packagist_ort_<hex 68>

slack-token             xoxb-<digit 12>-<digit 12>-<alnum 24> xoxp-<digit 12>-<digit 12>-<alnum 24>
slack-token             xapp-1-A<upper 10>-<digit 13>-<hex 64> xoxe.xoxp-1-<upper 40>
slack-webhook           https://hooks.slack.com/services/→T<upper 9>/B<upper 9>/<alnum 24>
discord-webhook         https://discord.com/api/webhooks/<digit 18>/→<url 68>←?
teams-webhook           https://a.webhook.office.com/webhookb2/→<uuid>@<uuid>/IncomingWebhook/<hex 32>/<uuid>
zapier-webhook          https://hooks.zapier.com/hooks/catch/→<digit 8>/<alnum 7>
telegram-bot-token      1<digit 9>:AA<url 33>
facebook-token          EAAM<alnum 180> IGQ<url 140> 1<digit 15>|<url 27>
firebase-server-key     AAAA<url 7>:APA91b<url 134>
twilio-key              SK<hex 32> AC<hex 32>
sendgrid-api-key        SG.<url 22>.<url 43>
mailgun-api-key         key-<hex 32>
brevo-key               xkeysib-<hex 64>-<alnum 16>
resend-api-key          re_<alnum 8>_<alnum 24>
intercom-token          dG9rO<base64 55>
pubnub-key              pub-c-<uuid> sec-c-<base64 48>
stripe-key              sk_live_<mixed 24> rk_live_<mixed 24> pi_<alnum 24>_secret_<alnum 25>
webhook-signing-secret  whsec_<base64 43>= whsec_<alnum 32>
square-token            EAAA<url 60> sq0atp-<url 22> sq0csp-<url 43>
paypal-token            access_token$production$<lower 16>$<hex 32>
plaid-token             access-sandbox-<uuid>
live-api-key            live_<mixed 30> test_<mixed 35> live_<mixed 20>-<mixed 19>
flutterwave-key         FLWSECK_TEST-<hex 32>-X FLWSECK-<hex 32>-X
razorpay-key            rzp_live_<mixed 14>
pagarme-key             ak_live_<mixed 30>
paddle-api-key          pdl_live_apikey_<lower 26>_<alnum 22>_<alnum 3>
ramp-secret             ramp_sec_<alnum 48>
robinhood-api-key       rh-api-<uuid>
duffel-token            duffel_test_<url 43>
easypost-key            EZAK<alnum 54>
shippo-token            shippo_live_<hex 40>
flexport-token          shltm_<url 40>
fleetbase-key           flb_live_<mixed 20>
shopify-token           shpat_<hex 32>
woocommerce-key         ck_<hex 40> cs_<hex 40>
databricks-token        dapi<hex 32> dose<hex 32>
supabase-key            sbp_<hex 40> sb_secret_<mixed 22>_<alnum 8>
planetscale-token       pscale_tkn_<url 43>
mongodb-atlas-secret    mdb_sa_sk_<alnum 6>-<alnum 33>
clickhouse-cloud-key    4b1d<alnum 38>
astra-token             AstraCS:<alnum 24>:<hex 64>
aiven-password          AVNS_<url 19>
dbt-token               dbtc_<url 38>
prefect-api-key         pnu_<mixed 36>
segment-token           sgp_<mixed 64>
adafruit-io-key         aio_<mixed 28>
ubidots-token           BBFF-<mixed 30>
grafana-token           glsa_<mixed 32>_<hex 8> glc_<base64 80>== eyJrIjoi<alnum 80>
sentry-token            sntryu_<hex 64> sntrys_<base64 120>_<base64 43>
new-relic-key           NRAK-<upper 27> NRII-<url 32> px-api-<uuid>
dynatrace-token         dt0c01.<upper 24>.<upper 64>
honeycomb-key           hcaik_<lower 58>
axiom-token             xaat-<uuid>
posthog-key             phx_<mixed 43>
rootly-key              rootly_<hex 64>
fullstory-key           na1.<base64 100>
launchdarkly-key        api-<uuid> sdk-<uuid>
linear-api-key          lin_api_<mixed 40>
notion-token            ntn_<digit 11><alnum 35> secret_<mixed 43>
postman-api-key         PMAK-<hex 24>-<hex 34>
figma-token             figd_<url 40>
airtable-token          pat<alnum 14>.<hex 64>
asana-token             1/<digit 16>:<hex 32> 2/<digit 16>/<digit 16>:<hex 32>
clickup-token           pk_<digit 8>_<upper 32>
hubspot-token           pat-na1-<uuid>
klaviyo-key             pk_<hex 34>
salesforce-token        00D<alnum 12>!<alnum 96> 5AEP861<alnum 80> 3MVG9<alnum 80>
zoho-token              1000.<hex 32>.<hex 32>
dropbox-token           sl.<url 136>
contentful-token        CFPAT-<url 43>
typeform-token          tfp_<url 59>
readme-api-key          rdme_<lower 70>
frameio-token           fio-u-<url 64>
adobe-client-secret     p8e-<alnum 32>
mapbox-token            sk.eyJ<url 80>.<url 22>
locationiq-token        pk.<hex 32>
bannerbear-key          bb_pr_<hex 30>
ionic-token             ion_<lower 42>
intra42-secret          s-s4t2ud-<hex 64>
settlemint-token        sm_pat_<mixed 16>
okta-token              00<mixed 40>
stytch-secret           secret-live-<url 36>
nostr-secret-key        nsec1<lower 58>
bitcoin-extended-key    xprv<alnum 107>
secret-token-uri        secret-token:<mixed 32>

anthropic-api-key       sk-ant-api03-<url 93>AA
openrouter-api-key      sk-or-v1-<hex 64>
langfuse-key            sk-lf-<uuid> pk-lf-<uuid>
helicone-api-key        sk-helicone-<mixed 7>-<mixed 24>
openai-api-key          sk-<mixed 48> sk-proj-<url 120> sk-svcacct-<url 60>
google-api-key          AIza<url 35>
google-oauth            ya29.<url 120> GOCSPX-<url 28> 1//0<url 60>
hugging-face-token      hf_<mixed 34> api_org_<mixed 34>
groq-api-key            gsk_<mixed 52>
perplexity-api-key      pplx-<mixed 48>
replicate-api-token     r8_<mixed 37>
xai-api-key             xai-<mixed 80>
nvidia-api-key          nvapi-<url 64>
langsmith-api-key       lsv2_pt_<hex 32>_<hex 10> lsv2_sk_<hex 32>_<hex 10> ls__<hex 32>
pinecone-api-key        pcsk_<alnum 6>_<alnum 63>
elevenlabs-api-key      sk_<hex 48>
apify-api-token         apify_api_<mixed 36>
voiceflow-api-key       VF.DM.<hex 24>.<alnum 16> VF.<hex 24>.<alnum 16>
salad-cloud-api-key     salad_cloud_<alnum 5>_<mixed 40>
cerebras-api-key        csk-<lower 48>
fireworks-api-key       fw_<mixed 24>
together-api-key        tgp_v1_<url 43>
tavily-api-key          tvly-<mixed 32> tvly-dev-<mixed 32>
firecrawl-api-key       fc-<hex 32>
jina-api-key            jina_<mixed 60>
e2b-api-key             e2b_<hex 40>
llama-cloud-api-key     llx-<mixed 48>
runpod-api-key          rpa_<mixed 40>
browserbase-api-key     bb_live_<mixed 27>
`;
