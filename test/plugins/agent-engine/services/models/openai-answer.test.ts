import test from 'ava';
import fc from 'fast-check';
import type { ChatChunk, Usage } from '../../../../../plugins/agent-engine/contract.ts';
import {
  countedUsage,
  createChunkDecoder,
  parseCompletion,
} from '../../../../../plugins/agent-engine/services/models/openai-answer.ts';
import { sse } from '../../../../support/fake-provider.ts';

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const calling = (call: string) => `{"choices":[{"index":0,"delta":{"tool_calls":[${call}]}}]}`;

test('what is nested too deep to be written out is malformed, wherever it is', (t) => {
  for (const member of ['"extra_content":', '"function":{"name":"f","arguments":']) {
    const call = (levels: number) => `{${member}${nested(levels)}${member.includes('name') ? '}' : ''}}`;
    const read = (levels: number) => decode([Buffer.from(`data: ${calling(call(levels))}\n\n`)]);
    t.is(read(200).chunks.length, 1);
    t.regex(read(300).failure ?? '', /an event of the stream is not JSON/);
    t.regex(read(100_000).failure ?? '', /an event of the stream is not JSON/);
  }
  const message = `{"content":null,"tool_calls":[{"extra_content":${nested(100_000)}}]}`;
  const error = t.throws(() =>
    parseCompletion(
      `{"choices":[{"index":0,"message":${message},"finish_reason":"stop"}]}`,
      (text) => text,
      () => 'made',
    ),
  );
  t.like(error, { code: 'model.upstream' });
});

interface Decoded {
  readonly chunks: ChatChunk[];
  readonly failure: string | undefined;
}

