import test from 'ava';
import Type from 'typebox';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { checkGraph } from '../../../../../plugins/workflow/services/graph/check-graph.ts';
import { usableConfig } from '../../../../../plugins/workflow/services/graph/config-schema.ts';
import { around, nodeType, nodeTypes } from './kit.ts';

const closed = { additionalProperties: false };
const Schema = Type.Object(
  {
    name: Type.String(),
    list: Type.Optional(Type.Array(Type.Object({ size: Type.Integer() }, closed))),
    box: Type.Optional(
      Type.Object(
        { lid: Type.Optional(Type.Object({ key: Type.String() })), 'a/b~': Type.Optional(Type.String()) },
        closed,
      ),
    ),
    form: Type.Optional(Type.Union([Type.String(), Type.Object({ deep: Type.Integer() })])),
  },
  closed,
);

const ROWS: readonly [title: string, given: JsonObject, config: JsonObject, without: readonly string[]][] = [
  ['nothing of a good one', { name: 'a', list: [{ size: 1 }] }, { name: 'a', list: [{ size: 1 }] }, []],
  ['a member of the wrong type', { name: 7, box: {} }, { box: {} }, ['/name']],
  ['what is missing is told', { box: {} }, { box: {} }, ['/name']],
  ['a member that is not known', { name: 'a', extra: 1 }, { name: 'a' }, ['/extra']],
  [
    'a member inside',
    { name: 'a', box: { 'a/b~': 7, lid: { key: 'k' } } },
    { name: 'a', box: { lid: { key: 'k' } } },
    ['/box/a~1b~0'],
  ],
  [
    'an object that is nothing without it',
    { name: 'a', box: { lid: { key: 7 } } },
    { name: 'a', box: {} },
    ['/box/lid/key', '/box/lid'],
  ],
  ['an object that lacks something', { name: 'a', box: { lid: {} } }, { name: 'a', box: {} }, ['/box/lid']],
  ['a whole array', { name: 'a', list: [{ size: 1 }, { size: 'x' }] }, { name: 'a' }, ['/list']],
  ['what has none of several forms', { name: 'a', form: { deep: 'x' } }, { name: 'a' }, ['/form']],
];

for (const [title, given, config, without] of ROWS) {
  test(`of a configuration is taken out: ${title}`, (t) => {
    const before = structuredClone(given);
    t.deepEqual(usableConfig(Schema, given), { config, without });
    t.deepEqual(given, before);
  });
}

test('a member named like the prototype is a member', (t) => {
  const given = JSON.parse('{"name": "a", "__proto__": {"x": 1}}') as JsonObject;
  t.deepEqual(usableConfig(Schema, given), { config: { name: 'a' }, without: ['/__proto__'] });
});

test('nothing is left where the schema refuses the whole, or very much', (t) => {
  t.is(usableConfig(Type.Object({}, { maxProperties: 1 }), { a: 1, b: 2 }), undefined);
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`m${n}`, 1]));
  t.is(usableConfig(Type.Record(Type.String(), Type.String()), many), undefined);
});

/** Rules that a type breaks with this configuration, and the configurations that its check was asked with. */
function asked(
  config: JsonObject,
  check: (config: JsonObject) => readonly { pointer: string; message: string }[],
) {
  const seen: JsonObject[] = [];
  const type = nodeType({
    type: 'a/b',
    config: Schema,
    check: (given) => {
      seen.push(given);
      return check(given);
    },
  });
  const problems = checkGraph(around({ type: 'a/b', config }), nodeTypes(type));
  return { seen, pointers: problems.map(({ pointer }) => pointer.replace('/nodes/1/config', '')) };
}

test('the check of a type meets the types that its schema promises, and repeats no fault', (t) => {
  const told = ['', '/name', '/name/x', '/named', '/box'].map((pointer) => ({ pointer, message: 'is odd.' }));
  t.deepEqual(
    asked({ name: 7, box: {} }, () => told),
    {
      seen: [{ box: {} }],
      pointers: ['/name', '/named', '/box'],
    },
  );
  t.deepEqual(asked({ name: 'a' }, () => told).pointers, ['', '/name', '/name/x', '/named', '/box']);
});

test('a check that cannot do without what is missing does no harm; else what it throws counts', (t) => {
  const broken = () => {
    throw new TypeError('broken');
  };
  t.deepEqual(asked({}, broken).pointers, ['/name']);
  t.throws(() => asked({ name: 'a' }, broken), { message: 'broken' });
});
