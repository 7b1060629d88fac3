import test from 'ava';
import fc from 'fast-check';
import { CREDENTIAL_KINDS, createRedaction } from '../../../foundation/redaction/redaction.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { chosen, SEED } from '../../support/sample.ts';
import { credentialSamples, leaks, type Sample } from './credential-samples.ts';
import { cut, feed } from './pieces.ts';
import { createReference } from './reference.ts';

const { redact, redactStream } = createRedaction();
const reference = createReference(CREDENTIAL_KINDS);
const whole = ({ lead, secret, tail }: Sample) => `${lead}${secret}${tail}`;

test('every sample is redacted alike at every split', (t) => {
  t.log(`TEST_SEED=${SEED}`);
  for (const sample of credentialSamples()) {
    const text = `See: ${whole(sample)} 😀.`;
    const expected = redact(text);
    t.true(expected.includes(`[REDACTED:${sample.kind}]`), sample.kind);
    t.false(leaks(expected, sample), sample.kind);
    for (const at of chosen(sample.kind, [...Array(text.length + 1).keys()], 40)) {
      const pieces = feed(redactStream(), [text.slice(0, at), text.slice(at)]);
      if (pieces.join('') !== expected) t.fail(`${sample.kind} split at ${at}: ${pieces.join('')}`);
    }
    t.is(feed(redactStream(), text.split('')).join(''), expected, sample.kind);
  }
});

test('nothing leaves of a credential while it is still being written', (t) => {
  for (const sample of credentialSamples(2)) {
    const redactor = redactStream();
    let output = '';
    for (const char of whole(sample).split('')) {
      output += redactor.push(char);
      if (leaks(output, sample)) t.fail(`${sample.kind}: ${output}`);
    }
    t.is(output + redactor.end(), redact(whole(sample)));
  }
});

const SAMPLES = [1, 2, 3].flatMap((seed) => credentialSamples(seed));
/** The reference does not look into base64. */
const hasNoBase64 = (text: string) => !/eyJub3Rl|LS0tLS1C/.test(text);
const sample = fc.constantFrom(...SAMPLES).map(whole);
const broken = fc
  .tuple(fc.constantFrom(...SAMPLES), fc.nat())
  .map(([of, at]) => whole(of).slice(0, at % (whole(of).length + 1)));
const fragment = fc.constantFrom(
  '-----BEGIN ',
  'PRIVATE KEY-----',
  '-----END ',
  '-----',
  'eyJ',
  'eyJhbGci',
  '.eyJ',
  '.',
  '://',
  ':',
  '@',

  'password',
  'secret',
  'API_KEY',
  '=',
  '="',
  "'",
  '"',
  '\\n',
  '\\',
  ' ',
  '\n',
  'Authorization: ',
  'Bearer ',

  'sk-',
  'ghp_',
  'AKIA',
  '12345678',
  'a1b2c3d4e5f6g7h8i9j0',
  'A'.repeat(16),
  'x'.repeat(40),
  '/',
  '_',
  '-',
);
const noise = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.constantFrom('😀', '密钥', 'é'),
);
const text = fc
  .array(
    fc.oneof(
      { weight: 2, arbitrary: sample },
      { weight: 2, arbitrary: broken },
      { weight: 6, arbitrary: fragment },
      { weight: 3, arbitrary: noise },
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

test('any text comes out as the patterns say when they are tried one by one', (t) => {
  fc.assert(
    fc.property(text.filter(hasNoBase64), (value) => {
      const [ours, theirs] = [redact(value), reference(value)];
      if (ours !== theirs) throw new Error(`${JSON.stringify(ours)}\n  is not\n${JSON.stringify(theirs)}`);
    }),
    { numRuns: 1500 },
  );
  t.pass();
});

test('any text comes out alike however it is cut, and nothing that left is taken back', (t) => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 20 }), fc.boolean(), (value, positions, isSingle) => {
      const pieces = isSingle ? value.split('') : cut(value, positions);
      return feed(redactStream(), pieces).join('') === redact(value);
    }),
    { numRuns: 3000 },
  );
  t.pass();
});

