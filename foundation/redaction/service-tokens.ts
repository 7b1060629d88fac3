import { BASE64URL, chars, literal } from './char-class.ts';
import { readKinds } from './kind-table.ts';
import { begins, type CredentialKind, exactly, run } from './pattern.ts';

/**
 * Credentials of services that vendors gave a form of their own. Lengths are lower bounds, below the real ones where
 * the beginning says enough: a credential that has lost its last characters can be guessed, and the sooner it is
 * certain, the shorter the text waits. They are exact where the beginning is short and a longer run would be something
 * else.
 */
export const SERVICE_TOKENS: readonly CredentialKind[] = [
  {
    kind: 'discord-bot-token',
    title: "Discord bot token: the user's number as decimal digits in base64, a time, a signature",
    source: 'https://docs.discord.com/developers/reference#authentication',
    patterns: [
      // What the first three decimal digits can become.
      begins(
        'token',
        [chars('MNO'), chars('DTjz'), chars('AEIMQUYcgk'), chars('w-z0-5')],
        run(BASE64URL, 19, 26),
        ...exactly(literal('.')),
        run(BASE64URL, 5, 7),
        ...exactly(literal('.')),
        run(BASE64URL, 27),
      ),
    ],
  },
  ...readKinds(`
slack-token  xox(a|b|e|o|p|r|s)-{alnum+- 20} xapp-{alnum+- 20} xoxe.xox(b|p)-{alnum+- 20}
  Slack bot, user, app-level, configuration and legacy tokens https://docs.slack.dev/authentication/tokens
slack-webhook  *hooks.slack.com/(services|workflows|triggers)/→{base64+_- 20}
  The secret path of a Slack webhook gitleaks:slack-webhook-url
discord-webhook  *discord(app|).com/api/webhooks/{digit 1}/→{url 40}
  The secret in a Discord webhook's URL https://docs.discord.com/developers/resources/webhook
teams-webhook  *.webhook.office.com/webhookb2/→{uuid+@ 60-90}/{word 1-30}/{alnum 20}{uuid+/ 0}
  The secret path of a Microsoft Teams webhook gitleaks:microsoft-teams-webhook
zapier-webhook  *hooks.zapier.com/hooks/catch/→{alnum+/ 10}
  The secret path of a Zapier webhook trufflehog:zapierwebhook
telegram-bot-token  {digit 8-8}{digit 0-8}:{url 30}
  Telegram bot token: the id of the bot and a secret https://core.telegram.org/bots/api#authorizing-your-bot
facebook-token  EA(AM|AC|AB|AG|AH|AJ|AI){alnum 80} IGQ{url 100} {digit 8-8}{digit 7-8}|{url 27}
  Facebook, WhatsApp and Instagram access tokens, and those of apps gitleaks:facebook-page-access-token
firebase-server-key  AAAA{url 7-7}:APA91b{url 100}
  Firebase Cloud Messaging server key https://firebase.google.com/docs/cloud-messaging/auth-server
twilio-key  (SK|AC){HEX 32-32}!
  Twilio API key (SK) and account id (AC) gitleaks:twilio-api-key
sendgrid-api-key  SG.{url 16-64}.{url 32}
  SendGrid API key: an id and a secret gitleaks:sendgrid-api-token
mailgun-api-key  ^key-{hex 32-32}!
  Mailgun private API key gitleaks:mailgun-private-api-token
brevo-key  x(keysib|smtpsib)-{HEX 40}{alnum+- 0}
  Brevo (Sendinblue) API and SMTP keys gitleaks:sendinblue-api-token
resend-api-key  re_{alnum 8-8}_{alnum 20}
  Resend API key https://resend.com/docs/api-reference/introduction
intercom-token  dG9rO{base64 40}
  Intercom access token: base64 of tok: and a secret https://developers.intercom.com/docs/build-an-integration/learn-more/authentication
pubnub-key  (pub|sub)-c-{uuid 36-36}! sec-c-{base64 40}
  PubNub publish, subscribe and secret keys trufflehog:pubnubpublishkey
stripe-key  (sk|rk)_(live|test|prod)_{alnum 16~} pi_{alnum 24-24}_secret_{alnum 20}
  Stripe secret and restricted keys, client secrets of payments https://docs.stripe.com/keys
webhook-signing-secret  whsec_{base64 24}{base64+= 0}
  Signing secret of Stripe and Standard Webhooks https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
square-token  EAAA{url 50} sq0(atp|csp|idp)-{url 22}
  Square access tokens and OAuth secrets gitleaks:square-access-token
paypal-token  access_token$(production|sandbox)\${lower 16-16}\${hex 32-32}!
  PayPal and Braintree access token https://developer.paypal.com/braintree/docs/guides/authorization/overview
plaid-token  access-(sandbox|development|production)-{uuid 36-36}!
  Plaid access token gitleaks:plaid-api-token
live-api-key  (live|test)_{alnum 30~} (live|sandbox)_{url 40-40~}!
  API keys of Mollie, Lob and GoCardless, whose beginnings are the same gitleaks:gocardless-api-token
flutterwave-key  FLWSECK(_TEST|)-{alnum+- 12}
  Flutterwave secret and encryption keys gitleaks:flutterwave-secret-key
razorpay-key  rzp_(live|test)_{alnum 14-14~}!
  Razorpay key id trufflehog:razorpay
pagarme-key  ak_(live|test)_{alnum 30~}
  Pagar.me API key trufflehog:pagarme
paddle-api-key  pdl_(live|sdbx)_apikey_{alnum 20}{word 0}
  Paddle API key https://developer.paddle.com/api-reference/about/authentication
ramp-secret  ramp_(sec|tok)_{alnum 30}
  Ramp client secret trufflehog:ramp
robinhood-api-key  rh-api-{uuid 36-36}!
  Robinhood Crypto API key trufflehog:robinhoodcrypto
duffel-token  duffel_(test|live)_{url+= 40}
  Duffel API token gitleaks:duffel-api-token
easypost-key  EZ(A|T)K{alnum 50}
  EasyPost API key gitleaks:easypost-api-token
shippo-token  shippo_(live|test)_{HEX 30}
  Shippo API token gitleaks:shippo-api-token
flexport-token  shltm_{url 40}
  Flexport API token trufflehog:flexport
fleetbase-key  flb_(live|test)_{alnum 20~}
  Fleetbase API key trufflehog:fleetbase
shopify-token  shp(at|ca|pa|ss)_{HEX 20}
  Shopify access tokens and shared secret gitleaks:shopify-access-token
woocommerce-key  (ck|cs)_{hex 40-40}!
  WooCommerce REST API key and secret https://woocommerce.github.io/woocommerce-rest-api-docs/#authentication
databricks-token  (dapi|dose){hex 32-32}!
  Databricks personal access token and OAuth secret gitleaks:databricks-api-token
supabase-key  sbp_{hex 40-40}! sbp_(oauth|v0)_{hex 40} sb_secret_{url 20~}
  Supabase personal access tokens and secret keys trufflehog:supabasetoken
planetscale-token  pscale_(tkn|pw|oauth)_{url+=. 30}
  PlanetScale service token, password and OAuth token gitleaks:planetscale-api-token
mongodb-atlas-secret  mdb_sa_sk_{url 36}
  MongoDB Atlas service account secret kingfisher:mongodb.yml
clickhouse-cloud-key  4b1d{alnum 38-38}!
  ClickHouse Cloud API secret key gitleaks:clickhouse-cloud-api-secret-key
astra-token  AstraCS:{alnum 20-30}:{hex 40}
  DataStax Astra DB application token https://docs.datastax.com/en/astra-db-serverless/administration/manage-application-tokens.html
aiven-password  AVNS_{url 15}
  Password of a service of Aiven https://aiven.io/docs/platform/concepts/service-users
dbt-token  dbt(c|u)_{url+= 30}
  dbt service and personal tokens https://docs.getdbt.com/docs/dbt-cloud-apis/service-tokens
prefect-api-key  pn(u|b)_{alnum 30~}
  Prefect API key gitleaks:prefect-api-token
segment-token  sgp_{alnum 64-64}!
  Segment public API token noseyparker:segment.yml
adafruit-io-key  aio_{alnum 28-28~}!
  Adafruit IO key trufflehog:adafruitio
ubidots-token  BB(FF|US)-{alnum 30-40~}!
  Ubidots token trufflehog:ubidots
grafana-token  glsa_{word 24~} glc_{base64 24}{base64+= 0} eyJrIjoi{alnum 60-400}!
  Grafana service account and cloud tokens, and the older API keys gitleaks:grafana-service-account-token
sentry-token  sntry(s|u)_{base64+_= 60}
  Sentry organization and user tokens gitleaks:sentry-org-token
new-relic-key  NR(AK|II|IQ|AA|RA)-{alnum+_- 25} px-(api|dep)-{uuid 36-36}!
  New Relic user, insert, query, admin and Pixie keys gitleaks:new-relic-user-api-key
dynatrace-token  dt0{lower 1-1}{digit 2-2}.{upper 24-24}.{upper 40}
  Dynatrace token noseyparker:dynatrace.yml
honeycomb-key  hc(aik|xik|amk|alk)_{lower 40}
  Honeycomb ingest and management keys https://docs.honeycomb.io/get-started/configure/environments/manage-api-keys/
axiom-token  x(aat|apt)-{uuid 36-36}!
  Axiom API and personal tokens https://axiom.co/docs/reference/tokens
posthog-key  ph(x|s|a)_{alnum 35~}
  PostHog personal API key, feature flags key and OAuth token trufflehog:posthog
rootly-key  rootly_{hex 40}
  Rootly API key trufflehog:rootly
fullstory-key  na1.{base64 90}
  FullStory API key trufflehog:fullstory
launchdarkly-key  (api|sdk|mob)-{hex 8-8}-{hex 4-4}-{hex 4-4}-{hex 4-4}-{hex 12-12}!
  LaunchDarkly access tokens and SDK keys trufflehog:launchdarkly
linear-api-key  lin_(api|oauth|wh)_{alnum 20~}
  Linear API key, OAuth token and webhook secret gitleaks:linear-api-key
notion-token  ntn_{digit 11-11}{alnum 30} ntn_{alnum 20~} secret_{alnum 43-43~}!
  Notion integration token gitleaks:notion-api-token
postman-api-key  PMAK-{HEX 24-24}-{HEX 1}
  Postman API key gitleaks:postman-api-token
figma-token  fig(d|p|u|o)_{url+= 38}
  Figma personal access and OAuth tokens trufflehog:figmapersonalaccesstoken
airtable-token  pat{alnum 14-14}.{hex 40}
  Airtable personal access token gitleaks:airtable-personnal-access-token
asana-token  (0|1|2)/{digit 10-20}:{HEX 32} 2/{digit 10-20}/{digit 10-20}:{HEX 32}
  Asana personal access token trufflehog:asanapersonalaccesstoken
clickup-token  pk_{digit 6-9}_{upper 32-32}!
  ClickUp personal token kingfisher:clickup.yml
hubspot-token  pat-(na|eu|ap)(1|2)-{uuid 36-36}!
  HubSpot private app token trufflehog:hubspot_apikey
klaviyo-key  pk_{hex 34-34}! pk_{alnum 6-6}_{hex 34-34}!
  Klaviyo private API key trufflehog:klaviyo
salesforce-token  00D{alnum 12-12}!{word+. 80} 5AEP861{word+.= 60} 3MVG9{word+.= 60}
  Salesforce access and refresh tokens, consumer key trufflehog:salesforce
zoho-token  1000.{hex 32-32}.{hex 32-32}!
  Zoho access and refresh tokens kingfisher:zohocrm.yml
dropbox-token  sl.{url 100}
  Dropbox access token noseyparker:dropbox.yml
contentful-token  CFPAT-{url 40}
  Contentful personal access token trufflehog:contentfulpersonalaccesstoken
typeform-token  tfp_{url+.= 40}
  Typeform personal access token gitleaks:typeform-api-token
readme-api-key  rdme_{lower 50}
  ReadMe API key gitleaks:readme-api-token
frameio-token  fio-u-{url+= 40}
  Frame.io developer token gitleaks:frameio-api-token
adobe-client-secret  p8e-{alnum+- 32}
  Adobe OAuth client secret gitleaks:adobe-client-secret
mapbox-token  (sk|tk).eyJ{url 20-400}.{url 15}
  Mapbox secret and temporary tokens kingfisher:mapbox.yml
locationiq-token  pk.{hex 32-32}!
  LocationIQ access token trufflehog:locationiq
bannerbear-key  bb_(pr|ma)_{hex 30}
  Bannerbear project and master keys trufflehog:bannerbear
ionic-token  ion_{lower 42-42}!
  Ionic API token kingfisher:ionic.yml
intra42-secret  s-s4t2(ud|af)-{HEX 40}
  42 Intra client secret gitleaks:intra42-client-secret
settlemint-token  sm_(aat|pat|sat)_{alnum 16~}
  SettleMint access tokens gitleaks:settlemint-personal-access-token
okta-token  00{url 40-40~}!
  Okta API token gitleaks:okta-access-token
stytch-secret  secret-(live|test)-{url+= 36}
  Stytch project secret https://stytch.com/docs/api/authentication
nostr-secret-key  nsec1{lower 58-58}!
  Nostr secret key https://github.com/nostr-protocol/nips/blob/master/19.md
bitcoin-extended-key  xprv{alnum 100}
  Extended private key of a Bitcoin wallet https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki
secret-token-uri  secret-token:{url+.%~ 16~}
  Secret token as a URI https://www.rfc-editor.org/rfc/rfc8959
`),
];
