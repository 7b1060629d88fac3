import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import type { LiveResource, Logger, Resource, ResourceView } from '../../../../../kernel/index.ts';
import type { McpServerSpec, Tool } from '../../../../../plugins/agent-engine/contract.ts';
import {
  type McpServer,
  mcpServerKind,
} from '../../../../../plugins/agent-engine/services/mcp/mcp-server.ts';
import { mcpToolSources } from '../../../../../plugins/agent-engine/services/mcp/mcp-tools.ts';
import { startMcpHttpServer } from '../../../../support/mcp-http-server.ts';
import { until } from '../../../../support/until.ts';
import { toolContext } from '../tool-context.ts';

const PROGRAM = path.resolve('test/support/mcp-program.ts');
const STDIO: McpServerSpec = { transport: 'stdio', command: process.execPath, args: [PROGRAM] };

const kindWith = (
  resolveSecret: (reference: string) => Promise<string>,
  log: Logger = pino({ enabled: false }),
  handshakeMs?: number,
) =>
  mcpServerKind({
    ...(handshakeMs !== undefined && { handshakeMs }),
    stdioAllow: [process.execPath],
    resolveSecret,
    clock: systemClock,
    version: '1.0.0',
    log,
  });
const kind = kindWith(async (reference) => `secret of ${reference}`);

function resource(spec: McpServerSpec): Resource<McpServerSpec> {
  return { apiVersion: 'svc/v1', kind: 'McpServer', metadata: { name: 'tools' }, spec };
}

