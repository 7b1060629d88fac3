import type { IncomingMessage, ServerResponse } from 'node:http';
import test from 'ava';
import { readJson } from '../../../foundation/http/body.ts';

const MIB = 1024 * 1024;

/** What a body of these characters is read as. */
function read(text: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json', 'content-length': String(text.length) };
  const req = { headers } as IncomingMessage;
  const res = {} as ServerResponse;
  return readJson({ req, res, bytes: Promise.resolve(Buffer.from(text)) }, 16 * MIB);
}

test('a large body of one long text, or of many short ones, is read', async (t) => {
  const long = { text: '[{"'.repeat(MIB) };
  t.deepEqual(await read(JSON.stringify(long)), long);
  const many = Array.from({ length: 20_000 }, (_, index) => ({
    role: 'user',
    content: `${index}`.repeat(20),
  }));
  t.deepEqual(await read(JSON.stringify(many)), many);
});

for (const [what, text] of [
  ['names', `{${Array.from({ length: 150_000 }, (_, index) => `"n${index}":1`).join()}}`],
  ['empty objects', `[${'{},'.repeat(400_000)}{}]`],
  ['numbers', `[${'1,'.repeat(600_000)}1]`],
] as const) {
  test(`a body of more ${what} than the process should parse at once is refused`, async (t) => {
    await t.throwsAsync(read(text), { code: 'request.too-large', message: /262144 members and items/ });
  });
}

test.serial('a body of brackets is refused before it is parsed, which would take seconds', async (t) => {
  const parse = JSON.parse;
  let parsed = 0;
  JSON.parse = (text) => {
    if (text.length > MIB) parsed += 1;
    return parse(text);
  };
  t.teardown(() => {
    JSON.parse = parse;
  });
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const text = `${open.repeat(MIB)}1${close.repeat(MIB)}`;
    await t.throwsAsync(read(text), { code: 'request.malformed', message: /256 levels deep/ });
  }
  t.is(parsed, 0);
});
