import test from 'ava';
import { eachGatewayDatabase } from '../../../support/databases.ts';
import { until } from '../../../support/until.ts';
import { asking, BROKEN, graphOf, pluginType } from '../services/definitions/graphs.ts';
import { startDefinitions } from './definitions-gateway.ts';

const PATH = '/v1/workflow-definitions';
const UNKNOWN = '0197a000-0000-7000-8000-00000000ffff';
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const RFC_3339_MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const body = (extra: object = {}) => ({
  name: 'greet',
  description: 'Greets',
  graph: asking('Hello'),
  ...extra,
});

eachGatewayDatabase(test, 'a definition goes from draft over versions into the archive', async (t, fresh) => {
  const { request } = await startDefinitions(t, { env: fresh.environment });
  const created = await request(PATH, { method: 'POST', body: body() });
  t.is(created.status, 201);
  t.is(created.headers.get('etag'), '"1"');
  const { id } = created.body;
  t.regex(id, UUID_V7);
  t.regex(created.body.created_at, RFC_3339_MS);
  t.like(created.body, { ...body(), status: 'draft', latest_version: null, revision: 1, source: 'api' });
  t.truthy(created.body.created_by);

  const read = await request(`${PATH}/${id}`);
  t.deepEqual([read.status, read.headers.get('etag'), read.body], [200, '"1"', created.body]);

  const put = await request(`${PATH}/${id}`, {
    method: 'PUT',
    headers: { 'if-match': '"1"' },
    body: { description: '' },
  });
  t.deepEqual([put.status, put.headers.get('etag')], [200, '"2"']);
  t.like(put.body, { name: 'greet', description: '', graph: asking('Hello'), revision: 2 });

  const first = await request(`${PATH}/${id}/publish`, { method: 'POST' });
  t.is(first.status, 201);
  t.deepEqual(Object.keys(first.body).toSorted(), [
    'definition_id',
    'graph',
    'id',
    'published_at',
    'published_by',
    'version',
  ]);
  t.like(first.body, { definition_id: id, version: 1, graph: asking('Hello') });

  await request(`${PATH}/${id}`, { method: 'PUT', body: { graph: asking('Bye') } });
  t.like((await request(`${PATH}/${id}`)).body, {
    status: 'published',
    latest_version: 1,
    graph: asking('Bye'),
  });
  const second = await request(`${PATH}/${id}/publish`, { method: 'POST' });
  t.like(second.body, { version: 2, graph: asking('Bye') });
  const listed = await request(`${PATH}/${id}/versions`);
  t.deepEqual(listed.body, { versions: [second.body, first.body], total: 2, limit: 50, offset: 0 });
  t.deepEqual((await request(`${PATH}/${id}/versions/1`)).body, first.body);
  t.deepEqual((await request(`${PATH}/${id}/versions/2`)).body, second.body);

  const archived = await request(`${PATH}/${id}/archive`, { method: 'POST' });
  t.like(archived, { status: 200 });
  t.like(archived.body, { id, status: 'archived', latest_version: 2 });
  const again = await request(`${PATH}/${id}/archive`, { method: 'POST' });
  t.deepEqual([again.status, again.body], [200, archived.body]);
  for (const [method, rest, sent] of [
    ['PUT', '', { name: 'x' }],
    ['POST', '/publish'],
  ] as const) {
    const refused = await request(`${PATH}/${id}${rest}`, { method, ...(sent && { body: sent }) });
    t.deepEqual([refused.status, refused.body.code], [409, 'workflow.archived']);
  }
});

eachGatewayDatabase(
  test,
  'names, descriptions and graphs come back as they were written',
  async (t, fresh) => {
    const { request } = await startDefinitions(t, { env: fresh.environment });
    const sent = body({
      name: 'Büro 🏢 "quoted" \\ %',
      description: 'two\nlines\t\u0001',
      graph: graphOf('service_task', {
        url: 'https://example.com/',
        body: { 'z\u0000': 'NUL \u0000', b: [1, 1.0, 1e300, -0.5, true, null, {}], a: '\ud800', ä: '🏢' },
      }),
    });
    const { status, body: made } = await request(PATH, { method: 'POST', body: sent });
    t.is(status, 201, JSON.stringify(made));
    t.like(made, sent);
    t.deepEqual((await request(`${PATH}/${made.id}`)).body, made);
    const names = Object.keys(made.graph.nodes[1].config.body);
    t.deepEqual(names, ['z\u0000', 'b', 'a', 'ä'], 'the order of members is the author’s');
  },
);

