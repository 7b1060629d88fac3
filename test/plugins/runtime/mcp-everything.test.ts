import { type ChildProcess, spawn } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { TestGateway } from '../../../testing/index.ts';
import { type ProviderReply, startFakeProvider, stream } from '../../support/fake-provider.ts';
import { freePort } from '../../support/free-port.ts';
import { open } from '../../support/request.ts';
import { until } from '../../support/until.ts';
import { eventsOf, type ReadEvent, startRuntime, toolCalls } from './runtime-gateway.ts';

/*
 * The MCP project's own server for trying clients, in a process of its own, over each transport: its tools are listed
 * and used, and its end by SIGKILL costs the call that it was busy with and nothing else.
 */

const PROGRAM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const SECRET = 'a-secret-of-the-server-0123456789';

/** A call that the model is to make. */
type Wish = readonly [tool: string, input: object];

const ECHO: Wish = ['echo', { message: 'Grüße' }];
const SUM: Wish = ['get-sum', { a: 2, b: 40 }];
/** Takes a minute. */
const LONG: Wish = ['trigger-long-running-operation', { duration: 60, steps: 1 }];

/** The server behind one transport. */
interface Everything {
  /** `spec` of its resource. */
  readonly spec: object;
  /** Ends its process with SIGKILL. */
  crash(): Promise<void>;
  /** Requests whose answer has begun; `undefined` where a message arrives when it is written. */
  answers(): number | undefined;
  /** Starts it anew, where the gateway does not do it. */
  restart(): Promise<void>;
}

const TRANSPORTS: Readonly<Record<'stdio' | 'http' | 'sse', (t: ExecutionContext) => Promise<Everything>>> = {
  stdio: async (t) => {
    // The program ignores it; it is how the process of this test is found.
    const mark = `of-${crypto.randomUUID()}`;
    return {
      spec: {
        transport: 'stdio',
        command: process.execPath,
        args: [PROGRAM, 'stdio', mark],
        env: { EVERYTHING_TOKEN: 'env:EVERYTHING_TOKEN' },
      },
      crash: async () => {
        const pids = await processesWith(mark);
        t.is(pids.length, 1, 'one process for the one tenant');
        process.kill(pids[0]!, 'SIGKILL');
        await until(() => !isAlive(pids[0]!));
      },
      restart: async () => {},
      answers: () => undefined,
    };
  },
  http: (t) => listening(t, 'http', 'streamableHttp', '/mcp'),
  sse: (t) => listening(t, 'sse', 'sse', '/sse'),
};

