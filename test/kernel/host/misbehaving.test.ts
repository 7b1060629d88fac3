import test, { type ExecutionContext } from 'ava';
import { column } from '../../../foundation/data/columns.ts';
import { serviceRef } from '../../../kernel/api/refs.ts';
import {
  defineDurableEvent,
  defineEntity,
  defineEvent,
  defineHint,
  defineJob,
  defineKind,
  Type,
} from '../../../kernel/index.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { type PluginFiles, pluginFolder } from '../../support/plugin-folder.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

const Guard = serviceRef<object>('engine.guard');
const Run = Type.Object({ run_id: Type.String() });
const Work = defineJob('engine.work', Run);
const Look = defineHint('engine.look', Run);
const Changed = defineEvent('engine.changed', Run);
const Ended = defineDurableEvent('engine.ended', Run);

/** What comes with the gateway, and claims one of each. */
const engine = testPlugin('engine', {
  onFailure: 'abort',
  offers: [Guard],
  entities: [
    defineEntity({
      name: 'EngineSession',
      tableName: 'engine_sessions',
      properties: { id: column.id().primary(), tenantId: column.tenant() },
    }),
  ],
  migrations: [
    {
      name: '001-sessions',
      up: (schema, types) => [
        schema
          .createTable('engine_sessions')
          .addColumn('id', types.id, (is) => is.notNull().primaryKey())
          .addColumn('tenant_id', types.tenant, (is) => is.notNull()),
      ],
    },
  ],
  setup(scope) {
    scope.provide(Guard, {});
    scope.kind(
      defineKind({ kind: 'Engine', summary: 's', spec: Type.Object({}), build: () => ({}) }) as never,
    );
    scope.route(publicRoute('/engine', () => 'here'));
    scope.authenticate({
      name: 'engine_hook',
      places: [{ in: 'header', name: 'x-engine' }],
      authenticate: () => undefined,
    });
    scope.worker(Work, async () => undefined);
    scope.onHint(Look, async () => undefined);
    scope.on(Changed, () => undefined);
    scope.subscribe(Ended, async () => undefined);
  },
});

/** A plugin of somebody else. */
function acme(name: string, { parts = '', setup = '', async = '' }) {
  return {
    'plugin.ts': `
      import { access, column, defineDurableEvent, defineEntity, defineEvent, defineHint, defineJob, defineKind,
        definePlugin, extensionPoint, route, serviceRef, Type } from 'agent-gateway';
      const open = (path) => route({ method: 'GET', path, access: access.public(), summary: 's', handle: () => '${name}' });
      export default definePlugin({
        name: '${name}', summary: 's', kernel: '^1.0.0', ${parts}
        ${async} setup(scope) { ${setup} },
      });`,
  };
}

interface Culprit {
  readonly title: string;
  readonly files: Readonly<Record<string, PluginFiles>>;
  /** Its state, and why, in the end. */
  readonly says: Readonly<Record<string, readonly [state: string, reason: RegExp]>>;
}

const column2 = `entities: [defineEntity({ name: 'Mine', tableName: 'engine_sessions', properties: { id: column.id().primary(), tenantId: column.tenant() } })],`;

