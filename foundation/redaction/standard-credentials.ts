import {
  anyExcept,
  BASE64,
  BASE64URL,
  type CharClass,
  caseless,
  chars,
  DIGIT,
  except,
  literal,
  plus,
  visibleExcept,
} from './char-class.ts';
import {
  base64,
  before,
  begins,
  behind,
  type CredentialKind,
  exactly,
  isNoPlaceholder,
  judged,
  looksRandom,
  type Pattern,
  run,
  type Step,
  through,
} from './pattern.ts';

/** A JWT's header is decided on within this many characters; none that is sent as a credential comes near. */
const LONGEST_JWT_HEADER = 2048;
/** The same of the first two parts of a JWE: keys of RSA with 4,096 bits are the longest. */
const LONGEST_JWE_HEADER = 512;
const LONGEST_JWE_KEY = 700;
/** A password in a URL is decided on within this many characters. */
const LONGEST_URL_PASSWORD = 512;

/** The `"alg":`, `"typ":`, `"kid":` and `"x5…` with which headers begin, in base64url. */
const JWT_HEADERS = ['eyJhbGci', 'eyJ0eXAi', 'eyJraWQi', 'eyJ4NW', 'eyJ4NX'];
/** `{"` in base64url, and `{` with white space behind it. */
const JSON_BEGINNINGS = ['eyJ', 'eyA', 'ewo', 'ew0'];
const DOT = exactly(literal('.'));

function jwtPatterns(): Pattern[] {
  const claims = [...DOT, ...exactly([chars('e'), chars('yw')]), run(BASE64URL, 1)];
  const token = [run(BASE64URL, 12, LONGEST_JWT_HEADER), ...claims];
  return [
    ...JSON_BEGINNINGS.flatMap((text) => [
      begins('token', literal(text), ...token),
      // Signed. With less than a character behind it, the second dot ends a sentence.
      begins('token', literal(text), ...token, ...DOT, run(BASE64URL, 1)),
    ]),
    // A header that is too long to wait for its end is swallowed, if it begins as one: source maps begin with `eyJ`,
    // too.
    ...JWT_HEADERS.map((text) => begins('token', literal(text), run(BASE64URL, LONGEST_JWT_HEADER - 8))),
  ];
}

/** Header, encrypted key (none where the key is shared), initialization vector of 96 or 128 bits, text, tag. */
function jwePatterns(): Pattern[] {
  const part = (min: number, max?: number) => [...DOT, run(BASE64URL, min, max)];
  const start = [run(BASE64URL, 12, LONGEST_JWE_HEADER), ...part(0, LONGEST_JWE_KEY), ...part(16, 22)];
  return JSON_BEGINNINGS.flatMap((text) => [
    begins('token', literal(text), ...start, ...part(1)),
    begins('token', literal(text), ...start, ...part(1), ...part(1)),
  ]);
}

const KEY_LABELS = ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED ', 'ANY '];
/** Lines that may stand between the label and the key (RFC 1421, RFC 4716, RFC 9580). */
const KEY_HEADERS = [
  'Proc-Type:',
  'DEK-Info:',
  'Key-Info:',
  'Content-Domain:',
  'Originator-',
  'Subject:',
  'X-',
  'x-',
  'Version:',
  'Comment:',
  'Hash:',
  'Charset:',
  'MessageID:',
];
/** What stands between the parts of a block, also where it is quoted, indented, numbered, or in strings of code. */
const KEY_GAP = chars(' \t\r\n\\"\'`|>#*+,[0-9-');
const BLANK = chars(' \t');
/**
 * Blanks before anything says that the text is a form (`application/x-www-form-urlencoded`), in which a plus is one.
 */
const ANY_BLANK = chars(' \t+');
const SPACE = chars(' +');

/** A text as classes, each of its spaces also as forms write it. */
function spaced(text: string): CharClass[] {
  return literal(text).map((set) => (set[0x20] === 1 ? SPACE : set));
}

/**
 * From the label to the end of the block, if a key follows the label: the label alone, in a sentence about keys, is no
 * secret. A block without an end is swallowed to the end of the text.
 */
function keyBlocks(begin: string, end: string): Pattern[] {
  const rest = [through(spaced(end)), run(chars('A-Z0-9 +'), 0, 64), run(chars('-'), 0, 5)];
  const gap = run(KEY_GAP, 0, 64);
  const block = (...first: readonly Step[]) => begins('anywhere', spaced(begin), gap, ...first, ...rest);
  return [
    block(run(chars('A-Za-z'), 1, 1), run(BASE64, 15, 15)),
    ...KEY_HEADERS.map((text) => block(...exactly(literal(text)))),
  ];
}

/** What may follow a scheme (RFC 9110, 11.2). */
const TOKEN68 = chars('A-Za-z0-9._~+/=-');

/** `name: Scheme ` of a header, as it stands in a request, in code and in JSON. */
function authorization(scheme: string): Pattern {
  const quotes = run(chars('"\'`\\'), 0, 4);
  return behind(
    'anywhere',
    'authorization',
    [
      quotes,
      run(BLANK, 0),
      run(chars(':='), 1, 2),
      run(BLANK, 0),
      quotes,
      ...exactly(caseless(scheme)),
      run(BLANK, 1),
    ],
    judged(TOKEN68, 8, 64, isNoPlaceholder),
  );
}

