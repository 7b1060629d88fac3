import test from 'ava';
import Type from 'typebox';
import { defineEvent } from '../../../foundation/messages/events/events.ts';
import { defineHint } from '../../../foundation/messages/hints/hints.ts';
import type { PluginDefinition } from '../../../kernel/api/plugin.ts';
import { extensionPoint, serviceRef } from '../../../kernel/api/refs.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

const Engine = serviceRef<object>('engine.engine');
const Parts = extensionPoint<string>('engine.parts');
const Look = defineHint('engine.look', Type.Object({}));
const Happened = defineEvent('engine.happened', Type.Object({}));

/** Notes which parts are there whenever it does something by itself. */
function enginePlugin(seen: string[], parts: Partial<PluginDefinition> = {}) {
  return testPlugin('engine', {
    ...parts,
    offers: [Engine],
    points: [Parts],
    setup(scope) {
      const contributed = scope.contributions(Parts);
      const note = async (what: string) => void seen.push(`${what}: ${contributed()}`);
      scope.provide(Engine, {});
      scope.route(publicRoute('/engine', () => 'here'));
      scope.every('look', 3_600_000, () => note('task'), { immediately: true });
      scope.onHint(Look, () => note('worker'));
      scope.on(Happened, () => note('listener'));
    },
  });
}

/** Gives the engine something to do while it is set up, and then, more than a moment later, a part. */
const late = testPlugin('late', {
  needs: { engine: Engine },
  async setup(scope) {
    const { hints, events, database } = scope.services;
    await hints.send(Look, {});
    events.emit(Happened, {});
    for (let turn = 0; turn < 20; turn += 1) await database.ping(10_000);
    scope.contribute(Parts, 'late');
  },
});

test('what runs by itself begins when all plugins are there, so that it finds what the last one contributes', async (t) => {
  const seen: string[] = [];
  await using gateway = await startTestGateway({ plugins: [enginePlugin(seen), late] });
  gateway.gateway.services.events.emit(Happened, {});
  await until(() => seen.length >= 4);
  const heard = ['listener: late', 'listener: late'];
  t.deepEqual(seen.toSorted(), [...heard, 'task: late', 'worker: late'], 'what was emitted before waits');
});

test('a plugin whose set-up hangs or fails holds back the others no longer than its time', async (t) => {
  const seen: string[] = [];
  const hanging = testPlugin('hanging', { setup: () => new Promise(() => {}) });
  const failing = testPlugin('failing', { setup: () => Promise.reject(new Error('no')) });
  await using gateway = await startTestGateway({
    plugins: [enginePlugin(seen), failing, hanging],
    setupTimeout: 200,
  });
  await until(() => seen.length > 0);
  t.deepEqual(seen, ['task: ']);
  t.is((await gateway.request('/engine')).body, 'here');
  const ready = await gateway.request('/health/ready');
  t.is(ready.status, 200);
  t.deepEqual(
    ready.body.degraded.map(({ name }: { name: string }) => name),
    ['failing', 'hanging'],
  );
});

test('where the start is given up, nothing has begun to run by itself', async (t) => {
  const seen: string[] = [];
  const failing = testPlugin('failing', {
    onFailure: 'abort',
    needs: { engine: Engine },
    setup: () => Promise.reject(new Error('no')),
  });
  await t.throwsAsync(startTestGateway({ plugins: [enginePlugin(seen), failing] }), {
    message: 'failing: no',
  });
  t.deepEqual(seen, []);
});

test('plugins that are enabled together begin when all of them are there', async (t) => {
  const seen: string[] = [];
  await using gateway = await startTestGateway({
    plugins: [enginePlugin(seen), late],
    yaml: 'plugins:\n  engine:\n    enabled: false\n',
  });
  await gateway.request('/admin/v1/plugins/engine/enable', { method: 'POST' });
  await until(() => seen.length >= 2);
  t.deepEqual(seen.toSorted(), ['task: late', 'worker: late']);
});

/** Has one queue more than there may be, so that its last worker cannot begin. */
function greedy(parts: Partial<PluginDefinition> = {}) {
  return testPlugin('greedy', {
    ...parts,
    setup(scope) {
      scope.route(publicRoute('/greedy', () => 'here'));
      for (let index = 0; index <= 1_000; index += 1) {
        scope.onHint(defineHint(`greedy.q${index}`, Type.Object({})), async () => {});
      }
    },
  });
}

test('a plugin that cannot begin what it does by itself says so, serves, and hinders no other', async (t) => {
  const seen: string[] = [];
  const other = testPlugin('other', {
    setup: (scope) =>
      scope.every('look', 3_600_000, async () => void seen.push('other'), { immediately: true }),
  });
  await using gateway = await startTestGateway({ plugins: [greedy(), other] });
  await until(() => seen.length > 0);
  const { body } = await gateway.request('/admin/v1/plugins/greedy');
  t.is(body.state, 'active');
  t.regex(body.last_error.message, /queue/);
  t.is((await gateway.request('/greedy')).body, 'here');
  t.true(gateway.logs().some((line) => line.includes('cannot begin what it does by itself')));
});

test('with onFailure abort the gateway does not start when a plugin cannot begin what it does by itself', async (t) => {
  const error = await t.throwsAsync(startTestGateway({ plugins: [greedy({ onFailure: 'abort' })] }));
  t.regex(error.message, /^greedy: /);
});