/** Each has a name that comes before that of the bundled plugin. */
const CULPRITS: readonly Culprit[] = [
  {
    title: 'serves a route that is taken',
    files: { aroute: acme('aroute', { setup: "scope.route(open('/engine'));" }) },
    says: { aroute: ['failed', /GET \/engine is served by both engine and aroute/] },
  },
  {
    title: 'registers a kind that is taken',
    files: {
      akind: acme('akind', {
        setup:
          "scope.kind(defineKind({ kind: 'Engine', summary: 's', spec: Type.Object({}), build: () => ({}) }));",
      }),
    },
    says: { akind: ['failed', /Engine/] },
  },
  {
    title: 'has a table that is taken',
    files: { atable: acme('atable', { parts: column2 }) },
    says: { atable: ['failed', /engine_sessions.* engine/] },
  },
  {
    title: 'offers a service that is taken',
    files: {
      aservice: acme('aservice', {
        parts: "offers: [serviceRef('engine.guard')],",
        setup: "scope.provide(serviceRef('engine.guard'), {});",
      }),
    },
    says: { aservice: ['failed', /engine\.guard is offered by both engine and aservice/] },
  },
  ...['engine_hook', 'api_key'].map((name) => ({
    title: `checks a credential that is taken, ${name}`,
    files: {
      acredential: acme('acredential', {
        setup: `scope.authenticate({ name: '${name}', places: [{ in: 'header', name: 'x-a' }], authenticate: () => undefined });`,
      }),
    },
    says: {
      acredential: [
        'failed',
        new RegExp(`the credential ${name} is checked by both (?:engine|the gateway) and acredential`),
      ] as const,
    },
  })),
  {
    title: 'works on a job that is taken',
    files: {
      ajob: acme('ajob', {
        setup:
          "scope.worker(defineJob('engine.work', Type.Object({ run_id: Type.String() })), async () => {});",
      }),
    },
    says: { ajob: ['failed', /the job engine\.work is worked on by both engine and ajob/] },
  },
  {
    title: 'takes hints of another',
    files: {
      ahint: acme('ahint', {
        setup:
          "scope.onHint(defineHint('engine.look', Type.Object({ run_id: Type.String() })), async () => {});",
      }),
    },
    says: { ahint: ['failed', /the hint engine\.look is worked on by both engine and ahint/] },
  },
  {
    title: 'means something else by an event that is taken',
    files: {
      aevent: acme('aevent', {
        setup: "scope.on(defineEvent('engine.changed', Type.Object({ run_id: Type.Number() })), () => {});",
      }),
    },
    says: {
      aevent: ['failed', /the event engine\.changed has two meanings, one in engine and one in aevent/],
    },
  },
  {
    title: 'means something else by a durable event that is taken',
    files: {
      adurable: acme('adurable', {
        setup:
          "scope.subscribe(defineDurableEvent('engine.ended', Type.Object({ order: Type.String() })), async () => {});",
      }),
    },
    says: {
      adurable: [
        'failed',
        /the durable-event engine\.ended has two meanings, one in engine and one in adurable/,
      ],
    },
  },
  {
    title: 'contributes something in the name of another',
    files: {
      aname: acme('aname', {
        setup:
          "scope.contribute(extensionPoint('gateway.secret-stores'), { name: 'plugin/engine/vault', read: async () => 'x' });",
      }),
    },
    says: { aname: ['failed', /aname contributes plugin\/engine\/vault: .* called plugin\/aname\/…/] },
  },
  {
    title: 'and another need each other',
    files: {
      acirca: acme('acirca', {
        parts: "needs: { b: serviceRef('acircb.b') }, offers: [serviceRef('acirca.a')],",
      }),
      acircb: acme('acircb', {
        parts: "needs: { a: serviceRef('acirca.a') }, offers: [serviceRef('acircb.b')],",
      }),
    },
    says: {
      acirca: ['waiting', /acircb\.b/],
      acircb: ['failed', /in a circle: (?:acircb → acirca → acircb|acirca → acircb → acirca)/],
    },
  },
  {
    title: 'throws in its set-up',
    files: { athrow: acme('athrow', { setup: "throw new Error('no, password=hunter2secret');" }) },
    says: { athrow: ['failed', /^no, password=\[REDACTED\]/] },
  },
  {
    title: 'cannot be imported',
    files: { aimport: { 'plugin.ts': "import 'chalk-is-not-there';\nexport default 1;" } },
    says: { aimport: ['failed', /chalk-is-not-there/] },
  },
];

const hanging = acme('ahang', { setup: 'return new Promise(() => {});' });

async function startWith(t: ExecutionContext, files: Culprit['files'], leaves = false) {
  const folder = await pluginFolder(t);
  for (const [name, one] of Object.entries(files)) await folder.drop(name, one);
  const begun = performance.now();
  const gateway = await startTestGateway({ plugins: [engine], pluginFolders: [folder.path] });
  // What is left behind is an error of the stop, which the test may look for.
  if (!leaves) t.teardown(gateway.stop);
  return { folder, gateway, took: performance.now() - begun };
}

const report = async (gateway: TestGateway, name: string) =>
  (await gateway.request(`/admin/v1/plugins/${name}`)).body;

async function standsAlone(t: ExecutionContext, gateway: TestGateway, { says, files }: Culprit) {
  for (const [name, [state, reason]] of Object.entries(says)) {
    await until(async () => (await report(gateway, name)).state === state);
    t.regex((await report(gateway, name)).reason, reason);
  }
  t.is((await gateway.request('/engine')).body, 'here');
  t.is((await report(gateway, 'engine')).state, 'active');
  const ready = await gateway.request('/health/ready');
  t.is(ready.status, 200);
  const degraded = ready.body.degraded.map(({ name }: { name: string }) => name);
  t.deepEqual(degraded.toSorted(), Object.keys(files).toSorted());
}

for (const culprit of CULPRITS) {
  test(`one that ${culprit.title}: at a start and dropped in it alone is refused, in the same words`, async (t) => {
    const { gateway } = await startWith(t, culprit.files);
    await standsAlone(t, gateway, culprit);
    for (const [name, [, reason]] of Object.entries(culprit.says)) {
      const told = gateway
        .logs()
        .filter((line) => line.includes(`"plugin":"${name}"`) && line.includes('"level":"error"'));
      t.is(told.length, 1, `the log says once why ${name} does not run:\n${told.join('')}`);
      t.regex(told[0]!, /a plugin (?:does not run|could not be started)/);
      t.regex(JSON.parse(told[0]!).reason ?? JSON.parse(told[0]!).err.message, reason);
    }
    const running = await startWith(t, {});
    for (const [name, one] of Object.entries(culprit.files)) {
      await running.folder.drop(name, one);
      // One after the other: of two that claim the same the first has it.
      await until(async () => (await report(running.gateway, name)).state !== undefined);
    }
    await standsAlone(t, running.gateway, culprit);
  });
}

