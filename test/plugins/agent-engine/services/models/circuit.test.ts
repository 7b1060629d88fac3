import test from 'ava';
import fc from 'fast-check';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { withoutSpans } from '../../../../../foundation/observability/tracing.ts';
import { type ModelClient, ModelErrors } from '../../../../../plugins/agent-engine/contract.ts';
import {
  admit,
  type Circuit,
  type CircuitState,
  CLOSED,
  createCircuits,
  evidenceOf,
  learn,
} from '../../../../../plugins/agent-engine/services/models/circuit.ts';
import { modelMetrics } from '../../../../../plugins/agent-engine/services/models/metrics.ts';
import {
  createModelCall,
  singleEndpoint,
} from '../../../../../plugins/agent-engine/services/models/model-call.ts';
import { manualClock } from '../../../../../testing/index.ts';
import { failure, plain, silence, startFakeProvider, stream } from '../../../../support/fake-provider.ts';
import { until } from '../../../../support/until.ts';
import { fakeMetrics, type Measured } from '../../fake-metrics.ts';
import { ask, clientFor, collect, context, failureOf } from './calls.ts';

const RULES = { failures: 3, openMs: 1000 };
const OPEN: CircuitState = { failures: 3, openUntil: 1000 };

function fail(state: CircuitState, now: number): CircuitState {
  return learn(state, 'regular', 'fails', now, RULES);
}

test('it opens after so many failures in a row, and any answer starts the count anew', (t) => {
  const two = fail(fail(CLOSED, 0), 0);
  t.is(two.openUntil, undefined);
  t.is(fail(two, 50).openUntil, 1050);
  const answered = learn(two, 'regular', 'answers', 0, RULES);
  t.is(fail(fail(answered, 0), 0).openUntil, undefined);
  t.is(learn(two, 'regular', 'none', 0, RULES), two);
});

test('while it is open nothing passes but one probe in each pause', (t) => {
  t.is(admit(OPEN, 999, RULES), undefined);
  const probe = admit(OPEN, 1000, RULES);
  t.is(probe?.admission, 'probe');
  t.is(admit(probe!.state, 1001, RULES), undefined);
  // A probe that hangs keeps nobody out for longer than a pause.
  t.is(admit(probe!.state, 2000, RULES)?.admission, 'probe');
});

test('a probe closes it, opens it again, or makes room for another', (t) => {
  const { state } = admit(OPEN, 1000, RULES)!;
  t.is(learn(state, 'probe', 'answers', 1500, RULES), CLOSED);
  t.is(learn(state, 'probe', 'fails', 1500, RULES).openUntil, 2500);
  const left = learn(state, 'probe', 'none', 1500, RULES);
  t.is(admit(left, 1500, RULES)?.admission, 'probe');
});

test('calls that began before it opened do not keep it open, but may close it', (t) => {
  t.is(fail(OPEN, 900), OPEN);
  t.is(learn(OPEN, 'regular', 'answers', 900, RULES), CLOSED);
});

test('failures of one tenant alone open it for that tenant, until another sees one', (t) => {
  const failed = (state: CircuitState, ...of: string[]) =>
    of.reduce((now, tenantId) => learn(now, 'regular', 'fails', 0, RULES, tenantId), state);
  const alone = failed(CLOSED, 'a', 'a', 'a');
  t.is(admit(alone, 500, RULES, 'a'), undefined);
  t.like(admit(alone, 500, RULES, 'b'), { admission: 'regular' });
  t.is(learn(alone, 'regular', 'answers', 500, RULES, 'b'), CLOSED);
  t.is(admit(failed(alone, 'b'), 500, RULES, 'c'), undefined);
  t.is(admit(failed(CLOSED, 'a', 'b', 'a'), 500, RULES, 'c'), undefined);
  const probe = admit(alone, 1000, RULES, 'a')!;
  t.is(probe.admission, 'probe');
  const again = learn(probe.state, 'probe', 'fails', 1000, RULES, 'a');
  t.is(admit(again, 1500, RULES, 'a'), undefined);
  t.like(admit(again, 1500, RULES, 'b'), { admission: 'regular' });
});

test('only the provider’s own failures are failures', (t) => {
  const cause = new Error('said so');
  t.is(evidenceOf(ModelErrors.upstream()), 'fails');
  t.is(evidenceOf(ModelErrors.timeout()), 'fails');
  // Status 401, and others that another attempt would not change.
  t.is(evidenceOf(ModelErrors.upstream('no', { retryable: false })), 'answers');
  t.is(evidenceOf(ModelErrors.rejected('no', { cause })), 'answers');
  t.is(evidenceOf(ModelErrors.rateLimited()), 'answers');
  t.is(evidenceOf(ModelErrors.unknownToProvider()), 'answers');
  t.is(evidenceOf(ModelErrors.rejected('never sent')), 'none');
  t.is(evidenceOf(ModelErrors.aborted()), 'none');
  t.is(evidenceOf(ModelErrors.overloaded()), 'none');
  t.is(evidenceOf(new Error('a mistake')), 'none');
  t.is(evidenceOf(undefined), 'none');
});

