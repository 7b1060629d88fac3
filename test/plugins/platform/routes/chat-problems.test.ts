import test from 'ava';
import { AGENT, COMPLETIONS, sharedChats } from './chat-kit.ts';

const startShared = sharedChats();

test('all that is wrong is said at once, of members that no schema knows too', async (t) => {
  const { chat, provider } = await startShared();
  const messages = [{ role: 'user' }, { role: 'tool', content: 'x' }, { role: 'x' }, 7];
  const more = { n: 2, messages, tools: [{ type: 'function' }, 7], response_format: { type: 'json_schema' } };
  for (const path of [COMPLETIONS, AGENT]) {
    const { status, body } = await chat(more, { path });
    t.is(status, 400);
    const wrong = [
      'n must be',
      'messages[0].content',
      'messages[1].tool_call_id',
      'messages[2].role',
      'messages[3]',
      'tools[0].function',
      'tools[1]',
      'response_format.json_schema',
    ];
    for (const place of wrong)
      t.true(body.error.message.includes(place), `${path} ${place}: ${body.error.message}`);
  }
  t.is(provider.requests.length, 0);
});

test('a wrong method is answered as the other errors of the path are', async (t) => {
  const { gateway } = await startShared();
  const { status, headers, body } = await gateway.request(COMPLETIONS);
  t.is(status, 405);
  t.is(headers.get('allow'), 'POST, OPTIONS');
  t.like(body.error, { type: 'invalid_request_error', code: 'path.method-not-allowed' });
});

test('a number that is too large is refused by its name, wherever it is', async (t) => {
  const { gateway, provider } = await startShared();
  for (const large of ['1e999', '-1e400', '9'.repeat(400)]) {
    const body = `{"model":"default","messages":[{"role":"user","content":"1e999"}],"custom":{"a/b":[1e12,${large}]}}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await gateway.request(COMPLETIONS, { method: 'POST', headers, body });
    t.is(answer.status, 400);
    t.regex(answer.body.error.message, /custom.*too large/);
  }
  t.is(provider.requests.length, 0);
});

test('more members than any provider knows are refused, each of which would be copied on its way', async (t) => {
  const { chat, provider } = await startShared();
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, at]));
  const text = { role: 'user', content: 'Hi' };
  const refused = [
    [{ ...named(256), messages: [text] }, /must have at most 256 members/],
    [{ messages: [text, { ...text, ...named(255) }] }, /messages\[1\] must have at most 256 members/],
    [
      { messages: [text], tools: [{ type: 'function', function: { name: 'f', ...named(256) } }] },
      /tools\[0\]/,
    ],
  ] as const;
  for (const path of [COMPLETIONS, AGENT]) {
    for (const [more, message] of refused) {
      const { status, body } = await chat(more, { path });
      t.is(status, 400, path);
      t.regex(body.error.message, message);
    }
  }
  t.is(provider.requests.length, 0);
  t.is((await chat({ ...named(250), messages: [text] })).status, 200);
});