/** The tools of a server, as the catalog sees them. */
async function open(t: ExecutionContext, spec: McpServerSpec, made = kind) {
  const value = await made.build(resource(spec), {} as never);
  t.teardown(() => value[Symbol.asyncDispose]());
  const live = { name: 'tools', value, resource: resource(spec), file: 'x.yaml', generation: 1 };
  const view: ResourceView<McpServer> = {
    get: () => value,
    acquire: () => ({ value, generation: 1, release: () => {}, [Symbol.dispose]: () => {} }),
    list: () => [live as LiveResource<McpServer>],
    onChange: () => () => {},
  };
  const source = mcpToolSources(view)()[0]!;
  const tools = await source.list('tenant', AbortSignal.timeout(20_000));
  return { value, source, tool: (name: string) => tools.find((tool) => tool.name === name)!, tools };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('the tools of a program are listed and called', async (t) => {
  const { source, tools, tool } = await open(t, STDIO);
  t.is(source.prefix, 'mcp://tools/');
  t.deepEqual(
    tools.map(({ ref }) => ref),
    ['add', 'client', 'broken', 'learn', 'long', 'slow'].map((name) => `mcp://tools/${name}`),
  );
  t.deepEqual(await tool('add').invoke({ a: 2, b: 40 }, toolContext()), { content: '42', isError: false });
});

test('a tool that a call gave to the server is there in the next turn', async (t) => {
  const { source, tool } = await open(t, STDIO);
  await tool('learn').invoke({}, toolContext());
  const tools = await source.list('tenant', AbortSignal.timeout(20_000));
  const learned = tools.find(({ name }) => name === 'learned')!;
  t.like(await learned.invoke({}, toolContext()), { content: 'It was learned.' });
});

test('tools are listed again after a change, over HTTP too, and once however often the server tells it', async (t) => {
  await using server = await startMcpHttpServer();
  const { source } = await open(t, { transport: 'http', url: server.url });
  const list = () => source.list('tenant', AbortSignal.timeout(20_000));
  const before = server.requests.length;
  await list();
  t.is(server.requests.length, before);
  for (let times = 0; times < 1000; times += 1) server.toolsChanged();
  await until(async () => (await list()).length > 0 && server.requests.length > before);
  await list();
  t.true(server.requests.length < before + 100, 'only who asks for the tools lists them');
});

test('a program finds nothing in its environment but PATH and what its resource says', async (t) => {
  const { tool } = await open(t, { ...STDIO, env: { REGION: 'env:REGION', TOKEN: 'env:SEARCH_TOKEN' } });
  const result = await tool('client').invoke({}, toolContext());
  const { env } = JSON.parse('content' in result ? result.content : '');
  const { TOKEN, ...others } = env;
  t.deepEqual(others, { PATH: '/usr/local/bin:/usr/bin:/bin', REGION: 'secret of env:REGION' });
  t.is(TOKEN, '[REDACTED:secret]', 'a result shows no credential of the operator');
});

test('each tenant has a program of its own', async (t) => {
  const { tool, source } = await open(t, STDIO);
  await source.list('other', AbortSignal.timeout(20_000));
  const pidOf = async (tenantId: string) => {
    const context = toolContext({ principal: { tenantId, identityId: 'i', userId: 'u' } });
    const result = await tool('client').invoke({}, context);
    return JSON.parse('content' in result ? result.content : '').pid;
  };
  t.not(await pidOf('tenant'), await pidOf('other'));
  t.is(await pidOf('tenant'), await pidOf('tenant'));
});

test('disposing a server ends its programs', async (t) => {
  const { value, tool } = await open(t, STDIO);
  const result = await tool('client').invoke({}, toolContext());
  const { pid } = JSON.parse('content' in result ? result.content : '');
  await value[Symbol.asyncDispose]();
  await until(() => !isAlive(pid));
  t.pass();
});

test('a program that died is started again by the next call', async (t) => {
  const { tool } = await open(t, STDIO);
  const pid = async () => {
    const result = await tool('client').invoke({}, toolContext());
    return JSON.parse('content' in result ? result.content : '').pid;
  };
  const first = await pid();
  process.kill(first, 'SIGKILL');
  await until(() => !isAlive(first));
  const isAnother = async () => (await pid().catch(() => first)) !== first;
  await until(isAnother);
  t.true(await isAnother());
});

test('a call that takes too long leaves the program as it is', async (t) => {
  const { tool } = await open(t, { ...STDIO, timeout: 3 });
  const before = await tool('client').invoke({}, toolContext());
  await t.throwsAsync(tool('slow').invoke({}, toolContext()), {
    code: 'mcp.unavailable',
    message: 'The MCP server "tools" gave no answer that can be used.',
  });
  t.deepEqual(await tool('client').invoke({}, toolContext()), before, 'the same process');
});

test('tools over HTTP are called with the headers of the resource', async (t) => {
  await using server = await startMcpHttpServer();
  const { tool } = await open(t, {
    transport: 'http',
    url: server.url,
    headers: { authorization: 'env:SEARCH_TOKEN' },
  });
  t.deepEqual(await tool('add').invoke({ a: 1, b: 2 }, toolContext()), { content: '3', isError: false });
  t.true(server.requests.every(({ authorization }) => authorization === 'secret of env:SEARCH_TOKEN'));
});

/**
 * A server that is not written with the library, which would refuse some of this; the URL. `isCut`: an answer was not
 * read to its end.
 */
async function startPlainServer(
  t: ExecutionContext,
  tool: object,
  called: object,
  isValid = (_?: string) => true,
) {
  const seen = { isCut: false };
  const server = http.createServer(async (request, response) => {
    const { id, method, params } = JSON.parse((await text(request)) || '{}');
    if (!isValid(request.headers.authorization)) {
      response.writeHead(401).end();
      return;
    }
    response.on('close', () => {
      seen.isCut ||= !response.writableFinished;
    });
    const known: Record<string, object> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'plain', version: '1' },
      },
      'tools/list': {
        tools: [tool].flat().map((one) => ({ name: 'plain', inputSchema: { type: 'object' }, ...one })),
      },
      'tools/call': called,
    };
    const error = { code: -32_601, message: 'unknown' };
    const result = known[method];
    response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
    response.end(
      id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, seen };
}

