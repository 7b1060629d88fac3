import test from 'ava';
import { InFlight } from '../../../foundation/base/in-flight.ts';
import { access } from '../../../kernel/api/access.ts';
import { type HttpMethod, type RouteDefinition, type RouteSchema, route } from '../../../kernel/api/route.ts';
import { compileMount, compileRoute } from '../../../kernel/http/compiled-route.ts';
import { RouteTable } from '../../../kernel/http/route-table.ts';

function compiled(method: HttpMethod, path: string, owner = 'one', more: { head?: false } = {}) {
  const served = { access: access.public(), summary: path, handle: () => undefined };
  const definition = route({ method, path, ...served, ...more });
  return compileRoute(definition, owner, new InFlight());
}

function found(table: RouteTable, method: string, path: string) {
  const match = table.find(method, path);
  return match.kind === 'route' ? [match.route.pattern, { ...match.params }] : match;
}

test('a path finds its route, with decoded parameters', (t) => {
  const table = new RouteTable([compiled('GET', '/v1/things/{id}'), compiled('GET', '/v1/things/special')]);
  t.deepEqual(found(table, 'GET', '/v1/things/7'), ['/v1/things/{id}', { id: '7' }]);
  t.deepEqual(found(table, 'GET', '/v1/things/special'), ['/v1/things/special', {}]);
  t.deepEqual(found(table, 'GET', '/v1/things/a%2Fb'), ['/v1/things/{id}', { id: 'a/b' }]);
});

test('a path whose last part is missing is another path, not one with an empty part', (t) => {
  const routes = [compiled('DELETE', '/v1/things/{id}'), compiled('POST', '/v1/things/{id}/parts')];
  const table = new RouteTable([
    ...routes,
    compiled('GET', '/v1/files/{rest*}'),
    compiled('POST', '/v1/things'),
  ]);
  for (const [method, path] of [
    ['DELETE', '/v1/things/'],
    ['POST', '/v1/things//parts'],
    ['GET', '/v1/files'],
  ])
    t.deepEqual(table.find(method!, path!), { kind: 'nothing', detail: `There is no ${method} ${path}` });
  const detail = 'There is no POST /v1/things/; did you mean /v1/things?';
  t.deepEqual(table.find('POST', '/v1/things/'), { kind: 'nothing', detail });
  t.deepEqual(found(table, 'GET', '/v1/files/'), ['/v1/files/{rest*}', { '*': '' }]);
});

test('two routes may call the same part of a path differently', (t) => {
  const table = new RouteTable([compiled('GET', '/v1/x/{id}'), compiled('DELETE', '/v1/x/{key}/keys')]);
  t.deepEqual(found(table, 'GET', '/v1/x/1'), ['/v1/x/{id}', { id: '1' }]);
  t.deepEqual(found(table, 'DELETE', '/v1/x/1/keys'), ['/v1/x/{key}/keys', { key: '1' }]);
});

test('a known path with another method tells which methods it takes', (t) => {
  const table = new RouteTable([compiled('GET', '/a'), compiled('POST', '/a')]);
  t.deepEqual(table.find('PUT', '/a'), {
    kind: 'wrong-method',
    allow: ['GET', 'POST', 'HEAD', 'OPTIONS'],
    errors: 'problem',
  });
  t.deepEqual(table.find('GET', '/b'), { kind: 'nothing', detail: 'There is no GET /b' });
});

test('HEAD is answered from GET, but not from one that uses something up', (t) => {
  const table = new RouteTable([compiled('GET', '/a'), compiled('GET', '/once', 'one', { head: false })]);
  t.deepEqual(found(table, 'HEAD', '/a'), ['/a', {}]);
  t.deepEqual(table.find('HEAD', '/once'), {
    kind: 'wrong-method',
    allow: ['GET', 'OPTIONS'],
    errors: 'problem',
  });
  t.deepEqual(table.find('POST', '/once'), {
    kind: 'wrong-method',
    allow: ['GET', 'OPTIONS'],
    errors: 'problem',
  });
});

