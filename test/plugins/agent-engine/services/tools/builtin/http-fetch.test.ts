import test from 'ava';
import { httpFetch } from '../../../../../../plugins/agent-engine/services/tools/builtin/http-fetch.ts';
import { type FakeAnswer, fakeEgress } from '../../../../../../testing/fakes/fake-egress.ts';
import { toolContext } from '../../tool-context.ts';

const url = 'https://example.com/page';
function fetching(answer: FakeAnswer | undefined) {
  const egress = fakeEgress(() => answer);
  const tool = httpFetch({ egress });
  return { egress, run: (input: object) => tool.invoke(input as never, toolContext()) };
}

for (const [title, answer, content] of [
  [
    'a page is readable text',
    { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<p>Rain</p>' },
    'HTTP 200\ncontent-type: text/html\n\nRain',
  ],
  ['JSON is as it is', { body: { a: 1 } }, 'HTTP 200\ncontent-type: application/json\n\n{"a":1}'],
  [
    'a failure of the server is told',
    { status: 404, headers: { 'content-type': 'text/plain' }, body: 'gone' },
    'HTTP 404\ncontent-type: text/plain\n\ngone',
  ],
  [
    'a type with a suffix is text',
    { headers: { 'content-type': 'application/problem+json' }, body: '{}' },
    'HTTP 200\ncontent-type: application/problem+json\n\n{}',
  ],
  [
    'a picture is not shown',
    { headers: { 'content-type': 'image/png' }, body: 'PNG' },
    'HTTP 200\ncontent-type: image/png\n\n[the body is no text and is not shown]',
  ],
  [
    'an unknown charset is read as UTF-8',
    { headers: { 'content-type': 'text/plain; charset=nonsense' }, body: 'é' },
    'HTTP 200\ncontent-type: text/plain\n\né',
  ],
] as const) {
  test(title, async (t) => t.deepEqual(await fetching(answer).run({ url }), { content }));
}

test('a request goes through egress for the tenant, with limits, and says who asked', async (t) => {
  const { egress, run } = fetching({ body: 'ok' });
  await run({ url, method: 'POST', headers: { accept: 'text/plain' }, body: '{}' });
  t.like(egress.sent[0], { tenantId: 'tenant', method: 'POST', url });
  t.like(egress.sent[0]?.request, {
    ...{
      requestId: 'request',
      userId: 'identity',
      sessionId: 'session',
      timeout: 20_000,
      maxBytes: 1_048_576,
    },
    ...{ headers: { accept: 'text/plain' }, body: '{}' },
  });
});

test('headers of the connection, and a body of a GET, are refused before anything is sent', async (t) => {
  const { egress, run } = fetching({ body: 'ok' });
  t.like(await run({ url, headers: { Host: 'x', 'Transfer-Encoding': 'chunked', accept: 'a' } }), {
    content: 'Error: These headers cannot be set: Host, Transfer-Encoding.',
    isError: true,
  });
  t.like(await run({ url, body: 'x' }), { isError: true });
  t.is(egress.sent.length, 0);
});

test('what egress denies is its error', async (t) => {
  await t.throwsAsync(async () => fetching(undefined).run({ url }), { code: 'egress.denied' });
});

test('a long text is cut with a note', async (t) => {
  const { run } = fetching({ headers: { 'content-type': 'text/plain' }, body: 'x'.repeat(60_000) });
  const told = await run({ url });
  t.regex('content' in told ? told.content : '', /x\n\[cut: 60000 characters in all\]$/);
});
