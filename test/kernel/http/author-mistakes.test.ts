import test from 'ava';
import { Type } from '../../../foundation/base/type.ts';
import { access } from '../../../kernel/api/access.ts';
import { PersonalDataPoint, RetentionPoint } from '../../../kernel/api/points.ts';
import { extensionPoint } from '../../../kernel/api/refs.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { type Route, route } from '../../../kernel/api/route.ts';
import type { Scope } from '../../../kernel/api/scope.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { pluginFolder } from '../../support/plugin-folder.ts';
import { publicRoute, testPlugin } from '../../support/plugins.ts';

const declared = (path: string, handle: Route['handle']) =>
  route({
    method: 'GET',
    path,
    access: access.public(),
    summary: 'test',
    schema: { responses: { 200: Type.Object({}) } },
    handle,
  });

const MISTAKES: readonly (readonly [string, Route, RegExp])[] = [
  ['a function', publicRoute('/x/{id}', () => () => ({})), /a function, which is no JSON/],
  ['a symbol in a reply', publicRoute('/x/{id}', () => reply.json(200, Symbol('x'))), /a symbol/],
  ['the status 799', publicRoute('/x/{id}', () => reply.json(799, {})), /200 to 599, not 799/],
  ['the status 101', publicRoute('/x/{id}', () => reply.empty(101)), /200 to 599, not 101/],
  ['nothing where a body is declared', declared('/x/{id}', () => undefined), /returned nothing/],
];

for (const [what, mistaken, reason] of MISTAKES) {
  test(`${what} is a 500, with a line that names plugin and route`, async (t) => {
    const plugin = testPlugin('acme', { setup: (scope) => scope.route(mistaken) });
    await using gateway = await startTestGateway({ plugins: [plugin] });
    const { status, headers } = await gateway.request('/x/4711');
    t.is(status, 500);
    t.is(headers.get('content-type'), 'application/problem+json');
    const line = gateway
      .logs()
      .map((text) => JSON.parse(text))
      .find(({ level, route }) => route && level !== 'info');
    t.like(line, { plugin: 'acme', route: '/x/{id}' });
    t.regex(line.err.message, reason);
  });
}

test('in production a handler without an answer answers null', async (t) => {
  const plugin = testPlugin('acme', { setup: (scope) => scope.route(declared('/x', () => undefined)) });
  await using gateway = await startTestGateway({ plugins: [plugin], env: { NODE_ENV: 'production' } });
  const { status, body } = await gateway.request('/x');
  t.deepEqual([status, body], [200, null]);
});

test('a handler may take its call apart', async (t) => {
  const taken = route({
    method: 'GET',
    path: '/x',
    access: access.role('user'),
    summary: 'test',
    handle: ({ entities, audit, traceHeaders }) => {
      audit({ sessionId: 's1' });
      return { tenant: entities().tenantId, trace: Object.keys(traceHeaders()) };
    },
  });
  const plugin = testPlugin('acme', { setup: (scope) => scope.route(taken) });
  await using gateway = await startTestGateway({ plugins: [plugin] });
  t.is((await gateway.request('/x')).status, 200);
});

test('a contribution to a point that no plugin has is one warning with the nearest name', async (t) => {
  const point = extensionPoint<number>('acme.tools');
  const plugins = [
    testPlugin('acme', { points: [point], setup: (scope) => void scope.contributions(point) }),
    testPlugin('mistaken', {
      setup(scope) {
        scope.contribute(extensionPoint('acme.toolz'), 1);
        scope.contribute(extensionPoint('acme.toolz'), 2);
        scope.contribute(extensionPoint('elsewhere.things'), 3);
        scope.contribute(point, 4);
      },
    }),
  ];
  await using gateway = await startTestGateway({ plugins });
  const warnings = gateway
    .logs()
    .map((line) => JSON.parse(line))
    .filter(({ point }) => point !== undefined);
  t.deepEqual(
    warnings.map(({ plugin, msg }) => [plugin, msg]),
    [
      ['mistaken', 'no plugin has the extension point acme.toolz, did you mean acme.tools?'],
      ['mistaken', 'no plugin has the extension point elsewhere.things'],
    ],
  );
});

