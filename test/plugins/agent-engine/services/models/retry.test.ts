import net from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { DEFAULT_RETRY, nextDelay } from '../../../../../plugins/agent-engine/services/models/retry.ts';
import {
  cut,
  failure,
  json,
  type ProviderScript,
  plain,
  startFakeProvider,
  stream,
} from '../../../../support/fake-provider.ts';
import { ask, clientFor, collect, context, failureOf, textOf } from './calls.ts';

test('backoff doubles, is jittered over its whole range, and has a ceiling', (t) => {
  const settings = { ...DEFAULT_RETRY, retries: 9, baseMs: 100, maxBackoffMs: 500 };
  t.deepEqual(
    [1, 2, 3, 4, 9].map((attempt) => nextDelay(settings, attempt, undefined, 0.5)),
    [50, 100, 200, 250, 250],
  );
  t.is(nextDelay(settings, 1, undefined, 0), 0);
});

test('there are no more retries than allowed', (t) => {
  t.not(nextDelay(DEFAULT_RETRY, 2, undefined, 0.5), undefined);
  t.is(nextDelay(DEFAULT_RETRY, 3, undefined, 0.5), undefined);
  t.is(nextDelay({ ...DEFAULT_RETRY, retries: 0 }, 1, 1, 0.5), undefined);
});

test('never sooner than Retry-After, never longer than the cap and a backoff', (t) => {
  fc.assert(
    fc.property(fc.nat(20_000), fc.double({ min: 0, max: 0.999, noNaN: true }), (retryAfter, random) => {
      const delay = nextDelay(DEFAULT_RETRY, 1, retryAfter, random);
      if (retryAfter > DEFAULT_RETRY.maxRetryAfterMs) t.is(delay, undefined);
      else t.true(delay! >= retryAfter && delay! <= DEFAULT_RETRY.maxRetryAfterMs + DEFAULT_RETRY.baseMs);
    }),
  );
});

for (const status of [408, 409, 425, 429, 500, 502, 503, 504]) {
  test(`status ${status} is tried again`, async (t) => {
    await using provider = await startFakeProvider(failure(status), plain('then'));
    await using client = clientFor(provider.url);
    t.is((await client.complete(ask(), context())).choices[0]?.message.content, 'then');
    t.is(provider.requests.length, 2);
  });
}

const FINAL: [number, string, string][] = [
  [302, 'model.upstream', 'upstream'],
  [400, 'model.rejected', 'invalid'],
  [401, 'model.upstream', 'upstream'],
  [403, 'model.upstream', 'upstream'],
  [404, 'model.unknown-to-provider', 'upstream'],
  [413, 'model.upstream', 'upstream'],
  [422, 'model.upstream', 'upstream'],
  [501, 'model.upstream', 'upstream'],
];
for (const [status, code, kind] of FINAL) {
  test(`status ${status} is final: ${code}`, async (t) => {
    await using provider = await startFakeProvider(failure(status, { location: '/elsewhere' }));
    await using client = clientFor(provider.url);
    const error = await failureOf(t, client.complete(ask(), context()));
    t.is(error.code, code);
    t.is(error.kind, kind as typeof error.kind);
    t.is(error.extras.retryable, status < 500 ? false : undefined);
    t.is(provider.requests.length, 1);
  });
}

test('a provider to which the request is too large, or wrong, is told as such, without its words', async (t) => {
  for (const [status, meaning] of [
    [413, /with status 413: the request is too large for it; shorten/],
    [422, /with status 422: it cannot process what the request holds\.$/],
  ] as const) {
    await using provider = await startFakeProvider(failure(status));
    await using client = clientFor(provider.url);
    t.regex((await failureOf(t, client.complete(ask(), context()))).detail, meaning);
  }
});

test('after two retries the last failure is told', async (t) => {
  await using provider = await startFakeProvider(failure(500), failure(502), failure(503));
  await using client = clientFor(provider.url);
  const error = await failureOf(t, collect(client.stream(ask(), context())));
  t.is(error.code, 'model.upstream');
  t.is(error.detail, 'The model provider answered with status 503.');
  t.is(provider.requests.length, 3);
});

test('a stream is retried before its first chunk, never after it', async (t) => {
  await using provider = await startFakeProvider(failure(503), stream(['a', 'b'], { cutAfter: 2 }));
  await using client = clientFor(provider.url);
  const seen: string[] = [];
  const error = await failureOf(
    t,
    (async () => {
      for await (const chunk of client.stream(ask(), context())) seen.push(textOf([chunk]));
    })(),
  );
  t.is(error.code, 'model.upstream');
  t.is(error.detail, 'The connection to the model provider broke while it was answering.');
  t.deepEqual(seen, ['', 'a']);
  t.is(provider.requests.length, 2);
});

