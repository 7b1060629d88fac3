import test from 'ava';
import Type from 'typebox';
import { pageQuery } from '../../../foundation/base/page.ts';
import { access } from '../../../kernel/api/access.ts';
import { route } from '../../../kernel/api/route.ts';
import { InFlight } from '../../../kernel/chain/in-flight.ts';
import { compileRoute } from '../../../kernel/http/compiled-route.ts';
import { openApiDocument, toOpenApiSchema } from '../../../kernel/http/openapi.ts';

const things = route({
  method: 'GET',
  path: '/v1/things/{id}',
  access: access.role('user'),
  summary: 'Read a thing',
  schema: {
    params: Type.Object({ id: Type.String() }),
    query: pageQuery({ defaultLimit: 50 }),
    responses: { 200: Type.Object({ name: Type.Union([Type.String(), Type.Null()]) }) },
  },
  handle: () => undefined,
});

const notes = route({
  method: 'PUT',
  path: '/v1/notes/{rest*}',
  access: access.public(),
  summary: 'Write a note',
  bodyType: 'text',
  schema: { params: Type.Object({ rest: Type.String() }), body: Type.String(), responses: { 204: null } },
  handle: () => undefined,
});

test('the document describes the routes with parameters, answers and access', (t) => {
  const routes = [things, notes].map((one) => compileRoute(one, 'plugin', new InFlight()));
  const document = openApiDocument(routes, { title: 'T', version: '1' });
  t.is(document.openapi, '3.0.3');
  t.deepEqual(Object.keys(document.paths), ['/v1/notes/{rest}', '/v1/things/{id}']);
  const { get } = document.paths['/v1/things/{id}'] as { get: Record<string, unknown> };
  t.like(get, {
    summary: 'Read a thing',
    operationId: 'get_v1_things_id',
    tags: ['plugin'],
    'x-access': { kind: 'roles', roles: ['user'], scopes: [] },
  });
  t.deepEqual(
    (get.parameters as { name: string; in: string; required: boolean }[]).map((p) => [
      p.name,
      p.in,
      p.required,
    ]),
    [
      ['id', 'path', true],
      ['limit', 'query', false],
      ['offset', 'query', false],
    ],
  );
  const { put } = document.paths['/v1/notes/{rest}'] as { put: Record<string, unknown> };
  t.deepEqual(put.security, []);
  t.deepEqual(put.requestBody, { required: true, content: { 'text/plain': { schema: { type: 'string' } } } });
  t.deepEqual((put.responses as Record<string, unknown>)['204'], { description: 'Success without content' });
});

const conversions = [
  [Type.Literal('a'), { type: 'string', enum: ['a'] }],
  [Type.Union([Type.String(), Type.Null()]), { type: 'string', nullable: true }],
  [
    Type.Unsafe({ type: ['string', 'number', 'null'] }),
    { anyOf: [{ type: 'string' }, { type: 'number' }], nullable: true },
  ],
  [Type.Integer({ exclusiveMinimum: 0 }), { type: 'integer', minimum: 0, exclusiveMinimum: true }],
  [
    Type.Object({ const: Type.String() }),
    { type: 'object', required: ['const'], properties: { const: { type: 'string' } } },
  ],
] as const;

for (const [index, [schema, expected]] of conversions.entries()) {
  test(`JSON Schema becomes OpenAPI 3.0: case ${index + 1}`, (t) => {
    t.deepEqual(JSON.parse(JSON.stringify(toOpenApiSchema(schema))), expected);
  });
}

test('what our own messages need of a schema is not in the document', (t) => {
  const schema = Type.String({ pattern: '^a$', patternErrorMessage: 'must be a' });
  t.deepEqual(toOpenApiSchema(schema), { type: 'string', pattern: '^a$' });
});

test('a route that may answer with an event stream says so beside its JSON', (t) => {
  const events = route({
    ...{ method: 'GET', path: '/v1/events', access: access.public(), summary: 'Events' },
    countsAsStream: () => true,
    schema: { responses: { 200: Type.Array(Type.String()), 202: Type.Object({}) } },
    handle: () => undefined,
  });
  const [streams, plain] = [events, { ...events, countsAsStream: undefined }].map((one) => {
    const { paths } = openApiDocument([compileRoute(one, 'plugin', new InFlight())], {
      title: 'T',
      version: '1',
    });
    const { get } = paths['/v1/events'] as { get: { responses: Record<string, { content: object }> } };
    return [200, 202].map((status) => Object.keys(get.responses[status]!.content));
  });
  t.deepEqual(streams, [['application/json', 'text/event-stream'], ['application/json']]);
  t.deepEqual(plain, [['application/json'], ['application/json']]);
});
