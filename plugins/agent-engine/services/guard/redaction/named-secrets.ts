import { anyExcept, BASE64, BLANK, chars, plus } from './char-class.ts';
import { behind, type CredentialKind, judged, type Pattern, run, type Step, unless } from './pattern.ts';
import { looksRandom } from './tally.ts';

/** A value that has not shown by now that it is random is none. */
const UNDECIDED = 128;

const QUOTES = chars('"\'`\\');

/** `_` is also written `-`, or left out. */
function spellings(names: string): string[] {
  return names.split(' ').flatMap((name) => {
    const [first, ...rest] = name.split('_');
    return rest.length === 0 ? [name] : ['_', '-', ''].map((joint) => [first, ...rest].join(joint));
  });
}

/** From a name to its value: `=`, `:`, `:=`, `=>`, each with blanks and quotes, in code, YAML, JSON and escaped JSON. */
function assigned(minQuotes: number): Step[] {
  return [
    run(QUOTES, 0, 4),
    run(BLANK, 0),
    run(chars(':='), 1, 3),
    run(chars('>'), 0, 1),
    run(BLANK, 0),
    run(QUOTES, minQuotes, 4),
  ];
}

/** A name may end with this, so that `DB_PASSWORD` and `clientSecret` are ones; nothing may stand between it and the sign. */
function named(names: string, minQuotes: number, ...value: readonly Step[]): Pattern[] {
  return spellings(names).map((name) => behind('anywhere', name, assigned(minQuotes), ...value));
}

const SECRET_NAMES = [
  'password passwd passphrase secret secret_key api_key access_key private_key signing_key encryption_key',
  'authorization access_token auth_token api_token refresh_token bearer_token session_token secret_token bot_token',
  'deploy_token github_token gh_token gitlab_token npm_token vault_token hub_token',
].join(' ');

/** A path, a variable, a template, an expression are no values. */
const FIRST = chars('A-Za-z0-9+_~!@#^&?-');
/** No `:`, which URLs and resource names have early on, and no `=`, behind which another value begins. */
const VALUE = chars('A-Za-z0-9+/_~!@#$%^*?.-');
const QUOTED_VALUE = plus(VALUE, '&,;|');

/** Credentials that only the name before them gives away. */
export const NAMED_SECRETS: readonly CredentialKind[] = [
  {
    kind: 'aws-secret-access-key',
    title: 'AWS secret access key, assigned to its name',
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
    patterns: named(
      'secret_access_key aws_secret_key aws_secret',
      0,
      run(BASE64, 40, 40),
      unless(plus(BASE64, '=')),
    ),
  },
  {
    kind: 'azure-key',
    title: 'Account or access key of an Azure connection string',
    source: 'https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string',
    patterns: named('account_key shared_access_key', 0, run(BASE64, 40), run(chars('='), 0, 2)),
  },
  {
    kind: 'azure-signature',
    title: 'Signature of an Azure shared access URL',
    source: 'https://learn.microsoft.com/en-us/rest/api/storageservices/create-service-sas',
    patterns: [behind('word', 'sig=', [], run(plus(BASE64, '%'), 40), run(chars('='), 0, 2))],
  },
  {
    kind: 'secret-assignment',
    title: 'A value that looks random, assigned to a name that means a secret',
    source: 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml#generic-api-key',
    patterns: [
      ...named(
        SECRET_NAMES,
        0,
        run(FIRST, 1, 1),
        judged(VALUE, 19, UNDECIDED, looksRandom),
        run(plus(VALUE, ':='), 0),
      ),
      // In quotes, the secret goes on to the closing one.
      ...named(
        SECRET_NAMES,
        1,
        run(FIRST, 1, 1),
        judged(QUOTED_VALUE, 19, UNDECIDED, looksRandom),
        run(anyExcept('"\'`\\\r\n'), 0),
      ),
    ],
  },
];