test('a broken percent-encoding, and a method nobody has heard of, lead nowhere', (t) => {
  const table = new RouteTable([compiled('GET', '/a/{id}')]);
  for (const [method, path] of [
    ['GET', '/a/%zz'],
    ['BREW', '/x'],
  ] as const)
    t.deepEqual(table.find(method, path), { kind: 'nothing', detail: `There is no ${method} ${path}` });
});

test('what is mounted below a prefix answers there and below', (t) => {
  const mount = { prefix: '/tool', access: access.public(), summary: 'a router', middleware: () => {} };
  const table = new RouteTable([compileMount(mount, 'one', new InFlight()), compiled('GET', '/toolbox')]);
  t.is(table.find('GET', '/tool').kind, 'route');
  t.is(table.find('POST', '/tool/a/b').kind, 'route');
  t.deepEqual(found(table, 'GET', '/toolbox'), ['/toolbox', {}]);
});

test('one method and path of two owners is refused, whatever the parameters are called', (t) => {
  const routes = [compiled('GET', '/v1/x/{id}', 'one'), compiled('GET', '/v1/x/{name}', 'two')];
  t.throws(() => new RouteTable(routes), { message: /served by both one and two/ });
  const twice = [compiled('GET', '/v1/x', 'one'), compiled('GET', '/v1/x', 'one')];
  t.throws(() => new RouteTable(twice), { message: 'GET /v1/x is declared twice by one' });
});

test('a prefix that is mounted, and a route at it or below it, are refused', (t) => {
  const mount = { prefix: '/tool', access: access.public(), summary: 'a router', middleware: () => {} };
  for (const path of ['/tool', '/tool/{id}']) {
    const routes = [compileMount(mount, 'one', new InFlight()), compiled('GET', path, 'two')];
    t.throws(() => new RouteTable(routes), { message: /^GET .* is served by both one and two$/ });
  }
});

test('a path that the router would read as something else does not compile', (t) => {
  for (const path of [
    '/a/{id}',
    '/a/{id}.json',
    '/a/{from}-{to}/b',
    '/a:b/{id}',
    '/files/{path*}',
    '/%C3%A4',
  ])
    t.notThrows(() => compiled('GET', path), path);
  for (const path of [
    '/a*',
    '/a/{id}?',
    '/a(b)',
    '/a b',
    '/a/{id}:stop',
    '/a/{a}{b}',
    '/a/{rest*}/b',
    '/a/{',
    '/a/{1}',
    '/a/:id',
  ])
    t.throws(() => compiled('GET', path), { message: /^GET .*: a path is text with parameters/ }, path);
  t.throws(() => compiled('GET', 'a'), { message: /starts with a slash/ });
});

test('a route with a member of another form does not compile, and the message names it', (t) => {
  const good = { method: 'GET', path: '/a', access: access.public(), summary: 'a', handle: () => undefined };
  const compile = (changes: object) => compileRoute({ ...good, ...changes } as never, 'one', new InFlight());
  t.notThrows(() => compile({ rateLimit: { perMinute: 1, by: () => 'a' }, errors: 'openai', bodyLimit: 0 }));
  for (const [member, value, said] of [
    ['method', 'get', '"get", and should be one of GET, POST'],
    ['path', undefined, 'undefined'],
    ['access', undefined, 'undefined, and should be a rule, such as access.role'],
    ['access', access.public, 'a function'],
    ['access', { kind: 'pubic' }, 'an object'],
    ['access', access.governance('notes:read' as never), 'an object'],
    ['access', { kind: 'credential', methods: [] }, 'an object'],
    ['summary', '', '"", and should be a sentence'],
    ['handle', undefined, 'undefined, and should be a function'],
    ['errors', 'openia', '"openia", and should be one of problem, openai, coze'],
    ['bodyType', 'xml', '"xml"'],
    ['bodyLimit', '1MB', '"1MB", and should be a whole number of bytes'],
    ['countsAsStream', true, 'a boolean'],
    ['refuse', 'no', '"no"'],
    ['rateLimit', 'standrad', '"standrad"'],
    ['rateLimit', { perMinute: 0, by: () => 'a' }, 'an object'],
    ['rateLimit', { perMinute: 5 }, 'an object'],
  ] as const) {
    const error = t.throws(() => compile({ [member]: value }), undefined, `${member}: ${said}`);
    t.true(error?.message.includes(`"${member}" is ${said}`), error?.message);
  }
});