test('a contribution is no mistake where its reader does not run: a point of the gateway, and one of a plugin that is off', async (t) => {
  const folder = await pluginFolder(t);
  await folder.save('reader', { 'plugin.ts': `throw new Error('A plugin that is off is not read.');` });
  const giver = testPlugin('giver', {
    setup(scope) {
      scope.contribute(extensionPoint('reader.parts'), 1);
      scope.contribute(PersonalDataPoint, { name: 'giver', sections: [], erase: async () => ({}) });
      scope.contribute(extensionPoint('gateway.personal-date'), 1);
    },
  });
  await using gateway = await startTestGateway({
    plugins: [giver],
    pluginFolders: [folder.path],
    yaml: 'plugins: {reader: {enabled: false}}',
  });
  const warned = gateway.logs().filter((line) => line.includes('extension point'));
  t.deepEqual(
    warned.map((line) => JSON.parse(line).msg),
    ['no plugin has the extension point gateway.personal-date, did you mean gateway.personal-data?'],
  );
});

const Parts = extensionPoint<{ name: string; make(): void; end?(): void; rows: readonly { read(): void }[] }>(
  'acme.parts',
  { name: 'text', make: 'function', end: 'function?', rows: [{ read: 'function' }] },
);
const Tuned = extensionPoint<{ name: string; limits?: number }>('acme.tuned', {
  name: 'text',
  limits: 'any?',
});
const PART = { name: 'a', make: () => {}, rows: [{ read: () => {} }] };
const CONTRIBUTIONS: readonly (readonly [string, unknown, string])[] = [
  ['a text', 'a part', '"the value" is "a part", and should be an object'],
  ['no name', { ...PART, name: '' }, '"name" is "", and should be a text that is not empty'],
  ['no function', { ...PART, make: {} }, '"make" is an object, and should be a function'],
  ['an optional function that is none', { ...PART, end: null }, '"end" is null, and should be a function'],
  ['no list', { ...PART, rows: {} }, '"rows" is an object, and should be a list'],
  [
    'a bad element',
    { ...PART, rows: [...PART.rows, { read: 1 }] },
    '"rows.1.read" is 1, and should be a function',
  ],
  ['an element that is none', { ...PART, rows: [null] }, '"rows.0" is null, and should be an object'],
  [
    'a misspelled member that may be missing',
    { ...PART, ends() {} },
    'there is no member "ends", did you mean "end"?',
  ],
  [
    'one of an element',
    { ...PART, rows: [{ ...PART.rows[0], reads: 1 }], ennd() {} },
    'there is no member "ennd", did you mean "end"?',
  ],
];

test('a contribution may have members beside those that its point knows, also of a similar name', async (t) => {
  const acme = testPlugin('acme', { points: [Tuned], setup: (scope) => void scope.contributions(Tuned) });
  const giving = (name: string, value: object) =>
    testPlugin(name, { setup: (scope) => scope.contribute(extensionPoint<unknown>(Tuned.id), value) });
  const plugins = [
    acme,
    giving('right', { name: 'a', names: [], limits: 7, limit: 8, remark: 'of the author' }),
    giving('wrong', { name: 'a', limtis: 7 }),
  ];
  await using gateway = await startTestGateway({ plugins });
  const told = async (name: string) => (await gateway.request(`/admin/v1/plugins/${name}`)).body;
  t.is((await told('right')).state, 'active');
  t.is(
    (await told('wrong')).reason,
    'wrong contributes to acme.tuned: there is no member "limtis", did you mean "limits"?',
  );
});

