import test from 'ava';
import Type from 'typebox';
import { createValidator } from '../../../foundation/base/json-schema.ts';

const Message = Type.Object({
  role: Type.Enum(['user', 'system']),
  content: Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))]),
});

test('every bad field is told, with its place', (t) => {
  const validate = createValidator(
    Type.Object({
      name: Type.String({ minLength: 1 }),
      age: Type.Integer(),
      tags: Type.Array(Type.String()),
    }),
    'body',
  );
  t.deepEqual(validate({ name: '', tags: [1] }), [
    { pointer: '/body/age', message: 'is required' },
    { pointer: '/body/name', message: 'must NOT have fewer than 1 characters' },
    { pointer: '/body/tags/0', message: 'must be string' },
  ]);
});

test('of a choice the deepest complaint is told, or that none of its forms fits', (t) => {
  const validate = createValidator(Message, 'body');
  t.deepEqual(validate({ role: 'user', content: [{ kind: 'x' }] }), [
    { pointer: '/body/content/0/type', message: 'is required' },
  ]);
  t.deepEqual(validate({ role: 'user', content: 7 }), [
    { pointer: '/body/content', message: 'has none of the allowed forms' },
  ]);
  t.deepEqual(validate({ role: 'robot', content: '' }), [
    { pointer: '/body/role', message: 'must be one of "user", "system"' },
  ]);
});

test('strings of a query are coerced, those of a body are not', (t) => {
  const schema = Type.Object({ limit: Type.Integer({ minimum: 0, default: 50 }) });
  const query: Record<string, unknown> = { limit: '7' };
  t.deepEqual(createValidator(schema, 'query')(query), []);
  t.is(query.limit, 7);
  t.deepEqual(createValidator(schema, 'body')({ limit: '7' }), [
    { pointer: '/body/limit', message: 'must be integer' },
  ]);
  t.is(createValidator(schema, 'query')({ limit: 'abc' })[0]?.pointer, '/query/limit');
  t.is(createValidator(schema, 'query')({ limit: '-1' })[0]?.message, 'must be >= 0');
  t.is(createValidator(schema, 'query')({ limit: '1.5' })[0]?.message, 'must be integer');
});

test('defaults are filled in', (t) => {
  const query: Record<string, unknown> = {};
  createValidator(Type.Object({ limit: Type.Integer({ default: 50 }) }), 'query')(query);
  t.is(query.limit, 50);
});

test('of a huge value the first bad field is told, at once', (t) => {
  const validate = createValidator(Type.Object({ items: Type.Array(Type.String()) }), 'body');
  const errors = validate({ items: new Array(1_000_000).fill(0) });
  t.deepEqual(errors, [{ pointer: '/body/items/0', message: 'must be string' }]);
});

for (const text of ['1e3', ' 1', '1.0', '0x10', '+5', '']) {
  test(`"${text}" in a query is no integer`, (t) => {
    const isFine = createValidator(Type.Object({ limit: Type.Integer({ minimum: 0 }) }), 'query');
    t.deepEqual(isFine({ limit: text }), [{ pointer: '/query/limit', message: 'must be integer' }]);
  });
}

test('a pattern is told in the words of its schema', (t) => {
  const name = Type.String({ pattern: '^[a-z]+$', patternErrorMessage: 'must be lower case' });
  const validate = createValidator(
    Type.Object({ name, tags: Type.Array(name), plain: Type.Optional(Type.String({ pattern: '^x' })) }),
    'body',
  );
  t.deepEqual(validate({ name: 'A', tags: ['a', 'B'], plain: 'y' }), [
    { pointer: '/body/name', message: 'must be lower case' },
    { pointer: '/body/tags/1', message: 'must be lower case' },
    { pointer: '/body/plain', message: 'must match pattern "^x"' },
  ]);
});

test('a member that is not known is told with the one that was probably meant', (t) => {
  const closed = { additionalProperties: false };
  const validate = createValidator(
    Type.Object(
      { input: Type.Optional(Type.Object({ size: Type.Optional(Type.Integer()) }, closed)) },
      closed,
    ),
    'body',
  );
  t.deepEqual(validate({ inputs: {}, 'odd/one': 1, input: { siz: 1 } }), [
    { pointer: '/body/inputs', message: 'is not known here, did you mean input?' },
    { pointer: '/body/odd~1one', message: 'is not known here' },
    { pointer: '/body/input/siz', message: 'is not known here, did you mean size?' },
  ]);
});