test('a path that is there with or without /v1 is named, since base URLs have it or not', (t) => {
  const table = new RouteTable([compiled('POST', '/v1/chat/completions'), compiled('POST', '/v3/chat')]);
  const detailOf = (method: string, path: string) => {
    const match = table.find(method, path);
    return match.kind === 'nothing' ? match.detail : match.kind;
  };
  const meant = 'did you mean /v1/chat/completions?';
  t.is(detailOf('POST', '/chat/completions'), `There is no POST /chat/completions; ${meant}`);
  t.is(detailOf('POST', '/v1/v1/chat/completions'), `There is no POST /v1/v1/chat/completions; ${meant}`);
  t.is(detailOf('POST', '/v1/v3/chat'), 'There is no POST /v1/v3/chat; did you mean /v3/chat?');
  t.is(detailOf('GET', '/chat/completions'), 'There is no GET /chat/completions');
});

test('a misspelled role is refused where it is written: it would let nobody in', (t) => {
  t.throws(() => access.role('usr'), { message: 'there is no role "usr", did you mean "user"?' });
  t.throws(() => access.role(['user', 'Admin']), {
    message: 'there is no role "Admin", did you mean "admin"?',
  });
  t.like(
    access.role(['user', 'librarian']),
    { roles: ['user', 'librarian'] },
    'of an authenticator of its own',
  );
});

test('an option that an access rule does not have is refused where it is written: it would let others in', (t) => {
  t.throws(() => access.role('user', { scope: ['execute'] } as never), {
    message: 'access.role: there is no member "scope", did you mean "scopes"?',
  });
  t.throws(() => access.governance(['ops:*'], { onlyOperators: true } as never), {
    message: 'access.governance: there is no member "onlyOperators"',
  });
});

test('a misspelled member of a route does not compile: what it says would be left out', (t) => {
  const good = { method: 'GET', path: '/a', access: access.public(), summary: 'a', handle: () => undefined };
  const compile = (changes: object) => compileRoute({ ...good, ...changes } as never, 'one', new InFlight());
  // By the types, so that no member is forgotten.
  const members: Required<Record<keyof RouteDefinition, true>> = {
    method: true,
    path: true,
    access: true,
    summary: true,
    description: true,
    tag: true,
    schema: true,
    errors: true,
    bodyLimit: true,
    bodyType: true,
    rawBody: true,
    bodyOptional: true,
    answerType: true,
    failures: true,
    deprecated: true,
    head: true,
    countsAsStream: true,
    rateLimit: true,
    refuse: true,
    handle: true,
  };
  for (const member of Object.keys(members))
    t.throws(() => compile({ [`${member}s`]: 1 }), {
      message: `GET /a: there is no member "${member}s", did you mean "${member}"?`,
    });
  const parts: Required<Record<keyof RouteSchema, true>> = {
    params: true,
    query: true,
    headers: true,
    body: true,
    responses: true,
    stream: true,
    answerHeaders: true,
  };
  for (const part of Object.keys(parts))
    t.throws(() => compile({ schema: { [`${part}x`]: {} } }), {
      message: `GET /a: there is no member "${part}x", did you mean "${part}"?`,
    });
  t.notThrows(() => compile({ remark: 'of the author' }));
});
