import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { startMcpHttpServer } from '../../support/mcp-http-server.ts';
import { startRuntime } from './runtime-gateway.ts';

const PATH = '/api/v2/admin/mcp/servers';
const PROGRAM = path.resolve(import.meta.dirname, '../../support/mcp-program.ts');

test('an operator makes an MCP server, whose tools tenants see and use, and deletes it', async (t) => {
  await using mcp = await startMcpHttpServer();
  const gateway = await startRuntime(t, { env: { MCP_TOKEN: 'Bearer a-token-of-the-server' } });
  const { token } = await gateway.makeTenant();
  const server = {
    name: 'sums',
    transport: 'http',
    url: mcp.url,
    headers: { authorization: 'env:MCP_TOKEN' },
    timeout: 5,
  };
  const made = await gateway.request(PATH, { method: 'POST', body: server });
  t.deepEqual([made.status, made.body], [201, { server }]);
  t.is((await gateway.request(PATH, { method: 'POST', body: server })).body.code, 'mcp.server-exists');
  t.regex(await readFile(path.join(gateway.folder, 'agents.d', 'mcp-sums.yaml'), 'utf8'), /kind: McpServer/);
  t.is(mcp.requests.length, 0, 'nothing is connected yet');

  const list = async (as?: string) => (await gateway.request(PATH, { ...(as && { token: as }) })).body;
  t.deepEqual(await list(), { servers: [server], total: 1, limit: 50, offset: 0 });
  t.deepEqual((await list(token)).servers, [{ name: 'sums', transport: 'http' }]);
  const { body } = await gateway.request(`${PATH}/sums/tools`, { token });
  t.is(body.count, body.tools.length);
  t.like(
    body.tools.find(({ name }: { name: string }) => name === 'add'),
    {
      description: 'Adds two numbers',
      input_schema: { required: ['a', 'b'] },
    },
  );
  t.is(mcp.requests[0]?.authorization, 'Bearer a-token-of-the-server');
  const { tools } = (await gateway.request('/api/v2/tools', { token })).body;
  t.true(tools.some(({ name }: { name: string }) => name === 'add'));

  t.is((await gateway.request(PATH, { method: 'POST', body: { ...server, name: 'x' }, token })).status, 403);
  t.is((await gateway.request(`${PATH}/sums`, { method: 'DELETE', token })).status, 403);
  t.is((await gateway.request(`${PATH}/sums`, { method: 'DELETE' })).status, 204);
  t.is((await gateway.request(`${PATH}/sums`, { method: 'DELETE' })).status, 404);
  t.is((await gateway.request(`${PATH}/sums/tools`)).status, 404);
});

test('a server that is away is 502, and bad ones are refused with the names of their fields', async (t) => {
  const gateway = await startRuntime(t);
  const post = (body: object) => gateway.request(PATH, { method: 'POST', body });
  t.is((await post({ name: 'away', transport: 'http', url: 'http://127.0.0.1:1/mcp' })).status, 201);
  const { status, body } = await gateway.request(`${PATH}/away/tools`);
  t.deepEqual([status, body.code], [502, 'mcp.unavailable']);
  const refused = async (given: object) => {
    const answer = await post({ name: 'bad', ...given });
    t.is(answer.status, 400, JSON.stringify(answer.body));
    return answer.body.errors[0].pointer;
  };
  t.is(await refused({ transport: 'http' }), '/body/url');
  t.is(await refused({ transport: 'http', url: 'ftp://x' }), '/body/url');
  t.is(await refused({ transport: 'http', url: 'http://a host/' }), '/body/url');
  t.is(await refused({ transport: 'http', url: 'http://user:password@host/' }), '/body/url');
  t.is(await refused({ transport: 'pipe', url: 'http://x' }), '/body/transport');
  t.is(await refused({ name: '../x', transport: 'http', url: 'http://x' }), '/body/name');
  t.is(await refused({ transport: 'stdio', command: '/bin/sh' }), '/body/command');
  const secret = { authorization: 'Bearer what-belongs-into-no-file' };
  t.is(await refused({ transport: 'http', url: 'http://x', headers: secret }), '/body/headers/authorization');
  const odd = { 'no header': 'Bearer what-belongs-into-no-file' };
  t.is(await refused({ transport: 'http', url: 'http://x', headers: odd }), '/body/headers/no header');
  t.is(await refused({ transport: 'stdio', command: 'x', env: { '1X': 'env:X' } }), '/body/env/1X');
  t.is((await gateway.request(PATH)).body.total, 1);
});

test('all problems of a server are told at once, but which programs are listed only of a sound one', async (t) => {
  const gateway = await startRuntime(t);
  const { token } = await gateway.makeTenant();
  const pointersOf = async (body: object, as: string) => {
    const answer = await gateway.request(PATH, { method: 'POST', body, token: as });
    t.is(answer.status, 400, JSON.stringify(answer.body));
    t.notRegex(JSON.stringify(answer.body), /SVC_MCP_STDIO_ALLOW/);
    return answer.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  };
  const server = {
    name: '../x',
    transport: 'http',
    command: '/bin/sh',
    headers: { a: 'secret' },
    timeout: 601,
  };
  const misfits = ['/body/command', '/body/headers/a', '/body/name', '/body/timeout', '/body/url'];
  const program = { name: 'x', transport: 'stdio', command: '/bin/sh', url: 'ftp://x', env: 7, retries: 5 };
  for (const as of [gateway.token, token]) {
    t.deepEqual(await pointersOf(server, as), misfits);
    t.deepEqual(await pointersOf(program, as), ['/body/env', '/body/retries', '/body/url']);
    t.deepEqual(await pointersOf({ transport: ['http'], url: 7, args: 'x' }, as), [
      '/body/args',
      '/body/name',
      '/body/transport',
      '/body/url',
    ]);
  }
  t.is((await gateway.request(PATH)).body.total, 0);
});

test('a program is started when the allow-list has its command; a file with other resources is left alone', async (t) => {
  const gateway = await startRuntime(t, { env: { SVC_MCP_STDIO_ALLOW: process.execPath } });
  const server = { name: 'local', transport: 'stdio', command: process.execPath, args: [PROGRAM] };
  t.is((await gateway.request(PATH, { method: 'POST', body: server })).status, 201);
  t.true((await gateway.request(`${PATH}/local/tools`)).body.count > 0);
  const file = path.join(gateway.folder, 'agents.d', 'mcp-local.yaml');
  const model = 'apiVersion: svc/v1\nkind: Model\nmetadata: {name: m}\nspec: {provider: demo, model: demo}\n';
  await writeFile(file, `${await readFile(file, 'utf8')}---\n${model}`);
  await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  t.is((await gateway.request(`${PATH}/local`, { method: 'DELETE' })).body.code, 'mcp.shared-file');
});
