import test from 'ava';
import { httpFetch, readableText } from '../../../../../plugins/agent-engine/services/tools/http-fetch.ts';
import { type FakeAnswer, fakeEgress } from '../../../../../testing/fakes/fake-egress.ts';
import { toolContext } from '../tool-context.ts';

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
    requestId: 'request',
    userId: 'identity',
    sessionId: 'session',
    timeout: 20_000,
    maxBytes: 1_048_576,
    headers: { accept: 'text/plain' },
    body: '{}',
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

for (const [title, html, text] of [
  [
    'blocks are lines',
    '<h1>Rain</h1><p>It <b>falls</b>.</p><ul><li>a<li>b</ul>',
    'Rain\n\nIt falls.\n\na\nb',
  ],
  ['scripts and styles are not read', 'a<script>if (a<b) x("</p>")</script>b<STYLE>p{}</style >c', 'abc'],
  [
    'the title stands first',
    '<html><head><title>Rain &amp; snow</title><meta x></head><body>It falls',
    'Rain & snow\nIt falls',
  ],
  ['a head that does not end hides nothing', '<head><p>text', 'text'],
  ['comments are not read', 'a<!-- <p>no</p> -->b', 'ab'],
  ['entities are letters', '&lt;p&gt; &#8364; &#x20AC; &euro; &nope; &amp;amp;', '<p> € € € &nope; &amp;'],
  ['numbers that are no letters are nothing', '&#0;&#xD800;&#9999999;x', 'x'],
  ['blanks are one blank', 'a \n\t b\u00a0c', 'a\nb c'],
  ['a tag that does not end takes the rest', 'a<p>b<a href="x', 'a\nb'],
  ['what only looks like a tag is text', '1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
  ['cells are apart', '<table><tr><td>a</td><td>b</td></tr></table>', 'a b'],
] as const) {
  test(title, (t) => t.is(readableText(html), text));
}

test('hostile pages cost no more than their length', (t) => {
  // The best of several: the machine has other work, too. Quadratic cost would be a matter of minutes.
  const time = (html: string) =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const start = performance.now();
        readableText(html);
        return performance.now() - start;
      }),
    );
  for (const piece of [
    '<script',
    '<script>',
    '<svg>',
    '<svg><head>',
    '<!--',
    '<',
    '<p',
    '&#',
    '<title ',
    '</',
    '\n\n\n',
    '<iframe></x>',
  ]) {
    const small = piece.repeat(Math.ceil(250_000 / piece.length));
    const once = Math.max(1, time(small));
    const fourfold = time(small.repeat(4));
    t.true(fourfold < once * 16 + 500, `${piece}: ${once} ms, then ${fourfold} ms`);
  }
});