test('it never stays closed to a provider that has come back: after every history a call passes within one pause', (t) => {
  const step = fc.record({
    evidence: fc.constantFrom('answers', 'fails', 'none'),
    wait: fc.integer({ min: 0, max: 1500 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let state = CLOSED;
      let now = 0;
      for (const { evidence, wait } of steps) {
        now += wait;
        const entry = admit(state, now, RULES);
        if (entry === undefined) continue;
        state = learn(entry.state, entry.admission, evidence as 'fails', now, RULES);
      }
      return admit(state, now + RULES.openMs, RULES) !== undefined;
    }),
  );
  t.pass();
});

const of = (endpoint: string) => ({ endpoint, model: 'm' });

function circuits(failures = 2) {
  const clock = manualClock();
  const changes: Measured[] = [];
  const lines: string[] = [];
  const told = (_: object, text: string) => void lines.push(text);
  const metrics = modelMetrics(fakeMetrics(changes));
  const log = { warn: told, info: told } as never;
  const all = createCircuits({ clock, metrics, log, settings: { failures, openMs: 10_000 } });
  return { clock, changes, lines, all };
}

function guarded(client: ModelClient, circuit: Circuit) {
  const info = { id: 'm', provider: 'openai', model: 'm', owned_by: 'openai', created: 0 };
  const chain = singleEndpoint({ info, client, circuit });
  return createModelCall({
    info,
    acquire: () => chain,
    metrics: modelMetrics(fakeMetrics()),
    logFailure: () => {},
    tracing: withoutSpans,
    clock: systemClock,
    timeout: 1000,
  });
}

test('a provider that fails is not asked for a while, and asked again with one call', async (t) => {
  await using provider = await startFakeProvider(failure(503), failure(503), failure(503), plain(), plain());
  const { all, clock, changes, lines } = circuits();
  await using client = clientFor(provider.url, { retry: { retries: 0 } });
  const model = guarded(client, all.of(of('openai there')));
  const call = () => model.complete(ask(), context());
  for (const _ of [1, 2]) t.is((await failureOf(t, call())).code, 'model.upstream');
  clock.advance(7500);
  const refused = await failureOf(t, call());
  t.is(refused.code, 'model.circuit-open');
  t.is(refused.kind, 'unavailable');
  t.is(refused.extras.headers?.['retry-after'], '3');
  t.is((await failureOf(t, collect(model.stream(ask(), context())))).code, 'model.circuit-open');
  t.is(provider.requests.length, 2);
  clock.advance(2500);
  t.is((await failureOf(t, call())).code, 'model.upstream');
  t.is((await failureOf(t, call())).code, 'model.circuit-open');
  clock.advance(10_000);
  await call();
  await call();
  t.is(provider.requests.length, 5);
  t.deepEqual(changes, [
    ['model_circuit_open', 'openai there m', 1],
    ['model_circuit_open', 'openai there m', 0],
  ]);
  t.is(lines.length, 2);
});

test('the beginning of a stream decides: one that breaks later was an answer, and one that is left tells nothing', async (t) => {
  await using provider = await startFakeProvider(
    failure(503),
    stream(['Hi'], { cutAfter: 1 }),
    failure(503),
    silence(),
    failure(503),
  );
  const { all } = circuits();
  await using client = clientFor(provider.url, { retry: { retries: 0 } });
  const model = guarded(client, all.of(of('x')));
  const read = (signal?: AbortSignal) => failureOf(t, collect(model.stream(ask(), context(signal))));
  for (const _ of ['503', 'cut', '503']) t.is((await read()).code, 'model.upstream');
  const caller = new AbortController();
  const left = read(caller.signal);
  await until(() => provider.requests.length === 4);
  caller.abort();
  t.is((await left).code, 'model.aborted');
  t.is((await read()).code, 'model.upstream');
  t.is((await read()).code, 'model.circuit-open');
});

test('aliases of one model share a breaker; models of a provider, and servers of a host, do not', (t) => {
  const { all } = circuits(1);
  const called = { endpoint: 'openai there', url: 'http://there/one/v1', model: 'm' };
  all.of(called).enter().failed(ModelErrors.upstream());
  t.throws(() => all.of({ ...called }).enter(), { code: 'model.circuit-open' });
  t.notThrows(() => all.of({ ...called, model: 'n' }).enter());
  t.notThrows(() => all.of({ ...called, url: 'http://there/two/v1' }).enter());
});

test('nothing is asked, and no breaker entered, for a stream that nobody reads', async (t) => {
  const { all, clock } = circuits(1);
  all.of(of('a')).enter().failed(ModelErrors.upstream());
  clock.advance(10_000);
  const client = { complete: async () => t.fail(), async *stream() {} } as never;
  const unread = guarded(client, all.of(of('a'))).stream(ask(), context());
  await unread[Symbol.asyncIterator]().return?.();
  t.notThrows(() => all.of(of('a')).enter());
});