test('lists are newest first, in pages, with the files of agents.d at the end', async (t) => {
  const { request, writeWorkflow } = await startDefinitions(t);
  await writeWorkflow('triage', asking('Hello'));
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    ids.unshift((await request(PATH, { method: 'POST', body: body({ name }) })).body.id);
  }
  const seen = async (query: string) => {
    const { status, body: found } = await request(`${PATH}${query}`);
    t.is(status, 200);
    const { workflow_definitions, ...rest } = found;
    return [workflow_definitions.map(({ id }: { id: string }) => id), rest];
  };
  t.deepEqual(await seen(''), [[...ids, 'triage'], { total: 4, limit: 50, offset: 0 }]);
  t.deepEqual(await seen('?limit=2&offset=2'), [[ids[2], 'triage'], { total: 4, limit: 2, offset: 2 }]);
  t.deepEqual(await seen('?limit=0'), [[], { total: 4, limit: 0, offset: 0 }]);
  t.deepEqual(await seen('?limit=100000'), [[...ids, 'triage'], { total: 4, limit: 100, offset: 0 }]);
  for (const query of ['limit=-1', 'limit=x', 'offset=1.5', 'offset=']) {
    for (const where of [PATH, `${PATH}/${ids[0]}/versions`]) {
      const refused = await request(`${where}?${query}`);
      t.deepEqual([refused.status, refused.body.errors[0].pointer], [400, `/query/${query.split('=')[0]}`]);
    }
  }
});

/** Every route, with a body where it takes one. `%` is the id. */
const ROUTES = [
  { method: 'POST', path: '', sent: body(), needs: 'write', good: 201 },
  { method: 'GET', path: '', needs: 'read', good: 200 },
  { method: 'GET', path: '/%', needs: 'read', good: 200 },
  { method: 'PUT', path: '/%', sent: { name: 'renamed' }, needs: 'write', good: 200 },
  { method: 'POST', path: '/%/publish', needs: 'publish', good: 201 },
  { method: 'GET', path: '/%/versions', needs: 'read', good: 200 },
  { method: 'GET', path: '/%/versions/1', needs: 'read', good: 200 },
  { method: 'POST', path: '/%/archive', needs: 'publish', good: 200 },
  { method: 'DELETE', path: '/%', needs: 'write', good: 409 },
] as const;

const GRANTS: Record<string, readonly string[]> = {
  read: ['read', 'workflow:read', 'workflow:*'],
  write: ['write', 'workflow:write', 'workflow:*'],
  publish: ['write', 'workflow:publish', 'workflow:*'],
};
const SCOPES = [
  'read',
  'write',
  'execute',
  'workflow:*',
  'workflow:read',
  'workflow:write',
  'workflow:publish',
  'workflow:run',
  'workflow:cancel',
  'ops:*',
];

test('each route asks for its scope, of a user, and answers nobody without a credential', async (t) => {
  const { request, key, makeTenant } = await startDefinitions(t);
  const { id: tenantId, token } = await makeTenant();
  for (const { method, path, needs, good, ...rest } of ROUTES) {
    const sent = 'sent' in rest ? { body: rest.sent } : {};
    const call = async (as: string | null, isPublished = true) => {
      const { id } = (await request(PATH, { method: 'POST', body: body(), token })).body;
      if (isPublished) await request(`${PATH}/${id}/publish`, { method: 'POST', token });
      return (await request(`${PATH}${path.replace('%', id)}`, { method, ...sent, token: as })).status;
    };
    const what = `${method} ${path}`;
    t.is(await call(null), 401, what);
    for (const scope of SCOPES) {
      const status = await call(await key(tenantId, ['user'], [scope]));
      t.is(status, GRANTS[needs]?.includes(scope) ? good : 403, `${what} with ${scope}`);
    }
    t.is(await call(await key(tenantId, ['user'])), good, `${what} with a legacy key`);
    t.is(await call(await key(tenantId, ['auditor'])), 403, `${what} of an auditor`);
    t.is(await call(await key(tenantId, ['owner'])), good, `${what} of the owner`);
  }
});

