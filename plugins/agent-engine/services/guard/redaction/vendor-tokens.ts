import {
  ALNUM,
  ANY_HEX,
  BASE64,
  BASE64URL,
  chars,
  DIGIT,
  HEX,
  LOWER_ALNUM,
  literal,
  plus,
  UPPER_ALNUM,
  WORD,
} from './char-class.ts';
import {
  begins,
  behind,
  type CredentialKind,
  exactly,
  keyword,
  run,
  token,
  tokens,
  unless,
} from './pattern.ts';

/** Gitleaks keeps the formats that vendors do not publish. */
const GITLEAKS = 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml';

/**
 * Credentials that vendors gave a beginning of their own. Lengths are lower bounds, below the real ones where the beginning
 * says enough: a credential that has lost its last characters can be guessed, and the sooner it is certain, the shorter the
 * text waits. They are exact where the beginning is short and a longer run would be something else.
 */
export const VENDOR_TOKENS: readonly CredentialKind[] = [
  {
    kind: 'gateway-key',
    title: "This gateway's own API keys and static tokens: 256 random bits in base64url",
    source: 'kernel/auth/api-key-material.ts',
    patterns: tokens('hk_ acp_', run(BASE64URL, 32)),
  },
  {
    kind: 'aws-access-key-id',
    title: 'AWS access key id, long-lived (AKIA) and temporary (ASIA), and those of Bedrock and contexts',
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html',
    patterns: tokens('AKIA ASIA ABIA ACCA', run(UPPER_ALNUM, 16, 16), unless(ALNUM)),
  },
  {
    kind: 'github-token',
    title: 'GitHub personal, OAuth, app, installation and refresh tokens',
    source:
      'https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/',
    patterns: [...tokens('ghp_ gho_ ghu_ ghs_ ghr_', run(ALNUM, 20)), token('github_pat_', run(WORD, 20))],
  },
  {
    kind: 'gitlab-token',
    title: 'GitLab personal, deploy, runner, job, trigger, feed, mail, agent, OAuth and SCIM tokens',
    source: 'https://docs.gitlab.com/security/tokens/#token-prefixes',
    patterns: [
      ...tokens(
        'glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- GR1348941',
        run(BASE64URL, 20),
      ),
      // Routable tokens carry their length and a checksum behind a dot, or behind one each.
      ...tokens(
        'glpat- glrt-',
        run(BASE64URL, 20, 300),
        ...exactly(literal('.')),
        run(LOWER_ALNUM, 2, 2),
        ...exactly(literal('.')),
        run(LOWER_ALNUM, 7, 9),
      ),
      ...tokens('glpat- glrt-', run(BASE64URL, 20, 300), ...exactly(literal('.')), run(LOWER_ALNUM, 9, 9)),
    ],
  },
  {
    kind: 'slack-token',
    title: 'Slack bot, user, app-level, configuration and legacy tokens',
    source: 'https://docs.slack.dev/authentication/tokens',
    patterns: [
      ...tokens('xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-', run(chars('0-9A-Za-z-'), 20)),
      token('xoxe.xox', run(chars('bp'), 1, 1), ...exactly(literal('-')), run(chars('0-9A-Za-z-'), 20)),
    ],
  },
  {
    kind: 'slack-webhook',
    title: 'The secret path of a Slack webhook',
    source: `${GITLEAKS}#slack-webhook-url`,
    patterns: ['services/', 'workflows/', 'triggers/'].map((path) =>
      behind('anywhere', `hooks.slack.com/${path}`, [], run(plus(BASE64, '_-'), 20)),
    ),
  },
  {
    kind: 'stripe-key',
    title: 'Stripe secret and restricted keys',
    source: 'https://docs.stripe.com/keys',
    patterns: tokens('sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_', run(ALNUM, 16)),
  },
  {
    kind: 'webhook-signing-secret',
    title: 'Signing secret of Stripe webhooks and of Standard Webhooks',
    source: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    patterns: [token('whsec_', run(BASE64, 24), run(chars('='), 0, 2))],
  },
  {
    kind: 'npm-token',
    title: 'npm access token',
    source: `${GITLEAKS}#npm-access-token`,
    patterns: [token('npm_', run(ALNUM, 20))],
  },
  {
    kind: 'pypi-token',
    title: 'PyPI upload token: a macaroon, which always begins like this in base64',
    source: `${GITLEAKS}#pypi-upload-token`,
    patterns: [token('pypi-AgE', run(BASE64URL, 20))],
  },
  {
    kind: 'rubygems-token',
    title: 'RubyGems API key',
    source: `${GITLEAKS}#rubygems-api-token`,
    patterns: [token('rubygems_', run(HEX, 20))],
  },
  {
    kind: 'docker-token',
    title: 'Docker Hub personal and organization access tokens',
    source: 'https://docs.docker.com/security/access-tokens/',
    patterns: tokens('dckr_pat_ dckr_oat_', run(BASE64URL, 20)),
  },
  {
    kind: 'sendgrid-api-key',
    title: 'SendGrid API key: an id and a secret',
    source: `${GITLEAKS}#sendgrid-api-token`,
    patterns: [token('SG.', run(BASE64URL, 16, 64), ...exactly(literal('.')), run(BASE64URL, 32))],
  },
  {
    kind: 'twilio-key',
    title: 'Twilio API key (SK) and account id (AC)',
    source: `${GITLEAKS}#twilio-api-key`,
    patterns: tokens('SK AC', run(ANY_HEX, 32, 32), unless(ALNUM)),
  },
  {
    kind: 'mailgun-api-key',
    title: 'Mailgun private API key',
    source: `${GITLEAKS}#mailgun-private-api-token`,
    patterns: [keyword('key-', run(HEX, 32, 32), unless(ALNUM))],
  },
  {
    kind: 'telegram-bot-token',
    title: 'Telegram bot token: the id of the bot and a secret',
    source: 'https://core.telegram.org/bots/api#authorizing-your-bot',
    patterns: [
      begins(
        'word',
        Array.from({ length: 8 }, () => DIGIT),
        run(DIGIT, 0, 8),
        ...exactly(literal(':')),
        run(BASE64URL, 30),
      ),
    ],
  },
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
  {
    kind: 'discord-webhook',
    title: "The secret in a Discord webhook's URL",
    source: 'https://docs.discord.com/developers/resources/webhook',
    patterns: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'].map((path) =>
      behind('anywhere', path, [run(DIGIT, 1), ...exactly(literal('/'))], run(BASE64URL, 40)),
    ),
  },
  {
    kind: 'digitalocean-token',
    title: 'DigitalOcean personal, OAuth and refresh tokens',
    source: `${GITLEAKS}#digitalocean-pat`,
    patterns: tokens('dop_v1_ doo_v1_ dor_v1_', run(ANY_HEX, 20)),
  },
  {
    kind: 'cloudflare-token',
    title: 'Cloudflare global key, user and account tokens',
    source: 'https://developers.cloudflare.com/fundamentals/api/get-started/token-formats/',
    patterns: tokens('cfk_ cfut_ cfat_', run(ALNUM, 24)),
  },
  {
    kind: 'shopify-token',
    title: 'Shopify access tokens and shared secret',
    source: `${GITLEAKS}#shopify-access-token`,
    patterns: tokens('shpat_ shpca_ shppa_ shpss_', run(ANY_HEX, 20)),
  },
  {
    kind: 'databricks-token',
    title: 'Databricks personal access token',
    source: `${GITLEAKS}#databricks-api-token`,
    patterns: tokens('dapi', run(HEX, 32, 32), unless(ALNUM)),
  },
  {
    kind: 'vault-token',
    title: 'HashiCorp Vault service, batch and recovery tokens',
    source: 'https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes',
    patterns: tokens('hvs. hvb. hvr.', run(BASE64URL, 24)),
  },
  {
    kind: 'grafana-token',
    title: 'Grafana service account and cloud tokens',
    source: `${GITLEAKS}#grafana-service-account-token`,
    patterns: [token('glsa_', run(WORD, 24)), token('glc_', run(BASE64, 24), run(chars('='), 0, 3))],
  },
  {
    kind: 'linear-api-key',
    title: 'Linear API key',
    source: `${GITLEAKS}#linear-api-key`,
    patterns: [token('lin_api_', run(ALNUM, 20))],
  },
  {
    kind: 'notion-token',
    title: 'Notion integration token',
    source: `${GITLEAKS}#notion-api-token`,
    patterns: [token('ntn_', run(ALNUM, 20))],
  },
  {
    kind: 'postman-api-key',
    title: 'Postman API key',
    source: `${GITLEAKS}#postman-api-token`,
    patterns: [token('PMAK-', run(ANY_HEX, 24, 24), ...exactly(literal('-')), run(ANY_HEX, 1))],
  },
  {
    kind: 'new-relic-key',
    title: 'New Relic user and insert keys',
    source: `${GITLEAKS}#new-relic-user-api-key`,
    patterns: tokens('NRAK- NRII-', run(chars('A-Za-z0-9-'), 27)),
  },
  {
    kind: 'atlassian-token',
    title: 'Atlassian API token',
    source: `${GITLEAKS}#atlassian-api-token`,
    patterns: [token('ATATT3', run(plus(BASE64URL, '='), 30))],
  },
  {
    kind: 'age-secret-key',
    title: 'Secret key of age',
    source: `${GITLEAKS}#age-secret-key`,
    patterns: [token('AGE-SECRET-KEY-1', run(UPPER_ALNUM, 20))],
  },
];
