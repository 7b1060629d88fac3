import test, { type ExecutionContext } from 'ava';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { extensionPoint, serviceRef } from '../../../kernel/api/refs.ts';
import { startTestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { gate, publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

const Engine = serviceRef<object>('engine.engine');
const Parts = extensionPoint<string>('engine.parts');
const Colors = extensionPoint<string>('palette.colors');

/**
 * A plugin whose background work ends when the test says so, or when it is told to; both are noted with the parts that
 * are there then.
 */
function enginePlugin(log: string[]) {
  const { open, opened } = gate();
  const plugin = testPlugin('engine', {
    offers: [Engine],
    points: [Parts],
    setup(scope) {
      const parts = scope.contributions(Parts);
      scope.provide(Engine, {});
      scope.drain('work', async (signal) => {
        log.push(`ending with ${parts()}`);
        const told = new Promise<string>((resolve) =>
          signal.addEventListener('abort', () => resolve('told'), { once: true }),
        );
        const how = await Promise.race([opened.then(() => 'ended'), told]);
        log.push(`${how} with ${parts()}`);
      });
      scope.defer(() => void log.push('engine undone'));
    },
  });
  return { plugin, open };
}

/** A plugin that adds a part to the engine, and needs the engine where that is said. */
function partPlugin(name: string, log: string[], needs: Plugin['needs'] = {}) {
  return testPlugin(name, {
    needs,
    setup(scope) {
      scope.contribute(Parts, name);
      scope.defer(() => void log.push(`${name} undone`));
    },
  });
}

async function start(t: ExecutionContext, options: TestGatewayOptions) {
  const gateway = await startTestGateway(options);
  t.teardown(gateway.stop);
  const stateOf = (name: string) => gateway.gateway.host.slots.find(name)!.status.state;
  const turn = (name: string, verb: string) =>
    gateway.request(`/admin/v1/plugins/${name}/${verb}`, { method: 'POST' });
  return Object.assign(gateway, { stateOf, turn });
}

test('work that a stop drains finds what other plugins contribute, and they are ended when it is over', async (t) => {
  const log: string[] = [];
  const engine = enginePlugin(log);
  const plugins = [engine.plugin, partPlugin('bolt', log), partPlugin('nut', log, { engine: Engine })];
  const gateway = await start(t, { plugins });
  const stopping = gateway.stop();
  await until(() => gateway.stateOf('nut') === 'draining' && gateway.stateOf('bolt') === 'draining');
  engine.open();
  await stopping;
  const parts = 'bolt,nut';
  t.deepEqual(log.slice(0, 2), [`ending with ${parts}`, `ended with ${parts}`]);
  t.deepEqual(log.slice(2).toSorted(), ['bolt undone', 'engine undone', 'nut undone']);
  t.true(log.indexOf('nut undone') < log.indexOf('engine undone'), 'who needs another is ended before it');
});

test('a plugin that needs another is there until the background work of that one is over, also when it is disabled', async (t) => {
  const log: string[] = [];
  const engine = enginePlugin(log);
  const palette = testPlugin('palette', {
    points: [Parts],
    setup(scope) {
      const parts = scope.contributions(Parts);
      scope.route(publicRoute('/parts', () => ({ parts: parts() })));
    },
  });
  const nut = partPlugin('nut', log, { engine: Engine });
  const gateway = await start(t, { plugins: [engine.plugin, nut, palette] });
  const disabled = gateway.turn('engine', 'disable');
  await until(() => gateway.stateOf('nut') === 'draining');
  t.deepEqual(log, ['ending with nut']);
  engine.open();
  await disabled;
  t.deepEqual(log, ['ending with nut', 'ended with nut', 'nut undone', 'engine undone']);
  t.is(gateway.stateOf('nut'), 'waiting');
  t.deepEqual((await gateway.request('/parts')).body, { parts: [] });
});

test('a plugin that needs another is there until the calls of that one have ended', async (t) => {
  const log: string[] = [];
  const { open, opened } = gate();
  const engine = testPlugin('engine', {
    offers: [Engine],
    setup(scope) {
      scope.provide(Engine, {});
      scope.route(publicRoute('/slow', () => opened.then(() => void log.push('answered'))));
    },
  });
  const gateway = await start(t, { plugins: [engine, partPlugin('nut', log, { engine: Engine })] });
  const slow = gateway.request('/slow');
  await until(() => gateway.gateway.host.slots.find('engine')!.current!.inFlight.size === 1);
  const disabled = gateway.turn('engine', 'disable');
  await until(() => gateway.stateOf('engine') === 'draining');
  open();
  await Promise.all([slow, disabled]);
  t.deepEqual(log, ['answered', 'nut undone']);
});

test('background work that outlives the drain time is told to end before anything that it uses is ended', async (t) => {
  const log: string[] = [];
  const gateway = await start(t, {
    plugins: [enginePlugin(log).plugin, partPlugin('nut', log, { engine: Engine })],
    env: { SVC_DRAIN_TIMEOUT: '100ms' },
  });
  await gateway.stop();
  t.deepEqual(log, ['ending with nut', 'told with nut', 'nut undone', 'engine undone']);
});

test('disabling a plugin waits for its own background work alone', async (t) => {
  const log: string[] = [];
  const { open, opened } = gate();
  t.teardown(open);
  const other = testPlugin('other', { setup: (scope) => scope.drain('never', () => opened) });
  const gateway = await start(t, {
    plugins: [enginePlugin(log).plugin, other],
    yaml: 'plugins:\n  engine:\n    drainTimeout: 50ms\n',
  });
  t.is((await gateway.turn('engine', 'disable')).body.state, 'stopped');
  t.deepEqual(log, ['ending with ', 'told with ', 'engine undone']);
  t.is(gateway.stateOf('other'), 'active');
  open();
});

for (const verb of ['reload', 'disable'] as const) {
  test(`what a call needs that goes on from before an earlier change is there until it has ended: ${verb}`, async (t) => {
    const log: string[] = [];
    const { open, opened } = gate();
    t.teardown(open);
    const wheel = testPlugin('wheel', {
      needs: { engine: Engine },
      setup(scope) {
        scope.route(publicRoute('/slow', () => opened.then(() => void log.push('answered'))));
        scope.defer(() => void log.push('wheel undone'));
      },
    });
    const engine = testPlugin('engine', {
      offers: [Engine],
      points: [Parts],
      setup(scope) {
        scope.provide(Engine, {});
        scope.defer(() => void log.push('engine undone'));
      },
    });
    const gateway = await start(t, { plugins: [engine, wheel] });
    const slow = gateway.request('/slow');
    const first = gateway.gateway.host.slots.find('wheel')!.current!;
    await until(() => first.inFlight.size === 1);
    t.is((await gateway.turn('wheel', 'reload')).body.state, 'active');
    const changed = gateway.turn('engine', verb);
    // The generation of the wheel that has no call needs nothing more.
    await until(() => gateway.gateway.host.slots.find('wheel')!.current !== first);
    if (verb === 'disable') await until(() => gateway.stateOf('engine') === 'draining');
    else await changed;
    await new Promise(setImmediate);
    t.deepEqual(log, []);
    open();
    await Promise.all([slow, changed]);
    await until(() => log.includes('engine undone'));
    t.deepEqual(log, ['answered', 'wheel undone', 'wheel undone', 'engine undone']);
  });
}

test('a plugin has stopped when the calls of all its generations have ended', async (t) => {
  const gates = [gate(), gate(), gate()];
  let generation = 0;
  const engine = testPlugin('engine', {
    setup(scope) {
      const { opened } = gates[generation++]!;
      scope.route(publicRoute('/slow', () => opened));
    },
  });
  const gateway = await start(t, { plugins: [engine] });
  const slot = gateway.gateway.host.slots.find('engine')!;
  const call = async () => {
    const answered = gateway.request('/slow');
    await until(() => slot.current?.inFlight.size === 1);
    return answered;
  };
  const first = call();
  await until(() => slot.current?.inFlight.size === 1);
  await gateway.turn('engine', 'reload');
  const second = call();
  await until(() => slot.current?.inFlight.size === 1);
  const disabled = gateway.turn('engine', 'disable');
  await until(() => slot.status.state === 'draining');
  await gateway.turn('engine', 'enable');
  const third = call();
  await until(() => slot.current?.inFlight.size === 1);
  const again = gateway.turn('engine', 'disable');
  await until(() => slot.status.state === 'draining');
  gates[0]!.open();
  gates[1]!.open();
  await Promise.all([first, second, disabled]);
  t.is(slot.status.state, 'draining');
  gates[2]!.open();
  await third;
  t.is((await again).body.state, 'stopped');
});

/** Sees the colors; and a plugin that contributes one, with a call that takes its time. */
function palette() {
  const { open, opened } = gate();
  const owner = testPlugin('palette', {
    points: [Colors],
    setup(scope) {
      const colors = scope.contributions(Colors);
      scope.route(publicRoute('/colors', () => ({ colors: colors() })));
    },
  });
  return { owner, open, opened };
}

/** Contributes another color in each generation, with background work that ends when `opened` does. */
function reds(opened: Promise<void>) {
  const undone: string[] = [];
  let generation = 0;
  const plugin = testPlugin('red', {
    setup(scope) {
      generation += 1;
      const color = `red ${generation}`;
      scope.contribute(Colors, color);
      scope.drain('work', () => opened);
      scope.defer(() => void undone.push(color));
    },
  });
  return { plugin, undone };
}

test('what a plugin without background work contributes is gone at once, whatever calls it still answers', async (t) => {
  const { owner, open, opened } = palette();
  const red = testPlugin('red', {
    setup(scope) {
      scope.contribute(Colors, 'red');
      scope.route(publicRoute('/slow', () => opened.then(() => 'done')));
    },
  });
  const gateway = await start(t, { plugins: [owner, red] });
  const slow = gateway.request('/slow');
  await until(() => gateway.gateway.host.slots.find('red')!.current!.inFlight.size === 1);
  const disabled = gateway.turn('red', 'disable');
  await until(() => gateway.stateOf('red') === 'draining');
  t.deepEqual((await gateway.request('/colors')).body, { colors: [] });
  open();
  t.is((await slow).body, 'done');
  t.is((await disabled).status, 200);
});

test('of a plugin that is reloaded the new contribution alone is seen, while the old one drains and afterwards', async (t) => {
  const { owner, open, opened } = palette();
  const { plugin: red, undone } = reds(opened);
  const gateway = await start(t, { plugins: [owner, red] });
  await gateway.turn('red', 'reload');
  t.deepEqual((await gateway.request('/colors')).body, { colors: ['red 2'] });
  open();
  await until(() => undone.length === 1);
  t.deepEqual((await gateway.request('/colors')).body, { colors: ['red 2'] });
  await gateway.turn('red', 'disable');
  t.deepEqual((await gateway.request('/colors')).body, { colors: [] });
});

test('a plugin that comes back while its last generation drains is seen as it is now', async (t) => {
  const { owner, open, opened } = palette();
  const { plugin: red, undone } = reds(opened);
  const gateway = await start(t, { plugins: [owner, red] });
  const colors = async () => (await gateway.request('/colors')).body.colors;
  const disabled = gateway.turn('red', 'disable');
  await until(() => gateway.stateOf('red') === 'draining');
  t.deepEqual(await colors(), ['red 1'], 'its background work may need it');
  await gateway.turn('red', 'enable');
  t.deepEqual(await colors(), ['red 2']);
  open();
  await disabled;
  await until(() => undone.length === 1);
  t.deepEqual(await colors(), ['red 2']);
});