test('a misspelled member of what the gateway’s own points and kinds take fails the set-up', async (t) => {
  const records = {
    name: 'rows',
    summary: 'Rows',
    count: async () => 0,
    deleteBefore: async function* () {},
  };
  const mistakes: readonly [string, (scope: Scope) => void, string][] = [
    [
      'retention',
      (scope) =>
        scope.contribute(RetentionPoint, { ...records, sizes: async () => new Map(), kepFor: 7 } as never),
      'retention contributes to gateway.retained-records: there is no member "kepFor", did you mean "keptFor"?',
    ],
    [
      'kinds',
      (scope) => {
        const spec = Type.Object({});
        scope.kind({ kind: 'Note', summary: 'A note', spec, build: () => 1, dispsoe() {} } as never);
      },
      'kinds registers the kind Note: there is no member "dispsoe", did you mean "dispose"?',
    ],
    [
      'doors',
      (scope) => scope.authenticate({ name: 'hook', needBody: true, authenticate: () => undefined } as never),
      'doors: hook: there is no member "needBody", did you mean "needsBody"?',
    ],
    [
      'gates',
      (scope) => {
        const place = [{ in: 'header', name: 'x-signature' }];
        scope.authenticate({ name: 'hook', needsBody: true, place, authenticate: () => undefined } as never);
      },
      'gates: hook: there is no member "place", did you mean "places"?',
    ],
    [
      'hatches',
      (scope) =>
        scope.authenticate({ name: 'hook', needsBody: true, authenticate: () => undefined } as never),
      'hatches: hook sees bodies, and names no place',
    ],
  ];
  const plugins = mistakes.map(([name, setup]) => testPlugin(name, { setup }));
  await using gateway = await startTestGateway({ plugins });
  for (const [name, , reason] of mistakes)
    t.is((await gateway.request(`/admin/v1/plugins/${name}`)).body.reason, reason);
});

test('kinds and credentials may be of classes, whose own members have names like theirs', async (t) => {
  class Notes {
    readonly kind = 'Note';
    readonly summary = 'A note';
    readonly spec = Type.Object({});
    readonly built = new Set<number>();
    readonly checks = 0;
    check = () => [];
    build = () => this.built.size;
  }
  class Hook {
    readonly name = 'hook';
    readonly places = [{ in: 'header', name: 'x-signature' }] as const;
    readonly place = 'x-signature';
    authenticate = () => undefined;
  }
  const classy = testPlugin('classy', {
    setup(scope) {
      scope.kind(new Notes());
      scope.authenticate(new Hook());
    },
  });
  await using gateway = await startTestGateway({ plugins: [classy] });
  t.like((await gateway.request('/admin/v1/plugins/classy')).body, { state: 'active' });
});

test('a definition with a member that there is not is refused, also in a test of its author', async (t) => {
  const silent = { ...testPlugin('silent'), rotues: [] };
  const newer = { ...testPlugin('newer', { kernel: '^9.0.0' }), rotues: [] };
  await using gateway = await startTestGateway({ plugins: [silent, newer] });
  const told = async (name: string) => (await gateway.request(`/admin/v1/plugins/${name}`)).body.reason;
  t.regex(await told('silent'), /^there is no member "rotues"; a definition has name, summary, /);
  t.regex(await told('newer'), /^newer works with kernel \^9\.0\.0; this one is /);
});

test('a contribution that has not the members that its point asks for fails the set-up of its plugin alone', async (t) => {
  const acme = testPlugin('acme', { points: [Parts], setup: (scope) => void scope.contributions(Parts) });
  // Its author knows the point by its id, and says nothing of a form.
  const point = extensionPoint<unknown>(Parts.id);
  const mistaken = CONTRIBUTIONS.map(([, value], index) =>
    testPlugin(`mistaken-${index}`, { setup: (scope) => scope.contribute(point, value) }),
  );
  const right = testPlugin('right', { setup: (scope) => scope.contribute(point, PART) });
  await using gateway = await startTestGateway({ plugins: [acme, ...mistaken, right] });
  const told = async (name: string) => (await gateway.request(`/admin/v1/plugins/${name}`)).body;
  for (const [index, [what, , problem]] of CONTRIBUTIONS.entries())
    t.is(
      (await told(`mistaken-${index}`)).reason,
      `mistaken-${index} contributes to acme.parts: ${problem}`,
      what,
    );
  for (const name of ['acme', 'right']) t.is((await told(name)).state, 'active');
});
