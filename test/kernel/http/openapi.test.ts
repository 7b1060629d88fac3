import test from 'ava';
import Type from 'typebox';
import { InFlight } from '../../../foundation/base/in-flight.ts';
import { toOpenApiSchema } from '../../../foundation/base/openapi-schema.ts';
import { pageQuery } from '../../../foundation/base/page.ts';
import { access } from '../../../kernel/api/access.ts';
import { reply } from '../../../kernel/api/reply.ts';
import { type Route, route } from '../../../kernel/api/route.ts';
import { compileRoute } from '../../../kernel/http/compiled-route.ts';
import { liveOpenApi, openApiDocument } from '../../../kernel/http/openapi.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';

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

const KINDS = [
  { name: 'api_key' },
  { name: 'jwt' },
  { name: 'session', places: [{ in: 'cookie', name: 'svc_session' }] },
] as const;

test('the document is made once for what is live, and anew for what comes and goes', (t) => {
  const [first, second] = [things, notes].map((one) => compileRoute(one, 'plugin', new InFlight()));
  let routes = [first!];
  let kinds: readonly { readonly name: string }[] = KINDS;
  const openapi = liveOpenApi(
    () => [...routes],
    () => kinds,
    '1',
  );
  const document = openapi();
  t.is(openapi(), document);
  routes = [first!, second!];
  t.deepEqual(Object.keys(openapi().paths), ['/v1/notes/{rest}', '/v1/things/{id}']);
  routes = [second!];
  t.deepEqual(Object.keys(openapi().paths), ['/v1/notes/{rest}']);
  kinds = [{ name: 'api_key' }];
  t.notDeepEqual(openapi(), openApiDocument(routes, '1', KINDS));
  t.deepEqual(openapi(), openApiDocument(routes, '1', kinds));
});

test('the document describes the routes with parameters, answers and access', (t) => {
  const routes = [things, notes].map((one) => compileRoute(one, 'plugin', new InFlight()));
  const document = openApiDocument(routes, '1', KINDS);
  t.is(document.openapi, '3.0.3');
  t.deepEqual(Object.keys(document.paths), ['/v1/notes/{rest}', '/v1/things/{id}']);
  const { get } = document.paths['/v1/things/{id}'] as { get: Record<string, unknown> };
  t.like(get, {
    summary: 'Read a thing',
    operationId: 'getV1ThingsById',
    tags: ['plugin'],
    description: 'Access: one of the roles `user`, `admin`, `owner`, and the scope `read`.',
    'x-access': { kind: 'roles', roles: ['user'], scopes: [] },
    'x-required-roles': ['user'],
    'x-required-scopes': ['read'],
    security: [{ bearer: [] }, { 'session.cookie': [] }],
  });
  t.like(document.components, {
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'Authorization: Bearer, with one of: api_key, jwt',
      },
      'session.cookie': { type: 'apiKey', in: 'cookie', name: 'svc_session' },
    },
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
  t.deepEqual(put.requestBody, {
    required: true,
    content: { 'text/plain': { schema: { type: 'string' }, example: 'string' } },
  });
  const responses = put.responses as Record<string, Record<string, unknown>>;
  t.is(responses['204']?.description, 'Success without content');
  t.false('content' in responses['204']!);
});

test('a public route that takes a credential all the same says so', (t) => {
  const made = {
    method: 'GET',
    path: '/a',
    summary: 'A',
    access: access.public(),
    handle: () => undefined,
  } as const;
  const describe = (one: Route) => {
    const { paths } = openApiDocument([compileRoute(one, 'plugin', new InFlight())], '1', [
      { name: 'api_key' },
    ]);
    const { description, security } = Object.values(paths['/a']!)[0] as Record<string, unknown>;
    return [description, security];
  };
  t.deepEqual(describe(made), ['Access: anybody.', []]);
  t.deepEqual(describe({ ...made, failures: ['unauthenticated'] }), [
    'Access: a credential that the operation itself checks.',
    [{ bearer: [] }],
  ]);
});