test('a definition of another tenant is not there, and neither is an unknown one', async (t) => {
  const { request, makeTenant } = await startDefinitions(t);
  const { token } = await makeTenant('mine');
  const { token: foreign } = await makeTenant('foreign');
  const { id } = (await request(PATH, { method: 'POST', body: body(), token })).body;
  await request(`${PATH}/${id}/publish`, { method: 'POST', token });
  const before = (await request(`${PATH}/${id}`, { token })).body;
  for (const { method, path, ...rest } of ROUTES) {
    if (path === '') continue;
    const sent = 'sent' in rest ? { body: rest.sent } : {};
    for (const [of, as] of [
      [id, foreign],
      [UNKNOWN, token],
      ['nobody', token],
      ['a%00b', token],
      [id.toUpperCase(), token],
      ['%F0%9F%92%A5', token],
    ] as const) {
      const answer = await request(`${PATH}${path.replace('%', of)}`, { method, ...sent, token: as });
      const what = `${method} ${path} ${of}`;
      t.deepEqual([answer.status, answer.body.code], [404, 'workflow.definition-not-found'], what);
    }
  }
  t.deepEqual((await request(`${PATH}/${id}`, { token })).body, before);
  const seen = (await request(PATH, { token: foreign })).body;
  t.deepEqual(seen, { workflow_definitions: [], total: 0, limit: 50, offset: 0 });
  for (const version of ['0', '2', '-1', 'x', '01', '1.0', '99999999999999999999', id]) {
    const { status, body: told } = await request(`${PATH}/${id}/versions/${version}`, { token });
    t.deepEqual([status, told.code], [404, 'workflow.version-not-found'], version);
  }
});

test('what is wrong with a body is told by field', async (t) => {
  const { request } = await startDefinitions(t);
  const { id } = (await request(PATH, { method: 'POST', body: body() })).body;
  const pointers = async (method: string, path: string, sent: unknown) => {
    const answer = await request(path, { method, body: sent });
    t.is(answer.status, 400, JSON.stringify(sent));
    t.is(answer.body.code, 'request.invalid', JSON.stringify(answer.body));
    return answer.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  };
  t.deepEqual(await pointers('POST', PATH, {}), ['/body/graph', '/body/name']);
  const wrong = { name: 7, description: null, graph: asking('Hello') };
  t.deepEqual(await pointers('POST', PATH, wrong), ['/body/description', '/body/name']);
  for (const name of ['', '   ', 'x'.repeat(201), 'a\u0007b', null])
    t.deepEqual(await pointers('PUT', `${PATH}/${id}`, { name }), ['/body/name']);
  for (const description of ['x'.repeat(2001), 'a\u0000b', 7])
    t.deepEqual(await pointers('PUT', `${PATH}/${id}`, { description }), ['/body/description']);
  for (const sent of [[], 'null', '7'])
    t.is((await request(PATH, { method: 'POST', body: sent })).status >= 400, true);
  for (const sent of [{}, { status: 'archived' }])
    t.deepEqual(await pointers('PUT', `${PATH}/${id}`, sent), ['/body']);
  t.deepEqual(await pointers('PUT', `${PATH}/${id}`, { grph: asking('Hello') }), ['/body/grph']);
  t.deepEqual(await pointers('POST', PATH, body({ titel: 'x' })), ['/body/titel']);
  const misspelt = await request(`${PATH}/${id}`, { method: 'PUT', body: { grph: {}, name: ' ' } });
  t.deepEqual(misspelt.body.errors, [
    { pointer: '/body/grph', message: 'is not known here, did you mean graph?' },
    { pointer: '/body/name', message: 'must not be blank, and not hold control characters' },
  ]);
  const headers = { 'if-match': 'x' };
  const told = async (sent: object) => {
    const answer = await request(`${PATH}/${id}`, { method: 'PUT', body: sent, headers });
    t.is(answer.status, 400);
    return [answer.body.code, answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)];
  };
  t.deepEqual(await told({}), ['request.invalid', ['/headers/if-match', '/body']]);
  t.deepEqual(await told({ id, source: 'api' }), ['request.invalid', ['/headers/if-match', '/body']]);
  t.deepEqual(await told({ grph: {} }), ['request.invalid', ['/headers/if-match', '/body/grph']]);
  t.deepEqual(await told({ graph: [], name: '' }), [
    'workflow.graph-invalid',
    ['/headers/if-match', '/body/name', '/body/graph'],
  ]);
  const malformed = await request(PATH, {
    method: 'POST',
    body: '{"name":',
    headers: { 'content-type': 'application/json' },
  });
  t.deepEqual([malformed.status, malformed.body.code], [400, 'request.malformed']);
  const text = await request(PATH, { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } });
  t.is(text.status, 415);
  const large = await request(PATH, { method: 'POST', body: body({ description: 'x'.repeat(1024 * 1024) }) });
  t.is(large.status, 413);
  t.like((await request(`${PATH}/${id}`)).body, { name: 'greet', revision: 1 });
  t.is((await request(PATH)).body.total, 1);
});