test('a header is read again at each new connection', async (t) => {
  await using server = await startMcpHttpServer();
  let token = 'old';
  const headers = { authorization: 'file:token' };
  const value = await kindWith(async () => token).build(
    resource({ transport: 'http', url: server.url, headers }),
    {} as never,
  );
  t.teardown(() => value[Symbol.asyncDispose]());
  token = 'new';
  t.true((await value.tools('tenant', AbortSignal.timeout(20_000))).length > 0);
  t.true(server.requests.length > 0 && server.requests.every(({ authorization }) => authorization === 'new'));
});

test('a credential that was exchanged counts with the next call', async (t) => {
  let token = 'old';
  const called = { content: [{ type: 'text', text: 'done' }] };
  const { url } = await startPlainServer(t, {}, called, (given) => given === token);
  const spec: McpServerSpec = { transport: 'http', url, headers: { authorization: 'file:token' } };
  const { tool } = await open(
    t,
    spec,
    kindWith(async () => token),
  );
  t.like(await tool('plain').invoke({}, toolContext()), { content: 'done' });
  token = 'new';
  t.like(await tool('plain').invoke({}, toolContext()), { content: 'done' });
});

test('an answer over HTTP that is too long for a message is not read to its end, and the model learns that the call was carried out', async (t) => {
  const long = { content: [{ type: 'text', text: 'x'.repeat(32 * 1024 * 1024) }] };
  const { url, seen } = await startPlainServer(t, {}, long);
  const { tool } = await open(t, { transport: 'http', url });
  await isTooLong(t, tool('plain').invoke({}, toolContext()));
  await until(() => seen.isCut);
});

test('of calls at one time the one with too long a result fails, where each has a stream of its own', async (t) => {
  await using server = await startMcpHttpServer();
  const { tool } = await open(t, { transport: 'http', url: server.url });
  const adding = tool('add').invoke({ a: 1, b: 2 }, toolContext());
  await isTooLong(t, tool('long').invoke({}, toolContext()));
  t.like(await adding, { content: '3' });
});

test('a program with too long a result is started again by the next call', async (t) => {
  const { tool } = await open(t, STDIO);
  await isTooLong(t, tool('long').invoke({}, toolContext()));
  t.like(await tool('add').invoke({ a: 1, b: 2 }, toolContext()), { content: '3' });
});

test('of calls that share the output of a program it is not known which one has too long a result', async (t) => {
  const { tool } = await open(t, STDIO);
  const calls = ['slow', 'long'].map((name) => tool(name).invoke({}, toolContext()));
  for (const call of calls)
    await t.throwsAsync(call, { message: /Whether the call was carried out is not known/ });
});

async function isTooLong(t: ExecutionContext, call: ReturnType<Tool['invoke']>): Promise<void> {
  const result = await call;
  t.true('isError' in result && result.isError);
  t.regex('content' in result ? result.content : '', /was carried out, but its result is larger than 4 MiB/);
}

test('the schema that a server has for its results is not tried', async (t) => {
  const outputSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  // Long enough to take for ever, if the pattern were tried.
  const structuredContent = { a: `${'a'.repeat(60)}!` };
  const { url } = await startPlainServer(t, { outputSchema }, { content: [], structuredContent });
  const { tool } = await open(t, { transport: 'http', url });
  t.deepEqual(await tool('plain').invoke({}, toolContext()), {
    content: JSON.stringify(structuredContent),
    isError: false,
  });
});

test('a tool that is too large for every call of a model is left out', async (t) => {
  const inputSchema = { type: 'object', description: 'x'.repeat(128 * 1024) };
  const { url } = await startPlainServer(t, { inputSchema }, {});
  t.deepEqual((await open(t, { transport: 'http', url })).tools, []);
});

