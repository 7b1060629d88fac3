import test from 'ava';
import { redactLine, redactText } from '../../../foundation/observability/redact-text.ts';
import { mayHoldCredential } from '../../../foundation/redaction/written-text.ts';
import { SEED } from '../../support/sample.ts';
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

for (const prefix of ['sk-', 'hk_', 'acp_'])
  test(`a credential that holds ${prefix} in its middle goes with its checksum`, (t) => {
    const token = `ATCTT3xFfG${'aB3'.repeat(30)}${prefix}${'cD4-'.repeat(20)}=FFDF77B3`;
    t.false(redactText(`token ${token}`).includes('FFDF77B3'));
    t.false(redactLine(JSON.stringify({ note: token })).includes('FFDF77B3'));
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