test('a record that was read can be sent back as it is', async (t) => {
  const { request } = await startDefinitions(t);
  const { body: made } = await request(PATH, {
    method: 'POST',
    body: { name: 'greet', graph: asking('Hello') },
  });
  t.is(made.description, '');
  const { status, body: put } = await request(`${PATH}/${made.id}`, { method: 'PUT', body: made });
  t.is(status, 200);
  t.deepEqual({ ...put, revision: 1, updated_at: made.updated_at }, made);
});

test('If-Match keeps a change from undoing somebody else’s', async (t) => {
  const { request } = await startDefinitions(t);
  const { id } = (await request(PATH, { method: 'POST', body: body() })).body;
  const put = async (match: string) => {
    const sent = { method: 'PUT', body: { description: match }, headers: { 'if-match': match } };
    const answer = await request(`${PATH}/${id}`, sent);
    return [answer.status, answer.body.revision ?? answer.body.code];
  };
  t.deepEqual(await put('1'), [200, 2]);
  t.deepEqual(await put('"2"'), [200, 3]);
  t.deepEqual(await put('W/"3"'), [200, 4]);
  t.deepEqual(await put('*'), [200, 5]);
  for (const match of ['4', '"4"', 'W/"1"', '"x"', '6'])
    t.deepEqual(await put(match), [412, 'workflow.revision-mismatch'], match);
  t.deepEqual(await put('x'), [400, 'request.invalid']);
  for (const [method, rest] of [
    ['POST', '/publish'],
    ['POST', '/archive'],
    ['DELETE', ''],
  ] as const) {
    const answer = await request(`${PATH}/${id}${rest}`, { method, headers: { 'if-match': '"4"' } });
    t.is(answer.status, 412, `${method} ${rest}`);
  }
  t.is((await request(`${PATH}/${id}`, { method: 'DELETE', headers: { 'if-match': '"5"' } })).status, 204);
  t.is((await request(`${PATH}/${id}`)).status, 404);
});

eachGatewayDatabase(
  test,
  'of many changes at once with one revision exactly one is made',
  async (t, fresh) => {
    const { request } = await startDefinitions(t, { env: fresh.environment });
    const { id } = (await request(PATH, { method: 'POST', body: body() })).body;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        request(`${PATH}/${id}`, {
          method: 'PUT',
          body: { name: `of ${n}` },
          headers: { 'if-match': '"1"' },
        }),
      ),
    );
    t.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(7).fill(412)]);
    const winner = answers.find(({ status }) => status === 200)!.body;
    t.deepEqual((await request(`${PATH}/${id}`)).body, winner);
  },
);