/** The server as a program that listens, on a port that it keeps over restarts. */
async function listening(
  t: ExecutionContext,
  transport: string,
  mode: string,
  route: string,
): Promise<Everything> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let child: ChildProcess;
  const restart = async () => {
    child = spawn(process.execPath, [PROGRAM, mode], {
      env: { PATH: process.env.PATH, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await until(() => said.includes(`port ${port}`));
  };
  const crash = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  await restart();
  t.teardown(crash);
  const headers = { authorization: 'env:EVERYTHING_TOKEN' };
  const spec = { transport, url: `${origin}${route}`, headers };
  return { spec, crash, restart, answers: answersTo(t, origin) };
}

/** Counts the answers that begin to POST requests of this process. */
function answersTo(t: ExecutionContext, origin: string): () => number {
  let count = 0;
  const onHeaders = (message: unknown) => {
    const { request } = message as { request: { origin: string; method: string } };
    if (request.origin === origin && request.method === 'POST') count += 1;
  };
  diagnostics.subscribe('undici:request:headers', onHeaders);
  t.teardown(() => diagnostics.unsubscribe('undici:request:headers', onHeaders));
  return () => count;
}

/** The processes whose command line has the text. */
async function processesWith(text: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process may end while it is looked at.
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
  const found = await Promise.all(lines);
  return pids.filter((_, index) => found[index]!.includes(text)).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A model that makes the calls which the user lists as JSON, and says "Done." to their results. */
async function obey(reply: ProviderReply): Promise<void> {
  const last = reply.request.body.messages.at(-1);
  await (last.role === 'user' ? toolCalls(...JSON.parse(last.content)) : stream(['Done.']))(reply);
}

/** A gateway with the server and an agent that has all its tools. */
async function start(t: ExecutionContext, everything: Everything) {
  const provider = await startFakeProvider(obey);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const gateway = await startRuntime(t, {
    env: {
      LLM_API_URL: provider.url,
      LLM_MODEL: 'fake',
      SVC_MCP_STDIO_ALLOW: process.execPath,
      EVERYTHING_TOKEN: SECRET,
    },
  });
  const save = (kind: string, name: string, spec: object) =>
    writeFile(
      path.join(gateway.folder, 'agents.d', `${name}.yaml`),
      JSON.stringify({ apiVersion: 'svc/v1', kind, metadata: { name }, spec }),
    );
  await save('McpServer', 'everything', everything.spec);
  await save('Agent', 'helper', { type: 'chat_model_agent', tools: [{ ref: 'mcp://everything/*' }] });
  const { body } = await gateway.request('/api/v2/admin/reload', { method: 'POST' });
  t.deepEqual(body, { loaded: 2, failed: [] });
  return { gateway, provider };
}

/** A chat in which the model makes the calls; `during` happens once the first of them is under way. */
async function chat(
  { url, token }: TestGateway,
  wishes: readonly Wish[],
  during = async () => {},
): Promise<readonly ReadEvent[]> {
  const body = { agent_id: 'helper', message: JSON.stringify(wishes) };
  const answer = await open(`${url}/api/v2/chat/stream?a2ui=true`, { method: 'POST', token, body });
  let text = '';
  let isUnderWay = false;
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (isUnderWay || !text.includes('event: tool_call\n')) continue;
    isUnderWay = true;
    await during();
  }
  return eventsOf(text);
}

/** The results of a chat that went on to its end. */
function resultsOf(t: ExecutionContext, events: readonly ReadEvent[]): readonly ReadEvent['data'][] {
  t.deepEqual(
    events.slice(-2).map(({ event, data }) => [event, data.data]),
    [
      ['text', { delta: 'Done.' }],
      ['done', null],
    ],
    JSON.stringify(events),
  );
  return events.filter(({ event }) => event === 'tool_result').map(({ data }) => data.data);
}

for (const [transport, server] of Object.entries(TRANSPORTS)) {
  const outOfProcess = transport !== 'stdio';

  test(`over ${transport} an agent uses the tools of server-everything, and its crash costs one call`, async (t) => {
    const everything = await server(t);
    const { gateway, provider } = await start(t, everything);
    const tools = () => gateway.request('/api/v2/admin/mcp/servers/everything/tools');
    const isReady = async () => (await gateway.request('/health/ready')).status === 200;
    const used = async () => {
      // Results come as the calls end.
      const results = resultsOf(t, await chat(gateway, [ECHO, SUM]));
      const [echo, sum] = results.toSorted((one, other) => one.name.localeCompare(other.name));
      t.like(echo, { name: 'echo', result: 'Echo: Grüße', is_error: false });
      t.like(sum, { name: 'get-sum', result: 'The sum of 2 and 40 is 42.', is_error: false });
    };
    const failed = async (events: Promise<readonly ReadEvent[]>, message: RegExp) => {
      const results = resultsOf(t, await events);
      t.is(results.length, 1);
      t.true(results[0].is_error);
      t.regex(results[0].result, message);
      t.notRegex(
        JSON.stringify(await events),
        new RegExp(`${SECRET}|node_modules|\\bat .*:\\d+|127\\.0\\.0\\.1`),
      );
    };

    const { status, body } = await tools();
    t.is(status, 200);
    t.is(body.count, body.tools.length);
    const names: string[] = body.tools.map(({ name }: { name: string }) => name);
    for (const name of ['echo', 'get-sum', 'get-tiny-image', LONG[0]]) t.true(names.includes(name), name);
    await used();
    const offered = provider.requests
      .at(-1)
      ?.body.tools.map((tool: { function: { name: string } }) => tool.function.name);
    t.deepEqual(offered, names);

    let readiness: Promise<boolean> | undefined;
    const before = everything.answers();
    const crash = async () => {
      if (before !== undefined) await until(() => everything.answers()! > before);
      await everything.crash();
      readiness = isReady();
    };
    await failed(
      chat(gateway, [LONG], crash),
      /^Error: The connection to the MCP server "everything" broke\./,
    );
    t.true(await readiness);
    const warnings = gateway.logs().filter((line) => line.includes('a call of an MCP server failed'));
    t.is(warnings.length, 1);
    t.false(warnings[0]!.includes(SECRET));

    if (outOfProcess) {
      await failed(chat(gateway, [ECHO]), /^Error: .*Not available now: mcp:\/\/everything\/\*\.$/);
      t.is((await tools()).body.code, 'mcp.unavailable');
      t.true(await isReady());
      await everything.restart();
    }
    // A server that was just started is not always there within the time that a run gives it.
    await until(async () => (await tools()).status === 200);
    await used();
    t.is((await tools()).body.count, names.length);

    // Between two calls a crash costs none.
    await everything.crash();
    await everything.restart();
    await until(async () => (await tools()).status === 200);
    await used();
    t.true(await isReady());
  });
}
