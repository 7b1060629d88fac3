import test from 'ava';
import fc from 'fast-check';
import Type from 'typebox';
import { compileSchema } from '../../../foundation/base/json-schema.ts';
import { exampleOf, markedExampleOf, withExample } from '../../../foundation/base/schema-example.ts';

const own = Type.String({ examples: ['Acme'] });
const cases: readonly (readonly [what: string, schema: unknown, example: unknown])[] = [
  ['the example of a schema', own, 'Acme'],
  ['an example as OpenAPI has it', Type.Unsafe({ type: 'string', example: 'Acme' }), 'Acme'],
  ['a constant', Type.Literal(7), 7],
  ['a default', Type.Integer({ default: 50 }), 50],
  ['the first of an enumeration', Type.Enum(['a', 'b']), 'a'],
  ['a format', Type.String({ format: 'date' }), '2030-01-31'],
  ['bounds of a text', Type.String({ minLength: 8, maxLength: 9 }), 'stringxx'],
  ['a short text', Type.String({ maxLength: 3 }), 'str'],
  ['a pattern that any text fits', Type.String({ pattern: '^[a-z]+$' }), 'string'],
  ['a pattern that none of ours fits', Type.String({ pattern: '^\\d+$' }), undefined],
  ['a pattern with an example', Type.String({ pattern: '^\\d+$', examples: ['7'] }), '7'],
  ['what is no pattern', Type.String({ pattern: '(' }), undefined],
  ['a least number', Type.Integer({ minimum: 3 }), 3],
  ['a number above', Type.Number({ exclusiveMinimum: 3 }), 4],
  ['a number between', Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 0.5 }), 0.25],
  ['a multiple', Type.Integer({ minimum: 7, multipleOf: 5 }), 10],
  ['no number', Type.Integer({ exclusiveMinimum: 3, exclusiveMaximum: 4 }), undefined],
  ['what may be null', Type.Union([Type.String(), Type.Null()]), null],
  ['the same with an example', Type.Union([own, Type.Null()], { examples: ['Acme'] }), 'Acme'],
  ['the same as a list of types', Type.Unsafe({ ...own, type: ['string', 'null'] }), 'Acme'],
  ['the first form that has one', Type.Union([Type.String({ pattern: '^\\d$' }), Type.Boolean()]), true],
  [
    'all of several',
    Type.Intersect([Type.Object({ a: own }), Type.Object({ b: Type.Literal(1) })]),
    { a: 'Acme', b: 1 },
  ],
  ['a list', Type.Array(own), ['Acme']],
  ['a list of several', Type.Array(own, { minItems: 2 }), ['Acme', 'Acme']],
  ['a list of different ones', Type.Array(own, { minItems: 2, uniqueItems: true }), undefined],
  ['a list of what has none', Type.Array(Type.String({ pattern: '^\\d$' })), []],
  ['a tuple', Type.Tuple([own, Type.Integer()]), ['Acme', 1]],
  [
    'a tuple with a place that has none',
    Type.Tuple([Type.Integer(), Type.String({ pattern: '^\\d$' })]),
    undefined,
  ],
  [
    'what refers to itself',
    Type.Cyclic({ A: Type.Object({ a: Type.Array(Type.Ref('A')) }) }, 'A'),
    undefined,
  ],
  ['what nothing fits', Type.Never(), undefined],
  [
    'a list that has to hold something',
    Type.Unsafe({ type: 'array', contains: { type: 'string' } }),
    undefined,
  ],
  ['any JSON', Type.Unknown(), {}],
  ['a record', Type.Record(Type.String(), Type.Integer()), {}],
  ['a record that is not empty', Type.Unsafe({ type: 'object', minProperties: 1 }), undefined],
  [
    'members that are needed, and optional ones that have an example',
    Type.Object({ a: own, b: Type.Optional(own), c: Type.Optional(Type.String()) }),
    { a: 'Acme', b: 'Acme' },
  ],
  ['a member that has none', Type.Object({ a: Type.String({ pattern: '^\\d$' }) }), undefined],
  ['an example of the whole', Type.Object({ a: own }, { examples: [{ a: 'b' }] }), { a: 'b' }],
  ['what it is documented as', Type.Unsafe({ documentedAs: own }), 'Acme'],
];

for (const [what, schema, example] of cases) {
  test(`the example of ${what}`, (t) => {
    t.deepEqual(exampleOf(schema), example);
  });
}

test('an example fits its schema', (t) => {
  const leaf = fc.oneof(
    fc
      .record({ minLength: fc.nat(9), maxLength: fc.integer({ min: 9, max: 20 }) })
      .map((is) => Type.String(is)),
    fc
      .record({ minimum: fc.integer(), multipleOf: fc.integer({ min: 1, max: 9 }) })
      .map((is) => Type.Integer(is)),
    fc
      .record({ minimum: fc.integer({ max: 0 }), exclusiveMaximum: fc.integer({ min: 1 }) })
      .map((is) => Type.Number(is)),
    fc.constantFrom(Type.Boolean(), Type.Null(), Type.Enum(['a', 'b']), Type.String({ format: 'uuid' })),
  );
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaf,
      tie('schema').map((items) => Type.Array(items as ReturnType<typeof Type.String>, { minItems: 1 })),
      fc
        .dictionary(fc.stringMatching(/^[a-z]{1,3}$/), tie('schema'))
        .map((members) => Type.Object(members as Record<string, ReturnType<typeof Type.String>>)),
      fc
        .array(tie('schema'), { minLength: 1, maxLength: 3 })
        .map((forms) => Type.Union(forms as ReturnType<typeof Type.String>[])),
    ),
  }));
  fc.assert(
    fc.property(schema, (one) => {
      t.deepEqual(compileSchema(one as object)(exampleOf(one)), []);
    }),
  );
});

test('a marked example has the mark in its texts, whatever examples there are', (t) => {
  const schema = Type.Object({
    a: own,
    b: Type.Optional(own),
    c: Type.String({ maxLength: 3 }),
    d: Type.Union([Type.String(), Type.Null()]),
    e: Type.String({ pattern: '^\\d$', examples: ['7'] }),
    f: Type.Unknown(),
  });
  t.deepEqual(markedExampleOf(schema, 'mark'), { a: 'mark', c: 'mar', d: 'mark', e: '7', f: 'mark' });
});

test('an example may differ in some members', (t) => {
  const schema = Type.Object({ name: own, state: Type.Enum(['on', 'off']) }, { description: 'd' });
  const other = withExample(schema, { state: 'off' });
  t.deepEqual(
    [exampleOf(schema), exampleOf(other)],
    [
      { name: 'Acme', state: 'on' },
      { name: 'Acme', state: 'off' },
    ],
  );
  t.is((other as { description?: string }).description, 'd');
});
