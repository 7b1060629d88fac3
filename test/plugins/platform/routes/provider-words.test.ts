import test from 'ava';
import type { Sample } from '../../../foundation/redaction/credential-samples.ts';
import { credentialSamples, leaks } from '../../../foundation/redaction/credential-samples.ts';
import { json, type ProviderScript, rawStream, sse } from '../../../support/fake-provider.ts';
import { SEED } from '../../../support/sample.ts';
import { AGENT, COMPLETIONS, startChat } from './chat-kit.ts';

/** A credential of each kind that stands by itself. */
const SAMPLES = [...new Map(credentialSamples(SEED).map((sample) => [sample.kind, sample])).values()].filter(
  ({ lead, tail, secret }) => lead === '' && tail === '' && secret.length < 400,
);
const SECRET = SAMPLES.find(({ kind }) => kind === 'github-token')!;

const choice = (text: string) => ({
  index: 0,
  finish_reason: text,
  content_filter_results: { note: { text } },
  [`x-${text.length}`]: [text],
  message: {
    role: text,
    content: text,
    refusal: text,
    reasoning_content: text,
    annotations: [{ text }],
    tool_calls: [
      { id: text, type: 'function', function: { name: text, arguments: JSON.stringify({ text }) } },
    ],
  },
});
const notes = (text: string) => ({
  id: text,
  model: text,
  service_tier: text,
  system_fingerprint: text,
  object: text,
});
const streamed = (text: string) => {
  const { message, finish_reason, ...rest } = choice(text);
  const call = message.tool_calls[0]!;
  const deltas = [
    { ...rest, delta: { role: text } },
    { ...rest, delta: { ...message, tool_calls: [{ index: 0, ...call }] } },
    { index: 0, delta: {}, finish_reason },
  ];
  return [...deltas.map((delta) => sse({ ...notes(text), choices: [delta] })), 'data: [DONE]\n\n'];
};

/** Everything that a provider can say, with this text wherever it can say something. */
const PLACES: readonly (readonly [title: string, say: (text: string) => ProviderScript])[] = [
  ...[400, 401, 403, 404, 409, 422, 429, 500, 503].map(
    (status) =>
      [
        `an error of status ${status}`,
        (text: string) =>
          json(
            status,
            {
              error: {
                message: `Key ${text} is wrong`,
                type: text,
                param: text,
                code: text,
                inner: { text },
              },
              detail: text,
            },
            { 'x-request-id': text, 'retry-after': text, 'x-note': text, 'www-authenticate': text },
          ),
      ] as const,
  ),
  ['an error that is text', (text) => json(400, { error: text })],
  ['a detail', (text) => json(400, { detail: text })],
  [
    'a body that is no JSON',
    (text) =>
      ({ response }) =>
        void response.end(`<p>${text}</p>`),
  ],
  ['an answer', (text) => json(200, { ...notes(text), choices: [choice(text)] })],
  ['an error in an answer', (text) => json(200, { error: { message: text } })],
  ['a stream', (text) => rawStream(...streamed(text))],
  [
    'an error in a stream',
    (text) => rawStream(...streamed(text).slice(0, 2), sse({ error: { message: text, code: text } })),
  ],
  ['an error event', (text) => rawStream(`event: error\ndata: ${text}\n\n`)],
];

function shows(output: string, sample: Sample): boolean {
  return output.includes(sample.secret) || leaks(output, sample);
}

for (const [title, say] of PLACES) {
  test(`a credential in ${title} reaches neither the client nor the log`, async (t) => {
    const { gateway, chat } = await startChat(t, [say(SECRET.secret)]);
    for (const path of [COMPLETIONS, AGENT]) {
      for (const stream of [false, true]) {
        const { status, headers, body } = await chat({ stream }, { path });
        const seen = `${status} ${JSON.stringify([...headers])} ${JSON.stringify(body)}`;
        t.false(shows(seen, SECRET), `TEST_SEED=${SEED}: ${path} ${stream}: ${seen}`);
      }
    }
    t.false(
      shows(JSON.stringify(gateway.logs()), SECRET),
      `TEST_SEED=${SEED}: ${JSON.stringify(gateway.logs())}`,
    );
  });
}

test('the sentence of a refusal loses credentials of every kind', async (t) => {
  const scripts = SAMPLES.map(({ secret }) =>
    json(400, { error: { message: `No: ${secret}`, param: secret } }),
  );
  const { chat } = await startChat(t, scripts);
  for (const sample of SAMPLES) {
    const { status, body } = await chat();
    const text = JSON.stringify(body);
    t.is(status, 400, text);
    t.false(shows(text, sample), `TEST_SEED=${SEED}: ${sample.kind}: ${text}`);
  }
});

test('a long sentence is cut at 500 characters, behind the redaction', async (t) => {
  const message = `${'a '.repeat(240)}${SECRET.secret} ${'b '.repeat(200)}`;
  const { chat } = await startChat(t, [json(400, { error: { message } })]);
  const { body } = await chat();
  const [, said] = /rejected the request: (.*)$/.exec(body.error.message)!;
  t.is(said!.length, 500);
  t.true(said!.includes('[REDACTED:github'));
});

for (const [status, code] of [
  [400, 'context_length_exceeded'],
  [400, 'content_filter'],
  [429, 'insufficient_quota'],
] as const) {
  test(`${code} and its field stay what clients look for`, async (t) => {
    const { chat } = await startChat(t, [
      json(status, { error: { message: 'Sorry.', param: 'messages', code } }),
    ]);
    const answer = await chat();
    t.is(answer.status, status);
    t.is(answer.body.error.code, code);
    if (status === 400) t.is(answer.body.error.param, 'messages');
    t.is(answer.headers.get('x-should-retry'), 'false');
  });
}