function decode(pieces: readonly Buffer[]): Decoded {
  let made = 0;
  const decoder = createChunkDecoder(
    1 << 20,
    (text) => text,
    () => `made-${++made}`,
  );
  const chunks = pieces.flatMap((piece) => decoder.feed(piece));
  try {
    decoder.end();
    return { chunks, failure: undefined };
  } catch (error) {
    return { chunks, failure: (error as Error).message };
  }
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const good = text.map((content) => sse({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
const noise = fc.constantFrom(': ping\n\n', 'retry: 10\n\n', 'event: x\nid: 7\n', '\n', 'nonsense\n');
const bad = fc.constantFrom(
  'data: {\n\n',
  'data: {"error":{"message":"no"}}\n\n',
  'event: error\ndata: no\n\n',
);
const event = fc.oneof(
  { weight: 8, arbitrary: good },
  { weight: 2, arbitrary: noise },
  { weight: 1, arbitrary: bad },
);
const streams = fc
  .record({
    events: fc.array(event, { maxLength: 12 }),
    isFinished: fc.boolean(),
    isDone: fc.boolean(),
    newline: fc.constantFrom('\n', '\r\n'),
  })
  .map(({ events, isFinished, isDone, newline }) => {
    const finish = isFinished ? sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) : '';
    return Buffer.from(
      [...events, finish, isDone ? 'data: [DONE]\n\n' : ''].join('').replaceAll('\n', newline),
    );
  });

test('any split of the bytes gives the same chunks and the same ending', (t) => {
  fc.assert(
    fc.property(streams, fc.array(fc.nat(), { maxLength: 40 }), (bytes, cuts) => {
      t.deepEqual(decode(split(bytes, cuts)), decode([bytes]));
    }),
  );
});

test('one byte at a time gives the same chunks and the same ending', (t) => {
  fc.assert(
    fc.property(streams, (bytes) => {
      t.deepEqual(decode([...bytes].map((byte) => Buffer.from([byte]))), decode([bytes]));
    }),
    { numRuns: 30 },
  );
});

test('every content comes out exactly as it went in', (t) => {
  fc.assert(
    fc.property(fc.array(text), (contents) => {
      const events = contents.map((content) => sse({ choices: [{ index: 0, delta: { content } }] }));
      const finish = sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
      const { chunks, failure } = decode([Buffer.from(events.join('') + finish)]);
      t.is(failure, undefined);
      t.deepEqual(
        chunks.slice(0, -1).map((chunk) => chunk.choices[0]?.delta.content),
        contents,
      );
    }),
  );
});

const whole = (...events: unknown[]) =>
  decode([Buffer.from(events.map((event) => sse(event as object)).join(''))]);
const FINISH = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

for (const delta of [
  { content: 5 },
  { content: { text: 'a' } },
  { tool_calls: { a: 1 } },
  { tool_calls: [null] },
  'a',
  7,
]) {
  test(`a delta of ${JSON.stringify(delta)} is a malformed answer`, (t) => {
    const { chunks, failure } = whole({ choices: [{ index: 0, delta }] }, FINISH);
    t.deepEqual(chunks, []);
    t.regex(failure ?? '', /not a chat completion chunk/);
  });
}

test('a plain answer whose content is neither text nor parts is malformed, and one that was not asked for is left out', (t) => {
  const parse = (...choices: object[]) =>
    parseCompletion(
      JSON.stringify({ choices }),
      (text) => text,
      () => 'made',
    );
  const choice = (index: unknown, content: unknown) => ({
    index,
    finish_reason: 'stop',
    message: { role: 'assistant', content },
  });
  t.throws(() => parse(choice(0, 5)), { message: /in no known form/ });
  t.deepEqual(parse(choice(1, 'b'), choice(0, 'a')).choices as unknown, [choice(0, 'a')]);
  const odd = { toString: 1 };
  t.deepEqual(parse(choice(odd, 'a')).choices as unknown, [choice(odd, 'a')]);
});

test('a choice that is no object is a malformed answer', (t) => {
  t.regex(whole({ choices: [null] }, FINISH).failure ?? '', /not a chat completion chunk/);
  const odd = { choices: [{ index: { toString: 1 }, delta: {} }] };
  t.is(whole(odd, FINISH).failure, undefined);
});

test('a choice without a delta adds nothing', (t) => {
  const { chunks, failure } = whole(
    { choices: [{ index: 0 }] },
    { choices: [{ index: 0, delta: null }] },
    FINISH,
  );
  t.is(failure, undefined);
  t.deepEqual(
    chunks.map(({ choices }) => choices[0]?.delta),
    [{}, {}, {}],
  );
});

test('a usage that is no count is as none, and one that is stays', (t) => {
  const broken = { prompt_tokens: -5, completion_tokens: 1, total_tokens: 1 };
  const counted = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
  const { chunks } = whole(FINISH, { choices: [], usage: broken }, { choices: [], usage: counted });
  t.deepEqual(
    chunks.map(({ usage }) => usage),
    [undefined, undefined, counted],
  );
});

const usage = (prompt: unknown, completion: unknown) =>
  ({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: 1 }) as Usage;

for (const given of [undefined, null, usage(0, 0), usage(10, 5), usage(2 ** 31 - 1, 0)]) {
  test(`${JSON.stringify(given)} stays as it is`, (t) => t.is(countedUsage(given), given));
}

test('a usage without a total has the sum of its counts', (t) => {
  for (const total_tokens of [undefined, null, '15'])
    t.is(countedUsage({ ...usage(10, 5), total_tokens } as unknown as Usage)?.total_tokens, 15);
});

test('a plain answer whose choice has no index has the first', (t) => {
  const answer = '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}';
  const { choices } = parseCompletion(
    answer,
    (said) => said,
    () => 'id',
  );
  t.is(choices[0]?.index, 0);
});

for (const given of [
  usage(-5, 1),
  usage(1, -5),
  usage(1.5, 1),
  usage(1, null),
  usage('10', 5),
  usage(Number.NaN, 5),
  usage(10, 1e300),
  usage(2 ** 31, 1),
  {} as Usage,
  'usage' as unknown as Usage,
]) {
  test(`${JSON.stringify(given)} does not count`, (t) => t.is(countedUsage(given), undefined));
}

test('a long answer of many log probabilities is read, one that is brackets or names alone is not parsed', (t) => {
  const parse = (answer: string) =>
    parseCompletion(
      answer,
      (said) => said,
      () => 'made',
    );
  const message = { role: 'assistant', content: 'x' };
  const alternative = { token: ' a', logprob: -0.125, bytes: [32, 97] };
  const token = { ...alternative, top_logprobs: Array.from({ length: 20 }, () => alternative) };
  const logprobs = { content: Array.from({ length: 8000 }, () => token) };
  const answer = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop', logprobs }] });
  t.true(answer.length > 2 << 20);
  t.is(parse(answer).choices[0]?.message.content, 'x');
  const deep = '['.repeat(1 << 20) + ']'.repeat(1 << 20);
  const wide = `[${'{},'.repeat(1 << 20)}{}]`;
  for (const more of [deep, wide]) {
    t.throws(() => parse(answer.replace('"choices"', `"more":${more},"choices"`)), { message: /not JSON/ });
  }
});
