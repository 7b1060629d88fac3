import test from 'ava';
import Type from 'typebox';
import { compileSchema, createValidator, payloadProblem } from '../../../foundation/base/json-schema.ts';

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
    { pointer: '/body/name', message: 'must have at least 1 character' },
    { pointer: '/body/tags/0', message: 'must be string' },
  ]);
});

test('of a choice the deepest complaint is told, or what its forms are', (t) => {
  const validate = createValidator(Message, 'body');
  t.deepEqual(validate({ role: 'user', content: [{ kind: 'x' }] }), [
    { pointer: '/body/content/0/type', message: 'is required' },
  ]);
  t.deepEqual(validate({ role: 'user', content: 7 }), [
    { pointer: '/body/content', message: 'must be string or array' },
  ]);
  t.deepEqual(validate({ role: 'robot', content: '' }), [
    { pointer: '/body/role', message: 'must be one of "user", "system"' },
  ]);
});

const Kind = Type.Union([Type.Literal('made'), Type.Literal('lost')]);
const Closed = Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: false });
const CHOICES: readonly [what: string, schema: Type.TSchema, value: unknown, message: string][] = [
  ['another constant', Kind, 'found', 'must be one of "made", "lost"'],
  ['a value of another type than the constants', Kind, 7, 'must be one of "made", "lost"'],
  ['a number above its bound', Type.Union([Type.Number({ maximum: 1 }), Type.Null()]), 5, 'must be <= 1'],
  [
    'a long text',
    Type.Union([Type.String({ maxLength: 2 }), Type.Null()]),
    'abc',
    'must have at most 2 characters',
  ],
  [
    'none of three types',
    Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]),
    7,
    'must be string, array, or null',
  ],
  ['none of a list of types', Type.Unsafe({ type: ['number', 'null'] }), 'hot', 'must be number or null'],
  [
    'a text of two forms',
    Type.Union([Type.String({ pattern: '^a' }), Type.String({ pattern: '^b' })]),
    'c',
    'has none of the allowed forms',
  ],
  ['a member of the object', Type.Union([Closed, Type.Null()]), { b: 1 }, 'has none of the allowed forms'],
  ['a constant of a choice in it', Type.Union([Kind, Type.Null()]), 'found', 'must be one of "made", "lost"'],
];

for (const [what, schema, value, message] of CHOICES) {
  test(`of a choice that does not take ${what} it is told why`, (t) => {
    for (const wanted of [schema, Type.Array(schema)]) {
      const isList = wanted !== schema;
      const validate = createValidator(Type.Object({ it: wanted }), 'body');
      const pointer = isList ? '/body/it/0' : '/body/it';
      t.deepEqual(validate({ it: isList ? [value] : value }), [{ pointer, message }]);
    }
  });
}

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

test('a number of a query is written in digits, and no larger than numbers are', (t) => {
  const validate = createValidator(Type.Object({ ratio: Type.Number() }), 'query');
  for (const ratio of ['0', '-1', '0.5', '.5', '1.', '1.0', '1e-3', '2.5E+10'])
    t.deepEqual(validate({ ratio }), [], ratio);
  for (const ratio of [
    'Infinity',
    '-Infinity',
    '1e309',
    '1'.repeat(310),
    '0x10',
    '0b1',
    ' 1',
    '',
    '.',
    'NaN',
  ])
    t.deepEqual(validate({ ratio }), [{ pointer: '/query/ratio', message: 'must be number' }], ratio);
});