const headers = Type.Object({ 'if-match': Type.Optional(Type.String()) });
const body = Type.Object({});
const user = access.role('user');
const statuses: readonly (readonly [string, Partial<Route>, string])[] = [
  ['a public GET', { access: access.public(), rateLimit: 'none' }, '200 500 503 default'],
  ['a public GET with a limit', { access: access.public() }, '200 429 500 503 default'],
  ['any credential', { access: access.authenticated() }, '200 400 401 403 429 500 503 default'],
  ['a role', { access: user, path: '/a/{id}' }, '200 400 401 403 404 429 500 503 default'],
  [
    'a body and a precondition',
    { access: user, method: 'POST', schema: { body, headers } },
    '200 400 401 403 409 412 413 415 429 500 503 default',
  ],
  [
    'a POST that reads',
    { access: access.open(['read']), method: 'POST', schema: { body } },
    '200 400 401 403 413 415 429 500 503 default',
  ],
  [
    'failures of its own',
    { access: access.public(), failures: ['gone', 'upstream'] },
    '200 410 429 500 502 503 default',
  ],
];
for (const [what, members, expected] of statuses) {
  test(`the statuses of a route follow from its form: ${what}`, (t) => {
    const made = { method: 'GET', path: '/a', summary: 'A', handle: () => undefined, ...members } as Route;
    for (const errors of ['problem', 'openai', 'coze'] as const) {
      const compiled = compileRoute({ ...made, errors }, 'plugin', new InFlight());
      const document = openApiDocument([compiled], '1', KINDS);
      const [operation] = Object.values(Object.values(document.paths)[0]!) as {
        responses: Record<string, { $ref?: string }>;
      }[];
      const { responses } = operation!;
      t.is(Object.keys(responses).join(' '), expected);
      t.is(responses['500']?.$ref, `#/components/responses/${errors}-500`);
      const shared = (document.components as Record<string, Record<string, { content: object }>>).responses!;
      const type = errors === 'problem' ? 'application/problem+json' : 'application/json';
      for (const { $ref } of Object.values(responses).filter((one) => one.$ref !== undefined))
        t.deepEqual(Object.keys(shared[$ref!.split('/').at(-1)!]!.content), [type], $ref);
    }
  });
}

test('what is answered as another type than JSON is documented and sent as that', async (t) => {
  const csv = route({
    method: 'GET',
    path: '/csv',
    access: access.public(),
    summary: 'A table',
    rateLimit: 'none',
    answerType: 'text/csv; charset=utf-8',
    schema: {
      responses: { 200: Type.String() },
      answerHeaders: Type.Object({ 'content-disposition': Type.String() }),
    },
    handle: () => reply.text('a,b', undefined, { 'content-disposition': 'attachment' }),
  });
  await using gateway = await startTestGateway({
    plugins: [testPlugin('table', { setup: (scope) => scope.route(csv) })],
  });
  const { headers, body } = await gateway.request('/csv');
  t.deepEqual([headers.get('content-type'), body], ['text/csv; charset=utf-8', 'a,b']);
  const { responses } = (gateway.gateway.services.openapi().paths['/csv'] as { get: { responses: object } })
    .get;
  t.like(responses, {
    200: {
      content: { 'text/csv': { schema: { type: 'string' } } },
      headers: { 'content-disposition': { schema: { type: 'string' } } },
    },
  });
});