test('one whose set-up hangs delays neither the start, nor changes of others, nor the stop', async (t) => {
  const patient = acme('bother', {
    parts: "wants: { a: serviceRef('ahang.thing') },",
    setup: "scope.route(open('/bother'));",
  });
  const { gateway, folder, took } = await startWith(t, { ahang: hanging, bother: patient });
  t.true(took < 20_000, `${took} ms`);
  t.is((await report(gateway, 'ahang')).state, 'starting');
  t.is((await gateway.request('/bother')).status, 200);
  await folder.drop('alater', acme('alater', { setup: "scope.route(open('/later'));" }));
  await until(async () => (await gateway.request('/later')).status === 200, 10_000);
  for (const verb of ['reload', 'disable', 'enable']) {
    const { status, body } = await gateway.request(`/admin/v1/plugins/alater/${verb}`, { method: 'POST' });
    t.is(status, 200, JSON.stringify(body));
  }
  t.is((await report(gateway, 'ahang')).state, 'starting', 'still, so it was no hindrance');
  await folder.drop('aneeds', acme('aneeds', { parts: "needs: { a: serviceRef('ahang.thing') }," }));
  await until(async () => (await report(gateway, 'aneeds')).state === 'waiting');
  const begun = performance.now();
  await gateway.stop();
  t.true(performance.now() - begun < 15_000);
});

test('what a plugin was waiting for makes it start, also when that took long', async (t) => {
  const slow = acme('aslow', {
    parts: "offers: [serviceRef('aslow.thing')],",
    async: 'async',
    setup:
      "await new Promise((done) => setTimeout(done, 6_500)); scope.provide(serviceRef('aslow.thing'), {}); scope.route(open('/slow'));",
  });
  const needs = acme('aneeds', {
    parts: "needs: { a: serviceRef('aslow.thing') },",
    setup: "scope.route(open('/needs'));",
  });
  const { gateway } = await startWith(t, { aslow: slow, aneeds: needs });
  t.is((await report(gateway, 'aslow')).state, 'starting', 'the start has not waited');
  await until(async () => (await gateway.request('/needs')).status === 200);
  t.is((await report(gateway, 'aneeds')).state, 'active');
  t.is((await gateway.request('/slow')).status, 200);
});

test('an interval and a server that a plugin leaves behind are ended with it, and told with their lines', async (t) => {
  const leaking = acme('aleak', {
    async: 'async',
    setup: `const { createServer } = await import('node:net');
      globalThis.aleak = 0;
      setInterval(() => { globalThis.aleak += 1; }, 20);
      const kept = setInterval(() => {}, 10);
      scope.defer(() => clearInterval(kept));
      globalThis.aleakServer = createServer().listen(0, '127.0.0.1');`,
  });
  const { gateway } = await startWith(t, { aleak: leaking }, true);
  const seen = globalThis as unknown as { aleak: number; aleakServer: { listening: boolean } };
  await until(() => seen.aleak > 0 && seen.aleakServer.listening);
  await gateway.request('/admin/v1/plugins/aleak/disable', { method: 'POST' });
  const { leaks } = await report(gateway, 'aleak');
  t.is(leaks.length, 2, JSON.stringify(leaks));
  t.regex(leaks[0], /^an interval of 20 ms was left \(plugin\.ts:\d+\)$/);
  t.regex(leaks[1], /^a server that listens was left \(plugin\.ts:\d+\)$/);
  t.false(seen.aleakServer.listening);
  const { aleak } = seen;
  await new Promise((done) => setTimeout(done, 60));
  t.is(seen.aleak, aleak);
  await t.throwsAsync(gateway.stop, { message: /left something behind: aleak/ });
});

test('an event loop that is blocked is in the log, with the plugin whose call ran', async (t) => {
  const blocking = acme('ablock', {
    setup: `scope.route(route({ method: 'GET', path: '/block', access: access.public(), summary: 's', handle: () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_800); return 1; } }));`,
  });
  const { gateway } = await startWith(t, { ablock: blocking });
  await new Promise((done) => setTimeout(done, 600));
  t.is((await gateway.request('/block')).status, 200);
  const line = () => gateway.logs().find((one) => one.includes('the event loop was blocked'));
  await until(() => line() !== undefined);
  const { ms, plugins } = JSON.parse(line()!);
  t.true(ms >= 1_000, String(ms));
  t.true(plugins.includes('ablock'), String(plugins));
});
