import test from 'ava';
import { redactLine, redactText } from '../../../foundation/observability/redact-text.ts';
import { mayHoldCredential } from '../../../foundation/redaction/written-text.ts';
import { isWhole, SEED } from '../../support/sample.ts';
import { CARRIERS } from './carriers.ts';
import { credentialSamples, leaks } from './credential-samples.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const percent = (text: string) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
const FORMS = [
  ...CARRIERS.map(({ title, carry }) => [title, carry] as const),
  ['base64', base64],
  ['base64 in base64', (text: string) => base64(base64(text))],
  ['percent escapes of base64', (text: string) => percent(base64(text))],
  ['base64 of percent escapes', (text: string) => base64(percent(text))],
] as const;

for (const [title, carry] of FORMS)
  test(`the look before the search misses no credential as ${title}`, (t) => {
    for (const found of credentialSamples(SEED)) {
      // Lines of base64 in base64 are not put together.
      if (found.kind === 'encoded-credential' && title.startsWith('lines of')) continue;
      const text = carry(found.lead + found.secret + found.tail);
      for (const redacted of [redactText(text), redactLine(JSON.stringify({ note: text }))]) {
        const about = `TEST_SEED=${SEED}: ${found.kind}\n${text}\n${redacted}`;
        t.regex(redacted, /\[REDACTED/, about);
        // The name before the value of `secret-token:` stays.
        if (found.lead === '') t.false(leaks(redacted, { ...found, lead: 'secret-token:' }), about);
      }
    }
  });

test('a line stays JSON, and a credential that is the name of a member leaves it', (t) => {
  const key = `glpat-${'a1B2'.repeat(5)}`;
  const line = redactLine(
    `{"level":"info","${key}":{"n":9007199254740993,"key block":"-----BEGIN ${'PRIVATE KEY-----\\nMIIE'.padEnd(80, 'aB3')}"}}\n`,
  );
  t.notThrows(() => JSON.parse(line));
  t.false(line.includes(key));
  t.true(line.includes('9007199254740993'));
});

/** Plain samples of so many seeds: what is rare in credentials is in few of them. */
const SEEDS = isWhole ? 2_000 : 10;

test('the look before the search misses no credential of many', (t) => {
  const written = (text: string) => [redactText(text), redactLine(JSON.stringify({ note: text }))];
  for (let seed = SEED; seed < SEED + SEEDS; seed += 1)
    for (const found of credentialSamples(seed)) {
      const text = found.lead + found.secret + found.tail;
      for (const redacted of written(text)) {
        const isGone = found.lead !== '' || !leaks(redacted, { ...found, lead: 'secret-token:' });
        if (!isGone || !redacted.includes('[REDACTED')) t.fail(`TEST_SEED=${seed}: ${text}\n${redacted}`);
      }
    }
  t.pass();
});

const RARE = [
  [
    'the prefix of a key in its middle',
    `ATCTT3xFfG${'aB3'.repeat(30)}sk-${'cD4-'.repeat(20)}=FFDF77B3`,
    'FFDF77B3',
  ],
  [
    'the prefix of a key before its last part',
    `sk.eyJqxbB_kzmfB2hk_${'aB3'.repeat(20)}.5T92bbmXk_W8m_f5Jlcj6b`,
    'bmXk_',
  ],
  [
    'the beginning of a JWT in its middle',
    'pat.0npNjfLyIECwUOhzHnyF0W.zPXm3eyJOrEGnoEBdvjqTHCL.QWGbVtNgyHx0fH3wRMxR',
    'zPXm3',
  ],
  ['capitals like those of words, and no digit', 'glrt-NanekeutLypQdljGszgg', 'QdljGszgg'],
  [
    'a path behind it',
    'GET /x/aws_secret_access_key = 1byPTERBsTohwAKBhESBRKN+xUpdOBaiwxNRMrMK/x',
    'xUpdOBaiwxNRMrMK',
  ],
  ['slashes everywhere', 'aws_secret_access_key = WcQVAUEEh3/PmFoh1kjNJ/tn9VW6jKP7B/U7Yf85', 'PmFoh1k'],
  ['slashes behind its prefix', 'whsec_8/S/kR+3qRs/z5ctpUK8/rz0N/wiuH9UXNy0H/SUj7S=', 'z5ctpUK8'],
  ['slashes and a longer prefix', 'BBDC-/wthi2jWtD+/Qoew8CwK/xUTgrhNQOYM/4cVyUiKuV+p', 'xUTgrhNQOYM'],
  ['digits at its begin alone', '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', 'bRTkVPLy'],
] as const;
for (const [what, text, secret] of RARE)
  test(`a credential with ${what} is found whole`, (t) => {
    for (const redacted of [redactText(text), redactLine(JSON.stringify({ note: text }))])
      t.false(redacted.includes(secret), redacted);
  });

const ORDINARY = [
  'GET /v1/sessions/0198c0de-7c1d-7e55-8a0b-3c1f5c9d2e10/messages',
  'POST /v1/chat/completions',
  'GRPC /svc.agent.v1.WorkflowDefinitionService/GetWorkflowDefinition',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  'OpenAI/Python 1.54.0',
  '{"level":"info","owner":"agent-engine","migration":"004-sandbox-policies","msg":"migrated"}',
  '{"level":"warn","plugin":"runtime","msg":"secrets of webhooks are stored without encryption: SVC_SECRET_KEY is not set"}',
  '{"level":"info","time":"2026-11-23T06:54:23.123Z","method":"GET","path":"/v1/workflow-runs","status":200,"ms":3.4,"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","msg":"request"}',
];
for (const text of ORDINARY)
  test(`nothing is searched in "${text.slice(0, 60)}"`, (t) => {
    t.false(mayHoldCredential(text));
    t.is(redactText(text), text);
  });

test('searching is linear in the length of a hostile text', (t) => {
  for (const text of ['%', '%25', '\\', 'aB1', 'aaaa-', 'QUJD', 'aB1.'])
    t.is(typeof redactText(text.repeat(20_000)), 'string');
  // Time that grows with the square would be minutes here, and the test would not end.
  for (const text of ['eyJ', 'eyJ-bearer ']) t.is(typeof redactText(text.repeat(400_000)), 'string');
});