test('a tool that the server describes wrongly costs none of its others, and the log says what is wrong', async (t) => {
  const { url } = await startPlainServer(
    t,
    [
      {},
      { name: 'bare', inputSchema: undefined },
      { name: 'listed', inputSchema: { type: 'object', required: 'x' } },
      { name: 'spoken', description: 7 },
      { name: 'marked', annotations: 'none', outputSchema: { type: 'string' } },
    ],
    { content: [{ type: 'text', text: 'done' }] },
  );
  const lines: { mcp_server?: string; tools?: number; flaws?: string[] }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { tools, tool } = await open(
    t,
    { transport: 'http', url },
    kindWith(async () => '', log),
  );
  t.deepEqual(
    tools.map(({ name }) => name),
    ['plain', 'marked'],
    'what the gateway does not use may be wrong',
  );
  t.like(await tool('marked').invoke({}, toolContext()), { content: 'done' });
  t.is(lines.length, 1);
  t.like(lines[0], { mcp_server: 'tools', tools: 3 });
  t.deepEqual(lines[0]?.flaws, [
    'bare: inputSchema: Invalid input: expected object, received undefined',
    'listed: inputSchema.required: Invalid input: expected array, received string',
    'spoken: description: Invalid input: expected string, received number',
  ]);
});

test("a tool's own failure and bad arguments are results for the model", async (t) => {
  const { tool } = await open(t, STDIO);
  t.deepEqual(await tool('broken').invoke({}, toolContext()), { content: 'It is broken.', isError: true });
  const result = await tool('add').invoke({ a: 'x' }, toolContext());
  t.true('isError' in result && result.isError);
});

test('a call ends when it is aborted', async (t) => {
  const { tool } = await open(t, STDIO);
  const abort = new AbortController();
  const call = tool('slow').invoke({}, toolContext({ signal: abort.signal }));
  abort.abort(new Error('enough'));
  await t.throwsAsync(call, { message: 'enough' });
});

test('a server that is away is mcp.unavailable, without its words', async (t) => {
  const value = await kind.build(resource({ transport: 'http', url: 'http://127.0.0.1:9/mcp' }), {} as never);
  const error = await t.throwsAsync(value.tools('tenant', AbortSignal.timeout(20_000)), {
    code: 'mcp.unavailable',
  });
  t.is(error?.message, 'The MCP server "tools" is not available.');
});

test('a server that never ends the handshake is given up, at the end of its time and when its resource goes', async (t) => {
  let asked = 0;
  const server = http.createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`;
  const listed = async (handshakeMs?: number) => {
    const made = kindWith(async () => '', undefined, handshakeMs);
    const value = await made.build(resource({ transport: 'sse', url }), {} as never);
    return { value, tools: value.tools('tenant', AbortSignal.timeout(20_000)) };
  };
  await t.throwsAsync((await listed(200)).tools, { code: 'mcp.unavailable' });
  const before = asked;
  const { value, tools } = await listed();
  await until(() => asked > before);
  await value[Symbol.asyncDispose]();
  await t.throwsAsync(tools, { code: 'mcp.unavailable' });
});

for (const { title, spec, pointers } of [
  {
    title: 'a program that is not allowed',
    spec: { transport: 'stdio', command: 'rm' },
    pointers: ['/spec/command'],
  },
  { title: 'a program without command', spec: { transport: 'stdio' }, pointers: ['/spec/command'] },
  { title: 'a server without url', spec: { transport: 'http' }, pointers: ['/spec/url'] },
  { title: 'a url without a host', spec: { transport: 'http', url: 'http://' }, pointers: ['/spec/url'] },
  {
    title: 'a url with credentials, which no request can be sent to',
    spec: { transport: 'sse', url: 'https://user:password@mcp.example.com/' },
    pointers: ['/spec/url'],
  },
  {
    title: 'members of the other transport',
    spec: { transport: 'http', url: 'https://example.com', command: 'x', env: {} },
    pointers: ['/spec/command', '/spec/env'],
  },
] as const) {
  test(`${title} is a problem of the resource`, (t) => {
    const made = resource(spec as McpServerSpec);
    const problems = [...kind.checkUnread!({ metadata: { ...made.metadata }, spec }), ...kind.check!(made)];
    t.deepEqual(
      problems.map(({ pointer }) => pointer),
      [...pointers],
    );
  });
}