/** Unreserved and sub-delims of RFC 3986, 3.2.1, and what people forget to encode. */
const URL_USER = chars("A-Za-z0-9._~%!$&'()*+;=-");
const URL_PASSWORD = visibleExcept('/"\'`<>\\');

/** A raw `@` in the password is a mistake that people make: the last one before the path counts. */
const TO_LAST_AT = [before('@', URL_PASSWORD, LONGEST_URL_PASSWORD)];

function urlPassword(...steps: readonly Step[]): Pattern {
  return behind('anywhere', '://', [run(URL_USER, 0, 256), ...exactly(literal(':'))], ...steps);
}

/**
 * The first three characters of JSON in base64: `{` or `[` and a quote, a bracket or white space. Of a JSON text that
 * is a string alone, two: the quote and what follows it.
 */
const JSON_IN_BASE64 = [
  'ey[IJKLABCD]',
  'ew[klmnopqr0123]',
  'Wy[IJKLABCD]',
  'Ww[klmnopqr0123]',
  'W3[stuv]',
  'W1[stuv]',
  'I[ijklmn]',
].flatMap((text) => {
  const [begin, last = ''] = text.split(/[[\]]/);
  return [...last].map((char) => begin + char);
});

/** `-----BEGIN`, as secrets of Kubernetes hold it. */
const DASHES_IN_BASE64 = 'LS0tLS1C';

/** Credentials whose form a standard gives. */
export const STANDARD_CREDENTIALS: readonly CredentialKind[] = [
  {
    kind: 'jwt',
    title: 'JSON Web Token, signed or not',
    source: 'https://www.rfc-editor.org/rfc/rfc7519',
    patterns: jwtPatterns(),
  },
  {
    kind: 'jwe',
    title: 'JSON Web Encryption in its compact form',
    source: 'https://www.rfc-editor.org/rfc/rfc7516#section-3.1',
    patterns: jwePatterns(),
  },
  {
    kind: 'encoded-credential',
    title: 'Base64 of JSON in which a credential of another kind stands, or of a key block',
    source: 'https://www.rfc-editor.org/rfc/rfc4648',
    patterns: [...JSON_IN_BASE64, DASHES_IN_BASE64].map(base64),
  },
  {
    kind: 'private-key',
    title: 'Block of a private key: PEM, OpenSSH, SSH2, PGP',
    source: 'https://www.rfc-editor.org/rfc/rfc7468',
    patterns: [
      ...KEY_LABELS.flatMap((label) => keyBlocks(`-----BEGIN ${label}PRIVATE KEY-----`, '-----END ')),
      ...keyBlocks('-----BEGIN PGP PRIVATE KEY BLOCK-----', '-----END '),
      ...keyBlocks('---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----', '---- END '),
    ],
  },
  {
    kind: 'url-password',
    title: 'Password in a URL or connection string; the user name stays',
    source: 'https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1',
    patterns: [
      urlPassword(run(except(URL_PASSWORD, '@${[0-9'), 1, 1), ...TO_LAST_AT),
      // Five digits and no more are a port: `ssh://git:22@host`.
      urlPassword(run(DIGIT, 1, 5), run(except(URL_PASSWORD, '@0-9?#,'), 1, 1), ...TO_LAST_AT),
      urlPassword(run(DIGIT, 6, 6), ...TO_LAST_AT),
      // Not `$PASSWORD`, `${password}` or `$(command)`, which stand for one, nor the marker of another kind.
      urlPassword(...exactly(literal('$')), run(except(URL_PASSWORD, 'A-Za-z_{(@'), 1, 1), ...TO_LAST_AT),
      urlPassword(...exactly(literal('[')), run(except(URL_PASSWORD, 'R@'), 1, 1), ...TO_LAST_AT),
      urlPassword(run(URL_PASSWORD, LONGEST_URL_PASSWORD)),
    ],
  },
  {
    kind: 'authorization-header',
    title: 'Credential of an Authorization header',
    source: 'https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2',
    patterns: ['Bearer', 'Basic', 'Token', 'ApiKey', 'Bot'].map(authorization),
  },
  {
    kind: 'bearer-token',
    title: 'Bearer token without its header, if it looks random',
    source: 'https://www.rfc-editor.org/rfc/rfc6750#section-2.1',
    patterns: [behind('word', 'bearer', [run(ANY_BLANK, 1)], judged(TOKEN68, 20, 128, looksRandom))],
  },
];

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

/**
 * From a name to its value: `=`, `:`, `:=`, `=>`, each with blanks and quotes, in code, YAML, JSON and escaped JSON.
 */
function assigned(minQuotes: number): Step[] {
  return [
    run(QUOTES, 0, 4),
    run(ANY_BLANK, 0),
    run(chars(':='), 1, 3),
    run(chars('>'), 0, 1),
    run(BLANK, 0),
    run(QUOTES, minQuotes, 4),
  ];
}

/**
 * A name may end with this, so that `DB_PASSWORD` and `clientSecret` are ones; nothing may stand between it and the
 * sign.
 */
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
    // It has 40 characters; the `/` of a path behind it would be one more.
    patterns: named('secret_access_key aws_secret_key aws_secret', 0, run(BASE64, 40)),
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
    patterns: [behind('word', 'sig=', [], run(plus(BASE64, '%_-'), 40), run(chars('='), 0, 2))],
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