test('what was published is kept: 409 for its deletion, and for archiving what was not', async (t) => {
  const { request } = await startDefinitions(t);
  const { id } = (await request(PATH, { method: 'POST', body: body() })).body;
  const early = await request(`${PATH}/${id}/archive`, { method: 'POST' });
  t.deepEqual([early.status, early.body.code], [409, 'workflow.not-published']);
  await request(`${PATH}/${id}/publish`, { method: 'POST' });
  const { status, body: told } = await request(`${PATH}/${id}`, { method: 'DELETE' });
  t.deepEqual([status, told.code], [409, 'workflow.published']);
});

test('a workflow of agents.d is there for every tenant, and changed by none', async (t) => {
  const { request, makeTenant, writeWorkflow } = await startDefinitions(t);
  await writeWorkflow('triage', asking('Hello'));
  const { token } = await makeTenant();
  const { status, headers, body: read } = await request(`${PATH}/triage`, { token });
  t.is(status, 200);
  t.is(headers.get('etag'), null);
  t.like(read, {
    id: 'triage',
    name: 'triage',
    status: 'published',
    source: 'file',
    created_by: 'deployment',
    graph: asking('Hello'),
    latest_version: null,
  });
  for (const { method, path, ...rest } of ROUTES) {
    if (path === '' || method === 'GET') continue;
    const sent = 'sent' in rest ? { body: rest.sent } : {};
    const refused = await request(`${PATH}${path.replace('%', 'triage')}`, { method, ...sent, token });
    t.deepEqual([refused.status, refused.body.code], [409, 'workflow.read-only'], `${method} ${path}`);
  }
  t.deepEqual((await request(`${PATH}/triage/versions`, { token })).body.versions, []);
});

test('credentials in a graph are shown to those alone who may write it', async (t) => {
  const { request, key, makeTenant } = await startDefinitions(t);
  const { id: tenantId, token } = await makeTenant();
  const headers = { authorization: 'Bearer hunter2hunter2' };
  const graph = graphOf('service_task', { url: 'https://example.com/', headers });
  const { id } = (await request(PATH, { method: 'POST', body: body({ graph }), token })).body;
  await request(`${PATH}/${id}/publish`, { method: 'POST', token });
  const reader = await key(tenantId, ['user'], ['read']);
  for (const path of [PATH, `${PATH}/${id}`, `${PATH}/${id}/versions`, `${PATH}/${id}/versions/1`]) {
    t.true(JSON.stringify((await request(path, { token })).body).includes('hunter2'), path);
    t.false(JSON.stringify((await request(path, { token: reader })).body).includes('hunter2'), path);
  }
});

test('a graph that breaks a rule is refused at create, at PUT and at publish, with all problems', async (t) => {
  const { request, types } = await startDefinitions(t);
  const { id } = (await request(PATH, { method: 'POST', body: body() })).body;
  const invalid = async (answer: ReturnType<typeof request>) => {
    const { status, headers, body: told } = await answer;
    t.deepEqual([status, told.code], [400, 'workflow.graph-invalid'], JSON.stringify(told));
    t.is(headers.get('content-type'), 'application/problem+json');
    return told.errors as { code: string; pointer: string; message: string }[];
  };
  const created = await invalid(request(PATH, { method: 'POST', body: body({ graph: BROKEN }) }));
  t.deepEqual(await invalid(request(`${PATH}/${id}`, { method: 'PUT', body: { graph: BROKEN } })), created);
  t.true(created.some(({ code }) => code === 'workflow.graph.end-count'));
  t.true(created.some(({ code }) => code === 'workflow.graph.dead-end'));
  t.true(created.every(({ pointer, message }) => pointer.startsWith('/body/graph') && message !== ''));

  types.plugins.push(pluginType());
  const graph = graphOf('acme/translate', { text: 'Hi' });
  t.is((await request(`${PATH}/${id}`, { method: 'PUT', body: { graph } })).status, 200);
  types.plugins.pop();
  const [gone] = await invalid(request(`${PATH}/${id}/publish`, { method: 'POST' }));
  t.like(gone, { code: 'workflow.graph.node-type', pointer: '/graph/nodes/1/type', node: 'work' });
  t.is((await request(`${PATH}/${id}`)).body.status, 'draft');
});