test('a marker is not redacted again, wherever it stands', (t) => {
  const texts = [...SAMPLES.map(whole), `postgres://u:ghp_${'a1B2'.repeat(9)}@host`];
  for (const once of texts.map(redact)) t.is(redact(once), once);
});

test('text without a credential is unchanged, down to lone surrogates', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint, maxLength: 60 }), fc.array(fc.nat()), (value, positions) => {
      return feed(redactStream(), cut(value, positions)).join('') === value && redact(value) === value;
    }),
  );
  t.is(feed(redactStream(), ['\ud83d', '', '\ude00', '\ud83d']).join(''), '😀\ud83d');
});

test('no piece that leaves ends in half a character', (t) => {
  const pieces = feed(redactStream(), 'a😀b😀😀'.split(''));
  t.true(pieces.every((piece) => piece.isWellFormed()));
  t.is(pieces.join(''), 'a😀b😀😀');
});

test('two credentials side by side are two', (t) => {
  const [first, second] = ['npm-token', 'jwt'].map((kind) => SAMPLES.find((found) => found.kind === kind)!);
  t.is(redact(`${whole(first!)} ${whole(second!)}`), '[REDACTED:npm-token] [REDACTED:jwt]');
  t.is(redact(`${whole(first!)},${whole(first!)}`), '[REDACTED:npm-token],[REDACTED:npm-token]');
  // Without anything between them, the second ends with the word that both are.
  t.is(redact(`dop_v1_${'0f'.repeat(32)}${whole(first!)}-x`), '[REDACTED:digitalocean-token]-x');
});

test('a credential in an assignment has the name of its kind, and is covered as far as either reaches', (t) => {
  const key = `AKIA${'A1B2C3D4'.repeat(2)}`;
  t.is(redact(`password=${key}`), 'password=[REDACTED:aws-access-key-id]');
  t.is(redact(`password=${key}+a1b2c3d4 x`), 'password=[REDACTED:aws-access-key-id] x');
});

test('the first credential covers what begins inside of it', (t) => {
  const key = `ghp_${'a1B2'.repeat(9)}`;
  t.is(redact(`secret=x1y2z3-${key} x`), 'secret=[REDACTED:secret-assignment] x');
  t.is(redact(`postgres://u:p/${key}@host`), `postgres://u:p/[REDACTED:github-token]@host`);
});

test('what only began like a credential comes out when that is clear', (t) => {
  const redactor = redactStream();
  t.is(redactor.push('a sk'), 'a ');
  t.is(redactor.push('-learn'), '');
  t.is(redactor.push('-tutorial'), 'sk-learn-tutorial');
  t.is(redactor.end(), '');
});

test('prose leaves as it comes, but for a word that could become the beginning of a credential', (t) => {
  const redactor = redactStream();
  const prose = 'The quick brown fox jumps over a lazy dog. Your password is a secret; keep it 1234 times.';
  let waiting = 0;
  for (const word of prose.match(/ ?[^ ]+/g)!) {
    waiting += word.length - redactor.push(word).length;
    // `api_org_…` and `acp_…`, and the number of a Telegram bot.
    t.is(waiting, word === ' a' ? 1 : word === ' 1234' ? 4 : 0, `after "${word}"`);
  }
  t.is(redactor.end(), '');
});

test('a value behind the name of a secret waits until it is plain what it is', (t) => {
  const redactor = redactStream();
  t.is(redactor.push('secret: keep'), 'secret: ');
  t.is(redactor.push(' it'), 'keep it');
  t.is(redactor.push(`, password=${'xyz-'.repeat(30)}`), ', password=');
  t.is(redactor.push('xyz-xyzxyzxyz'), `${'xyz-'.repeat(31)}xyzxyzxyz`);
});

test('a key block that never ends is swallowed to the end, and costs no memory', (t) => {
  const redactor = redactStream();
  const begin = `-----BEGIN ${'RSA '}PRIVATE KEY-----\n`;
  t.is(redactor.push(`Here: ${begin}`), 'Here: ');
  t.is(redactor.push('MIIE'.repeat(20)), '[REDACTED:private-key]');
  for (let line = 0; line < 1000; line += 1) t.is(redactor.push(`${'abcd'.repeat(16)}\n`), '');
  t.is(redactor.end(), '');
});

