import test from 'ava';
import { ModelErrors } from '../../../../../plugins/agent-engine/contract.ts';
import { createCircuits } from '../../../../../plugins/agent-engine/services/models/circuits.ts';
import { guardClient } from '../../../../../plugins/agent-engine/services/models/guarded-client.ts';
import { manualClock } from '../../../../../testing/index.ts';
import { failure, plain, silence, startFakeProvider, stream } from '../../../../support/fake-provider.ts';
import { until } from '../../../../support/until.ts';
import { ask, clientFor, collect, context, failureOf } from './calls.ts';

function circuits(failures = 2) {
  const clock = manualClock();
  const changes: string[] = [];
  const lines: string[] = [];
  const told = (_: object, text: string) => void lines.push(text);
  const observer = {
    circuit: (endpoint: string, isOpen: boolean) =>
      void changes.push(`${endpoint} ${isOpen ? 'open' : 'closed'}`),
  };
  const log = { warn: told, info: told } as never;
  const all = createCircuits({ clock, observer, log, settings: { failures, openMs: 10_000 } });
  return { clock, changes, lines, all };
}

test('a provider that fails is not asked for a while, and asked again with one call', async (t) => {
  await using provider = await startFakeProvider(failure(503), failure(503), failure(503), plain(), plain());
  const { all, clock, changes, lines } = circuits();
  await using client = clientFor(provider.url, { retry: { retries: 0 } });
  const guarded = guardClient(client, all.of('openai there'));
  const call = () => guarded.complete(ask(), context());
  for (const _ of [1, 2]) t.is((await failureOf(t, call())).code, 'model.upstream');
  clock.advance(7500);
  const refused = await failureOf(t, call());
  t.is(refused.code, 'model.circuit-open');
  t.is(refused.kind, 'unavailable');
  t.is(refused.extras.headers?.['retry-after'], '3');
  t.is((await failureOf(t, collect(guarded.stream(ask(), context())))).code, 'model.circuit-open');
  t.is(provider.requests.length, 2);
  clock.advance(2500);
  t.is((await failureOf(t, call())).code, 'model.upstream');
  t.is((await failureOf(t, call())).code, 'model.circuit-open');
  clock.advance(10_000);
  await call();
  await call();
  t.is(provider.requests.length, 5);
  t.deepEqual(changes, ['openai there open', 'openai there closed']);
  t.is(lines.length, 2);
});

test('the beginning of a stream decides: one that breaks later was an answer, and one that is left tells nothing', async (t) => {
  await using provider = await startFakeProvider(
    ...[failure(503), stream(['Hi'], { cutAfter: 1 }), failure(503), silence(), failure(503)],
  );
  const { all } = circuits();
  await using client = clientFor(provider.url, { retry: { retries: 0 } });
  const guarded = guardClient(client, all.of('x'));
  const read = (signal?: AbortSignal) => failureOf(t, collect(guarded.stream(ask(), context(signal))));
  for (const _ of ['503', 'cut', '503']) t.is((await read()).code, 'model.upstream');
  const caller = new AbortController();
  const left = read(caller.signal);
  await until(() => provider.requests.length === 4);
  caller.abort();
  t.is((await left).code, 'model.aborted');
  t.is((await read()).code, 'model.upstream');
  t.is((await read()).code, 'model.circuit-open');
});

test('aliases of one endpoint share a breaker, and endpoints do not', (t) => {
  const { all } = circuits(1);
  all.of('a').enter().failed(ModelErrors.upstream());
  t.throws(() => all.of('a').enter(), { code: 'model.circuit-open' });
  t.notThrows(() => all.of('b').enter());
});

test('nothing is asked, and no breaker entered, for a stream that nobody reads', async (t) => {
  const { all, clock } = circuits(1);
  all.of('a').enter().failed(ModelErrors.upstream());
  clock.advance(10_000);
  const client = { complete: async () => t.fail(), async *stream() {} } as never;
  const unread = guardClient(client, all.of('a')).stream(ask(), context());
  await unread[Symbol.asyncIterator]().return?.();
  t.notThrows(() => all.of('a').enter());
});