test('the audit log says who made, changed, published, archived and deleted what', async (t) => {
  const gateway = await startDefinitions(t);
  const { request, key, makeTenant } = gateway;
  const { id: tenantId } = await makeTenant();
  const token = await key(tenantId, ['user']);
  const make = async () => (await request(PATH, { method: 'POST', body: body(), token })).body.id;
  const [id, other] = [await make(), await make()];
  await request(`${PATH}/${id}`, { method: 'PUT', body: { name: 'x' }, token });
  const { id: version_id } = (await request(`${PATH}/${id}/publish`, { method: 'POST', token })).body;
  await request(`${PATH}/${id}/archive`, { method: 'POST', token });
  await request(`${PATH}/${other}`, { method: 'DELETE', token });
  await request(`${PATH}/${id}`, { method: 'PUT', body: { name: 'y' }, token });

  const { audit } = gateway.gateway.services;
  const read = async () => (await audit.ofTenant(tenantId, {}, { limit: 50, offset: 0 })).records;
  await until(async () => (await read()).length === 7);
  const entries = (await read()).toReversed();
  t.true(entries.every((entry) => entry.tenantId === tenantId && entry.userId !== ''));
  t.deepEqual(
    entries.map(({ action, statusCode, detail }) => [action.split(' ')[0], statusCode, detail.changes]),
    [
      ['POST', 201, { definition_id: id, status: 'draft', revision: 1 }],
      ['POST', 201, { definition_id: other, status: 'draft', revision: 1 }],
      ['PUT', 200, { definition_id: id, status: 'draft', revision: 2 }],
      ['POST', 201, { definition_id: id, version_id, version: 1 }],
      ['POST', 200, { definition_id: id, status: 'archived', revision: 4 }],
      ['DELETE', 204, { definition_id: other, deleted: true }],
      ['PUT', 409, undefined],
    ],
  );
});

test('versions that runs were started from outlive their file', async (t) => {
  const { request, makeTenant, writeWorkflow, removeWorkflow, resolve } = await startDefinitions(t);
  await writeWorkflow('triage', asking('Hello'));
  const { id: tenantId, token } = await makeTenant();
  const { token: foreign } = await makeTenant();
  const { id } = await resolve(tenantId, 'triage');
  await removeWorkflow('triage');
  const listed = await request(`${PATH}/triage/versions`, { token });
  t.deepEqual([listed.status, listed.body.total, listed.body.versions[0].id], [200, 1, id]);
  t.is((await request(`${PATH}/triage/versions/1`, { token })).body.id, id);
  for (const [path, as] of [
    ['/triage', token],
    ['/triage/versions', foreign],
    ['/triage/versions/1', foreign],
  ] as const) {
    const gone = await request(`${PATH}${path}`, { token: as });
    t.deepEqual([gone.status, gone.body.code], [404, 'workflow.definition-not-found'], path);
  }
});

eachGatewayDatabase(
  test,
  'q finds definitions by a part of name or id, and files by their names',
  async (t, fresh) => {
    const gateway = await startDefinitions(t, { env: fresh.environment });
    const { request } = gateway;
    const make = async (name: string) =>
      (await request(PATH, { method: 'POST', body: body({ name }) })).body.id;
    const quoted = await make('Order "new" 100%');
    const other = await make('back\\slash');
    await gateway.writeWorkflow('order-file', asking('Hello'));
    await until(async () => (await request(PATH)).body.total === 3);
    const found = async (query: Record<string, string>) => {
      const { status, body } = await request(`${PATH}?${new URLSearchParams(query)}`);
      t.is(status, 200, JSON.stringify(query));
      return [body.total, ...body.workflow_definitions.map(({ id }: { id: string }) => id)];
    };
    t.deepEqual(await found({ q: 'ORDER' }), [2, quoted, 'order-file']);
    t.deepEqual(await found({ q: 'order', limit: '1', offset: '1' }), [2, 'order-file']);
    t.deepEqual(await found({ q: 'order', limit: '0' }), [2]);
    t.deepEqual(await found({ q: '"NEW"' }), [1, quoted]);
    t.deepEqual(await found({ q: '\\"' }), [0]);
    t.deepEqual(await found({ q: 'k\\s' }), [1, other]);
    t.deepEqual(await found({ q: other.slice(5) }), [1, other]);
  },
);