test('a connection that is cut before the response is tried again', async (t) => {
  await using provider = await startFakeProvider(cut(), plain('then'));
  await using client = clientFor(provider.url);
  t.is((await client.complete(ask(), context())).choices[0]?.message.content, 'then');
});

test('a server that is not there is tried again, then told as an upstream failure', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  let attempts = 0;
  await using client = clientFor(`http://127.0.0.1:${port}/v1`, { beforeCall: () => void attempts++ });
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.upstream');
  t.notRegex(error.detail, /127\.0\.0\.1/, 'the address is the operator’s business');
  t.regex(String(error.extras.cause), /ECONNREFUSED/);
  t.is(attempts, 3);
});

/** Answers 503 first, then tells how long after it the next request came. */
function timed(first: ProviderScript): { scripts: ProviderScript[]; waited: () => number } {
  const times: number[] = [];
  const note = (script: ProviderScript): ProviderScript => {
    return (reply) => {
      times.push(performance.now());
      return script(reply);
    };
  };
  return { scripts: [note(first), note(plain())], waited: () => times[1]! - times[0]! };
}

test('Retry-After in seconds is waited for', async (t) => {
  const { scripts, waited } = timed(failure(429, { 'retry-after': '1' }));
  await using provider = await startFakeProvider(...scripts);
  await using client = clientFor(provider.url);
  await client.complete(ask(), context());
  t.true(waited() >= 990, `${waited()} ms`);
});

test('Retry-After as an HTTP date is waited for, by the injected clock', async (t) => {
  const date = 'Wed, 21 Oct 2015 07:28:00 GMT';
  const { scripts, waited } = timed(failure(503, { 'retry-after': date }));
  await using provider = await startFakeProvider(...scripts);
  const clock = { ...systemClock, now: () => Date.parse(date) - 200 };
  await using client = clientFor(provider.url, { clock });
  await client.complete(ask(), context());
  t.true(waited() >= 190 && waited() < 5000, `${waited()} ms`);
});

test('a Retry-After above the cap fails at once and is passed on', async (t) => {
  await using provider = await startFakeProvider(
    failure(429, { 'retry-after': '11' }),
    failure(503, { 'retry-after': '3600' }),
  );
  await using client = clientFor(provider.url);
  const limited = await failureOf(t, client.complete(ask(), context()));
  t.is(limited.code, 'model.rate-limited');
  t.is(limited.kind, 'rate-limited');
  t.deepEqual(limited.extras.headers, { 'retry-after': '11' });
  const unavailable = await failureOf(t, client.complete(ask(), context()));
  t.is(unavailable.code, 'model.upstream');
  t.deepEqual(unavailable.extras.headers, { 'retry-after': '3600' });
  t.is(provider.requests.length, 2);
});

test('a 429 without Retry-After is told with one', async (t) => {
  await using provider = await startFakeProvider(failure(429));
  await using client = clientFor(provider.url, { retry: { retries: 0 } });
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.rate-limited');
  t.regex(error.extras.headers?.['retry-after'] ?? '', /^\d+$/);
});

test('a wait that would pass the total deadline is not begun', async (t) => {
  await using provider = await startFakeProvider(failure(503, { 'retry-after': '9' }));
  await using client = clientFor(provider.url, { timeouts: { totalMs: 3000 } });
  const error = await failureOf(t, client.complete(ask(), context()));
  t.is(error.code, 'model.upstream');
});

test('a quota that is used up is not asked for again', async (t) => {
  await using provider = await startFakeProvider(failure(429, {}, { code: 'insufficient_quota' }));
  await using client = clientFor(provider.url);
  t.is((await failureOf(t, client.complete(ask(), context()))).code, 'insufficient_quota');
  t.is(provider.requests.length, 1);
});

test('x-should-retry: false of a provider is obeyed', async (t) => {
  await using provider = await startFakeProvider(failure(503, { 'x-should-retry': 'false' }));
  await using client = clientFor(provider.url);
  await failureOf(t, client.complete(ask(), context()));
  t.is(provider.requests.length, 1);
});

test('each attempt asks beforeCall, and sends the same body', async (t) => {
  let asked = 0;
  await using provider = await startFakeProvider(failure(500), failure(500), json(200, {}));
  await using client = clientFor(provider.url, { beforeCall: () => void asked++ });
  await failureOf(t, client.complete(ask('again'), context()));
  t.is(asked, 3);
  t.deepEqual(provider.requests[0]?.body, provider.requests[2]?.body);
});