test('members with the names of what every object inherits are told apart from that', (t) => {
  const optional = Type.Object({ constructor: Type.Optional(Type.String()) });
  t.deepEqual(createValidator(optional, 'body')({}), []);
  t.is(createValidator(optional, 'body')({ constructor: 5 })[0]?.message, 'must be string');
  const needed = Type.Object({ toString: Type.String() }, { additionalProperties: false });
  t.deepEqual(createValidator(needed, 'body')({}), [{ pointer: '/body/toString', message: 'is required' }]);
  t.deepEqual(createValidator(needed, 'body')({ toString: 'a' }), []);
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

test('a text of another format is told what is expected', (t) => {
  const formats = { id: 'uuid', at: 'date-time', url: 'uri', host: 'hostname' };
  const members = Object.entries(formats).map(([name, format]) => [name, Type.String({ format })]);
  const validate = createValidator(Type.Object(Object.fromEntries(members)), 'body');
  t.deepEqual(validate({ id: 'x', at: 'today', url: 'example.com', host: 'a b' }), [
    { pointer: '/body/id', message: 'must be a UUID' },
    { pointer: '/body/at', message: 'must be a time with its offset, such as 2026-01-31T12:00:00Z' },
    { pointer: '/body/url', message: 'must be an address with its scheme, such as https://example.com' },
    { pointer: '/body/host', message: 'must be of the format hostname' },
  ]);
});

test('a payload that does not fit is reported by its member', (t) => {
  const schema = Type.Object({
    id: Type.String({ format: 'uuid' }),
    what: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    more: Type.Optional(Type.Array(Type.Integer())),
  });
  const good = { id: '00000000-0000-0000-0000-000000000001', what: 'a' };
  t.is(payloadProblem(schema, good), undefined);
  t.is(payloadProblem(schema, { ...good, added: 'by a newer version' }), undefined);
  t.regex(payloadProblem(schema, { ...good, id: 'secret-text' }) ?? '', /^\/id (?!.*secret-text)/);
  t.regex(payloadProblem(schema, { ...good, what: 'secret-text' }) ?? '', /^\/what (?!.*secret-text)/);
  t.regex(
    payloadProblem(schema, { ...good, more: [1, 'secret-text'] }) ?? '',
    /^\/more\/1 (?!.*secret-text)/,
  );
  t.is(payloadProblem(schema, { id: good.id }), "the payload must have required property 'what'");
  t.is(payloadProblem(schema, null), 'the payload must be object');
});

test('schemas of one $id do not hinder each other', (t) => {
  const [one, two] = [Type.Integer({ $id: 'same' }), Type.String({ $id: 'same' })];
  t.is(payloadProblem(one, 1), undefined);
  t.is(payloadProblem(two, 'x'), undefined);
  t.is(payloadProblem(two, 1), 'the payload must be string');
});

test('a payload is left as it is', (t) => {
  const payload = { n: '1' };
  const schema = Type.Object({ n: Type.String(), more: Type.Integer({ default: 5 }) });
  t.is(payloadProblem(schema, payload), "the payload must have required property 'more'");
  t.deepEqual(payload, { n: '1' });
});

test('a schema is compiled at its first use, once for the same options', (t) => {
  const schema = { type: 'nonsense' };
  const check = compileSchema(schema);
  t.throws(() => check(1), { message: /type must be JSONType/ });
  t.is(compileSchema(schema), check);
  t.is(compileSchema(schema, { all: false, coerce: false }), check);
  t.not(compileSchema(schema, { all: true }), check);
});

for (const keywords of [{ pattern: '(' }, { properties: [] }, { type: 'strin' }, { required: 'a' }]) {
  test(`without the meta-schema ${JSON.stringify(keywords)} is refused too`, (t) => {
    t.throws(() => compileSchema({ type: 'object', ...keywords })({}));
  });
}

test('without options a value is left as it is, and one error is enough', (t) => {
  const value = { b: '1' };
  const schema = { properties: { a: { default: 1 }, b: { type: 'integer' }, c: {} }, required: ['a', 'c'] };
  t.is(compileSchema(schema)(value).length, 1);
  t.is(compileSchema(schema, { all: true })(value).length, 3);
  t.deepEqual(value, { b: '1' });
  t.is(compileSchema(schema, { all: true, coerce: true, defaults: true })(value).length, 1);
  t.deepEqual(value as unknown, { a: 1, b: 1 });
});

test('the newer draft has its keywords, and a schema may refer to a meta-schema', (t) => {
  const schema = { prefixItems: [{ type: 'string' }], unevaluatedItems: false };
  t.is(compileSchema(schema, { draft: '2020-12' })([1, 2]).length, 1);
  t.is(compileSchema(schema)([1, 2]).length, 0);
  const ofSchemas = { properties: { parameters: { $ref: 'http://json-schema.org/draft-07/schema#' } } };
  t.deepEqual(compileSchema(ofSchemas)({ parameters: { type: 'object' } }), []);
  t.is(compileSchema(ofSchemas)({ parameters: { type: 'strin' } })[0]?.instancePath, '/parameters/type');
});

test('patterns and formats of an untrusted schema are not tried', (t) => {
  const schema = { type: 'string', pattern: '^(a+)+$', format: 'uuid', maxLength: 50 };
  const check = compileSchema(schema, { untrusted: true });
  t.deepEqual(check(`${'a'.repeat(40)}!`), []);
  t.is(check('a'.repeat(51))[0]?.keyword, 'maxLength');
  t.is(compileSchema(schema)('aa')[0]?.keyword, 'format');
});