const conversions = [
  [Type.Literal('a'), { type: 'string', enum: ['a'] }],
  [Type.Union([Type.String(), Type.Null()]), { type: 'string', nullable: true }],
  [
    Type.Unsafe({ type: ['string', 'number', 'null'] }),
    { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'string', nullable: true, enum: [null] }] },
  ],
  [Type.Null(), { type: 'string', nullable: true, enum: [null] }],
  [Type.Enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  [
    Type.Union([Type.Enum(['a']), Type.Null()], { description: 'd' }),
    { type: 'string', enum: ['a'], nullable: true, description: 'd' },
  ],
  [Type.Unsafe({ type: ['array', 'null'] }), { type: 'array', items: {}, nullable: true }],
  [
    Type.Tuple([Type.String(), Type.Number()]),
    { type: 'array', minItems: 2, items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
  ],
  [
    Type.Unsafe({ properties: { a: true }, additionalProperties: false, contains: {} }),
    { properties: { a: {} }, additionalProperties: false },
  ],
  [Type.Unsafe({ documentedAs: Type.String() }), { type: 'string' }],
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
    method: 'GET',
    path: '/v1/events',
    access: access.public(),
    summary: 'Events',
    countsAsStream: () => true,
    schema: { responses: { 200: Type.Array(Type.String()), 202: Type.Object({}) } },
    handle: () => undefined,
  });
  const [streams, plain] = [events, { ...events, countsAsStream: undefined }].map((one) => {
    const { paths } = openApiDocument([compileRoute(one, 'plugin', new InFlight())], '1', KINDS);
    const { get } = paths['/v1/events'] as { get: { responses: Record<string, { content: object }> } };
    return [200, 202].map((status) => Object.keys(get.responses[status]!.content));
  });
  t.deepEqual(streams, [['application/json', 'text/event-stream'], ['application/json']]);
  t.deepEqual(plain, [['application/json'], ['application/json']]);
});

test('what a path names and no schema does is a parameter; names that meet are told apart', (t) => {
  const made = { method: 'GET', summary: 'A', access: access.public(), handle: () => undefined } as const;
  const routes = ['/a-b/{id}', '/a/b/{id}', '/'].map((path) =>
    compileRoute({ ...made, path } as Route, 'plugin', new InFlight()),
  );
  const { paths } = openApiDocument(routes, '1', KINDS);
  const operations = Object.entries(paths).map(
    ([path, { get }]) => [path, get as Record<string, unknown>] as const,
  );
  t.deepEqual(
    operations.map(([path, { operationId, parameters }]) => [path, operationId, parameters]),
    [
      ['/', 'getRoot', undefined],
      ['/a-b/{id}', 'getABById', [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]],
      ['/a/b/{id}', 'getABById2', [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }]],
    ],
  );
});

test('bodies and answers have examples, and the document only the answers that are referred to', (t) => {
  const body = Type.Object({
    name: Type.String({ examples: ['Acme'] }),
    code: Type.String({ pattern: '^\\d+$' }),
  });
  const made = route({
    method: 'POST',
    path: '/v1/things',
    access: access.role('user'),
    summary: 'Make a thing',
    countsAsStream: () => true,
    schema: {
      body,
      responses: { 201: Type.Object({ name: body.properties.name }) },
      stream: Type.String({ examples: ['data: 1\n\n'] }),
    },
    handle: () => undefined,
  });
  const document = openApiDocument([compileRoute(made, 'plugin', new InFlight())], '1', KINDS);
  const { post } = document.paths['/v1/things'] as { post: Record<string, Record<string, unknown>> };
  t.like(post.responses, {
    200: { content: { 'text/event-stream': { example: 'data: 1\n\n' } } },
    201: { content: { 'application/json': { example: { name: 'Acme' } } } },
  });
  const [content] = Object.values(post.requestBody!.content as Record<string, object>);
  t.false('example' in content!, 'no example is better than a wrong one');
  const { responses, schemas } = document.components as Record<string, Record<string, { content: object }>>;
  t.is(
    Object.keys(responses!).join(' '),
    '400 401 403 409 413 415 429 500 503 default'.replaceAll(/\w+/g, 'problem-$&'),
  );
  t.deepEqual(Object.keys(schemas!), ['Problem']);
  const [refused] = Object.values(responses!['problem-401']!.content) as { example: object }[];
  t.like(refused!.example, { status: 401, code: 'auth.required' });
});
