import test from 'ava';
import {
  endlessStream,
  failure,
  silence,
  startFakeProvider,
  stream,
} from '../../../../support/fake-provider.ts';
import { settled, until } from '../../../../support/until.ts';
import { ask, clientFor, collect, context, failureOf, textOf } from './calls.ts';

test('a caller who hangs up before the answer begins cancels the call at the provider', async (t) => {
  await using provider = await startFakeProvider(silence());
  await using client = clientFor(provider.url);
  for (const [count, call] of [client.complete, client.stream].entries()) {
    const caller = new AbortController();
    const result = call(ask(), context(caller.signal));
    const failed = failureOf(t, result instanceof Promise ? result : collect(result));
    await until(() => provider.requests.length === count + 1);
    caller.abort();
    const error = await failed;
    t.is(error.code, 'model.aborted');
    t.is(error.kind, 'client-closed');
    await until(() => provider.requests[count]?.isAborted === true, 5_000);
  }
  t.is(provider.requests.length, 2, 'nothing is tried again');
});

test('a caller who hangs up during a stream cancels it at the provider and gets nothing more', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  const caller = new AbortController();
  const seen: string[] = [];
  const reading = failureOf(
    t,
    (async () => {
      for await (const chunk of client.stream(ask(), context(caller.signal))) seen.push(textOf([chunk]));
    })(),
  );
  await until(() => seen.length === 3);
  caller.abort();
  t.is((await reading).code, 'model.aborted');
  t.deepEqual(seen, ['', 'a', 'b']);
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
});

test('the provider is cancelled at once, also while the consumer is not reading', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  const caller = new AbortController();
  const chunks = client.stream(ask(), context(caller.signal))[Symbol.asyncIterator]();
  await chunks.next();
  caller.abort();
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
  t.is((await failureOf(t, chunks.next())).code, 'model.aborted');
});

test('leaving the loop cancels the call at the provider', async (t) => {
  await using provider = await startFakeProvider(stream(['a', 'b', 'c'], { hangAfter: 3 }));
  await using client = clientFor(provider.url);
  for await (const chunk of client.stream(ask(), context())) {
    if (textOf([chunk]) === 'a') break;
  }
  await until(() => provider.requests[0]?.isAborted === true, 5_000);
  t.pass();
});

test('a caller who has hung up already costs no request', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  t.is((await failureOf(t, client.complete(ask(), context(AbortSignal.abort())))).code, 'model.aborted');
  t.is(
    (await failureOf(t, collect(client.stream(ask(), context(AbortSignal.abort()))))).code,
    'model.aborted',
  );
  t.is(provider.requests.length, 0);
});

test('a caller who hangs up between two attempts ends the waiting', async (t) => {
  await using provider = await startFakeProvider(failure(503, { 'retry-after': '9' }));
  await using client = clientFor(provider.url);
  const caller = new AbortController();
  const failed = failureOf(t, client.complete(ask(), context(caller.signal)));
  await until(() => provider.requests.length === 1);
  caller.abort();
  t.is((await failed).code, 'model.aborted');
  t.is(provider.requests.length, 1);
});

test('the listeners on the signal of a long-lived caller are gone after each call', async (t) => {
  await using provider = await startFakeProvider();
  await using client = clientFor(provider.url);
  const { signal } = new AbortController();
  const counts = { add: 0, remove: 0 };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    counts.add += 1;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    counts.remove += 1;
    removeEventListener.apply(signal, args);
  };
  await client.complete(ask(), context(signal));
  await collect(client.stream(ask(), context(signal)));
  t.deepEqual(counts, { add: 2, remove: 2 });
});

test('what a slow consumer does not take is not read from the provider', async (t) => {
  await using provider = await startFakeProvider(endlessStream());
  await using client = clientFor(provider.url);
  const chunks = client.stream(ask(), context())[Symbol.asyncIterator]();
  await chunks.next();
  const request = provider.requests[0]!;
  await settled(() => request.bytesWritten);
  t.true(request.isBlocked, 'the provider waits for the gateway');
  // What the two kernels' socket buffers hold; without backpressure this would be hundreds of megabytes.
  t.true(request.bytesWritten < 16 * 1024 * 1024, `${request.bytesWritten} bytes`);
  const before = request.bytesWritten;
  for (let i = 0; i < 2000; i += 1) await chunks.next();
  await until(() => request.bytesWritten > before);
  await chunks.return?.();
  await until(() => request.isAborted, 5_000);
});