test('the label of a key block alone is no credential', (t) => {
  const sentence =
    'A PEM file begins with `-----BEGIN PRIVATE KEY-----` and ends with `-----END PRIVATE KEY-----`.';
  t.is(redact(sentence), sentence);
});

test('a token that is too long to wait for leaves as a marker, however it goes on', (t) => {
  const header = Buffer.from(`{"alg":"RS256","x5c":["${'A'.repeat(9000)}"]}`).toString('base64url');
  t.is(redact(`${header}.eyJzdWIiOiIxIn0.abc def`), '[REDACTED:jwt].eyJzdWIiOiIxIn0.abc def');
});

test('a credential may begin behind an escape, and with its letter', (t) => {
  const key = `ghp_${'a1B2'.repeat(9)}`;
  for (const lead of ['\\n', 'x\\t', '\\\\r', '\\u000a', '%0A', '%5Cn', '%E5%AF%86', '\\"', '\\'])
    t.is(redact(`${lead}${key}`), `${lead}[REDACTED:github-token]`, lead);
  t.is(redact(`C:\\npm_${'a1B2'.repeat(9)}`), 'C:[REDACTED:npm-token]');
  for (const lead of ['x', '\\x', '%41', '\\u0041']) t.is(redact(`${lead}${key}`), `${lead}${key}`);
});

test('a percent escape belongs to a value, unless what stands before the value is URL-encoded', (t) => {
  t.is(redact('postgres://u:p%2Fss%40w@host/db'), 'postgres://u:[REDACTED:url-password]@host/db');
  t.is(
    redact('u=postgres%3A%2F%2Fu%3Ap%40ss%40host%2Fdb%3Fme%40example.com'),
    'u=postgres%3A%2F%2Fu%3A[REDACTED:url-password]%40host%2Fdb%3Fme%40example.com',
  );
  const value = 'a1b2c3d4e5f6a7b8c9d0';
  t.is(redact(`password=${value}%20${value}&x=1`), 'password=[REDACTED:secret-assignment]&x=1');
  t.is(
    redact(`password%3D${value}%26user%3Dme and`),
    'password%3D[REDACTED:secret-assignment]%26user%3Dme and',
  );
  const url = 'https%3A%2F%2Fhost%3A8080%2Fpath%3Fmail%3Dme%40example.com';
  t.is(redact(url), url);
});

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

test('base64 of JSON without a credential stays as it is, and so does what is no JSON', (t) => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  for (const text of [
    base64({ name: 'a', list: ['password', 'secret: none'] }),
    base64({ note: 'x'.repeat(60_000) }),
    base64(['é😀密', 1, null]),
    Buffer.from(`no JSON: ${token}`).toString('base64'),
    'Import Instance Il In Im InstanceConfiguration W3C Wyoming ewe eyI eye WWII ImportError',
  ]) {
    t.is(redact(text), text);
    t.is(feed(redactStream(), text.split('')).join(''), text);
  }
});

test('of long base64, what comes long before a credential leaves, and the rest does not', (t) => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const text = base64({ note: 'x'.repeat(60_000), token, more: 'y'.repeat(60_000) });
  const redactor = redactStream();
  let output = '';
  for (let index = 0; index < text.length; index += 1000) {
    const piece = text.slice(index, index + 1000);
    output += redactor.push(piece);
    if (index < 70_000) t.true(output.length > index - 8192);
  }
  output += redactor.end();
  t.is(output, redact(text));
  t.true(output.endsWith('[REDACTED:encoded-credential]'));
  const shown = Buffer.from(output.slice(0, output.indexOf('[')), 'base64').toString();
  t.false(shown.includes('ghp_'));
  t.true(shown.length > 54_000 && shown.length < 60_010);
});

test('base64 that goes on behind a line break is redacted, and the words behind it are not', (t) => {
  const text = base64({ token: `ghp_${'a1B2'.repeat(9)}`, n: 1 }).replace(/.{76}/, '$&\n');
  t.is(redact(`${text}\nHello World`), '[REDACTED:encoded-credential]\nHello World');
});
