import test from 'ava';
import TypeBox from 'typebox';
import { Type } from '../../../foundation/base/type.ts';

/** A schema's members in order, and its marks, which come in any. */
function seen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(seen);
  const members = Object.entries(Object.getOwnPropertyDescriptors(value));
  return {
    shown: members.filter(([, one]) => one.enumerable).map(([name, one]) => [name, seen(one.value)]),
    marks: Object.fromEntries(
      members.filter(([, one]) => !one.enumerable).map(([name, one]) => [name, one.value]),
    ),
  };
}

/** What is written with either. */
const samples: Readonly<Record<string, (T: typeof Type) => unknown>> = {
  'plain types': (T) => [T.Boolean(), T.Integer(), T.Null(), T.Number(), T.String(), T.Unknown()],
  'plain types with options': (T) => [
    T.Boolean({ default: true }),
    T.Integer({ minimum: 1 }),
    T.Null({ description: 'a' }),
    T.Number({ maximum: 2.5 }),
    T.String({ pattern: '^a$', description: 'a' }),
    T.Unknown({ title: 'a' }),
  ],
  'an option that names a type': (T) => T.String({ type: ['string', 'null'] as never }),
  literals: (T) => [T.Literal('a'), T.Literal(1), T.Literal(true, { description: 'a' })],
  enums: (T) => [T.Enum(['a', 'b']), T.Enum(['a'], { default: 'a' })],
  unions: (T) => [T.Union([T.String(), T.Null()]), T.Union([T.String()], { description: 'a' })],
  arrays: (T) => [T.Array(T.String()), T.Array(T.Array(T.Integer()), { maxItems: 3 })],
  records: (T) => [
    T.Record(T.String(), T.Unknown()),
    T.Record(T.String({ pattern: '^[a-z]$' }), T.String(), { maxProperties: 2, description: 'a' }),
  ],
  objects: (T) => [
    T.Object({}),
    T.Object({ a: T.String(), b: T.Optional(T.Integer({ minimum: 1 })) }, { additionalProperties: false }),
    T.Object({ a: T.Optional(T.String()) }),
  ],
  'optional members': (T) => [T.Optional(T.String()), T.Optional(T.Optional(T.String()))],
  'partial objects': (T) => [
    T.Partial(T.Object({ a: T.String(), b: T.Optional(T.String()) })),
    T.Partial(T.Object({ a: T.String() }), { description: 'a' }),
  ],
  'schemas of their own': (T) => [
    T.Unsafe({ type: ['string', 'null'] }),
    T.Unsafe(T.String()),
    T.Unsafe({ ...T.Array(T.String()), type: ['array', 'null'] }),
    T.Object({ a: T.Unsafe({ enum: [1, null] }) }),
  ],
};

for (const [title, write] of Object.entries(samples)) {
  test(`${title} are what TypeBox makes`, (t) => {
    t.deepEqual(seen(write(Type)), seen(write(TypeBox)));
  });
}

test('a member of the one is one of the other', (t) => {
  const own = Type.Object({ a: Type.Optional(Type.String()), b: Type.String() });
  t.deepEqual(seen(TypeBox.Object(own.properties)), seen(own));
  const given = TypeBox.Object({ a: TypeBox.Optional(TypeBox.String()), b: TypeBox.String() });
  t.deepEqual(seen(Type.Object(given.properties)), seen(given));
  t.deepEqual(seen(TypeBox.Partial(own)), seen(Type.Partial(given)));
});

test('a schema that is made optional stays what it was', (t) => {
  const text = Type.String();
  Type.Optional(text);
  t.deepEqual(Type.Object({ text }).required, ['text']);
});
