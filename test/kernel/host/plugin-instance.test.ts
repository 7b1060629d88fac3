import test from 'ava';
import type { Scope } from '../../../kernel/api/scope.ts';
import { PluginInstance } from '../../../kernel/host/plugin-instance.ts';
import { defineDurableEvent, defineHint, defineJob, Type } from '../../../kernel/index.ts';
import { testPlugin } from '../../support/plugins.ts';

function parts(setup: (scope: Scope) => void | Promise<void>, log: string[] = []) {
  const note = (_fields: unknown, message: string) => void log.push(message);
  return {
    plugin: testPlugin('subject', { setup: setup as never }),
    config: {},
    upstream: {},
    services: {} as never,
    events: {} as never,
    hints: {} as never,
    jobs: {} as never,
    durableEvents: {} as never,
    resources: {} as never,
    log: { error: note, info: note, warn: note } as never,
    metric: { dispose: () => void log.push('metrics disposed') } as never,
    setupTimeout: 30,
    contributions: () => [],
    points: [],
    folder: '/nowhere',
  };
}

const Nothing = Type.Object({});
const Job = defineJob('subject.work', Nothing);
const Hint = defineHint('subject.look', Nothing);
const Ended = defineDurableEvent('subject.ended', Nothing);
const does = async () => {};

/** What authors in JavaScript may write, and what the set-up says of it. */
const MISSPELLED: readonly [verb: string, setup: (scope: Scope) => void, message: RegExp][] = [
  [
    'every',
    (s) => s.every('a', 1000, does, { replica: 'one' } as never),
    /"replica", did you mean "replicas"/,
  ],
  [
    'every, its value',
    (s) => s.every('a', 1000, does, { replicas: 'One' } as never),
    /"all".* "one", not on "One"/,
  ],
  ['cron', (s) => s.cron('a', '0 3 * * *', does, { timeZone: 'UTC' } as never), /did you mean "timezone"/],
  ['worker', (s) => s.worker(Job, does, { concurency: 2 } as never), /did you mean "concurrency"/],
  ['onHint', (s) => s.onHint(Hint, does, { timeOut: 2 } as never), /did you mean "timeout"/],
  ['subscribe', (s) => s.subscribe(Ended, does, { concurency: 2 } as never), /did you mean "concurrency"/],
  ['subscribe, of jobs', (s) => s.subscribe(Ended, does, { attempt: 2 } as never), /did you mean "attempts"/],
  [
    'defineJob',
    () => void defineJob('subject.more', Nothing, { attemps: 2 } as never),
    /did you mean "attempts"/,
  ],
];
for (const [verb, setup, message] of MISSPELLED) {
  test(`a misspelled option fails the set-up: ${verb}`, async (t) => {
    await t.throwsAsync(PluginInstance.setUp(parts(setup)), { message });
  });
}

test('a set-up that hangs is given up after its time, and what it had begun is undone', async (t) => {
  const log: string[] = [];
  let signal: AbortSignal | undefined;
  const hangs = parts(async (scope) => {
    signal = scope.signal;
    scope.defer(() => void log.push('undone'));
    await new Promise(() => {});
  }, log);
  await t.throwsAsync(PluginInstance.setUp(hangs), {
    message: 'the set-up of subject did not end within 0.03 s',
  });
  t.deepEqual(log, ['undone', 'metrics disposed']);
  t.true(signal?.aborted);
});

test('what cannot be undone is told, and does not keep the rest from being undone', async (t) => {
  const log: string[] = [];
  const instance = await PluginInstance.setUp(
    parts((scope) => {
      scope.defer(() => void log.push('first'));
      scope.defer(() => {
        throw new Error('stuck');
      });
    }, log),
  );
  t.deepEqual(await instance.retire(0), ['an undo failed: stuck']);
  t.deepEqual(log, ['first', 'metrics disposed']);
});

test('a call that does not end after its abort is reported as a leak', async (t) => {
  const instance = await PluginInstance.setUp(parts(() => {}));
  const reasons: string[] = [];
  instance.inFlight.enter({ pattern: '/v1/slow', abort: (reason) => void reasons.push(reason.message) });
  t.deepEqual(await instance.retire(0), ['1 calls did not end after they were aborted: /v1/slow']);
  t.deepEqual(reasons, ['The plugin or the gateway is stopping']);
});

test('work in the background is ended with the plugin: at once where it can, else told when the drain time is over', async (t) => {
  const log: string[] = [];
  const instance = await PluginInstance.setUp(
    parts((scope) => {
      scope.defer(() => void log.push('undone'));
      scope.drain('quick', async (signal) => void log.push(`quick ${signal.aborted}`));
      scope.drain('slow', async (signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        log.push(`slow until ${(signal.reason as Error).message}`);
      });
      scope.drain('broken', () => Promise.reject(new Error('stuck')));
    }, log),
  );
  t.deepEqual(await instance.retire(20), ['broken was not drained: stuck']);
  t.deepEqual(log, [
    'quick false',
    'slow until The plugin or the gateway is stopping',
    'undone',
    'metrics disposed',
  ]);
});

test('background work of a plugin that was never published is not drained', async (t) => {
  const instance = await PluginInstance.setUp(
    parts((scope) => scope.drain('work', async () => t.fail('it never began'))),
  );
  await t.notThrowsAsync(instance.discard());
});
