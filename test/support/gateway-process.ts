import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { deploymentOf, startTestGateway, type TestGateway } from '../../testing/start-test-gateway.ts';
import { type PlainRequest, type PlainResponse, send } from './request.ts';

const MAIN = fileURLToPath(new URL('../../kernel/main.js', import.meta.url));

/** The static token of gateways of tests. */
export const ACP_TOKEN = 'acp_static_token_of_a_gateway_process_0123456789';

/** Settings for what every gateway does: with the plugins of a chat alone it starts in two thirds of the time. */
export const FEW_PLUGINS = { SVC_PLUGINS: 'platform' };

/** How long a start may take on a busy machine. */
const START_DEADLINE_MS = 60_000;

/** What a process left behind. */
export interface Ended {
  /** `null` after a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The log, one JSON object a line. */
  readonly stdout: string;
  /** What is meant for a person. */
  readonly stderr: string;
}

/** A gateway in a process of its own, as an operator runs it. */
export interface GatewayProcess {
  /** Where it answers. */
  readonly url: string;
  readonly pid: number;
  /** Sends a request, with the static token unless it says otherwise. */
  request(path: string, request?: PlainRequest): Promise<PlainResponse>;
  /** The log lines so far, parsed. */
  logs(): readonly Readonly<Record<string, unknown>>[];
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended, by whatever. */
  readonly ended: Promise<Ended>;
  /** Ends it with SIGTERM, at once with SIGKILL. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** A folder of a test, which goes with it. */
export async function temporaryFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-process-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Starts `kernel/main.js` on a free port and waits until it is ready. The process sees only the variables given here
 * (and `PATH`); its working directory, and with it `gateway.yaml` and the data folder, is `folder`. It ends with the
 * test.
 *
 * @throws Error with the output of a process that ended instead.
 */
export async function startGatewayProcess(
  t: ExecutionContext,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const running = launch(folder, { SVC_ACP_TOKEN: ACP_TOKEN, ...env });
  t.teardown(async () => {
    running.child.kill('SIGKILL');
    await running.ended;
  });
  const url = await Promise.race([running.ready, running.ended, deadline()]);
  if (typeof url !== 'string') throw new Error(`the gateway did not start: ${url.stdout}${url.stderr}`);
  const { child, ended } = running;
  return {
    url,
    pid: child.pid as number,
    request: (where, request = {}) => send(`${url}${where}`, { token: ACP_TOKEN, ...request }),
    logs: () => parseLines(running.stdout()),
    kill: (signal) => child.kill(signal),
    ended,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}

/**
 * Starts a gateway in this process where one in a process of its own was: what that one has left is there as after a
 * restart, for a tenth of its cost. It ends with the test.
 */
export async function startInFolder(
  t: ExecutionContext,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    env: {
      SVC_DATA_DIR: path.join(folder, 'data'),
      SVC_AGENTS_DIR: path.join(folder, 'agents.d'),
      SVC_DEPLOYMENT: deploymentOf(env.DATABASE_URL ?? folder),
      ...env,
    },
  });
  t.teardown(gateway.stop);
  return gateway;
}

/** Runs `kernel/main.js` until it ends by itself, for starts that must fail and for work that is no server. */
export async function runGatewayProcess(
  t: ExecutionContext,
  folder: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<Ended> {
  const { child, ready, ended } = launch(folder, env, args);
  t.teardown(() => child.kill('SIGKILL'));
  const end = await Promise.race([ended, ready, deadline()]);
  if (typeof end === 'string') throw new Error(`the gateway started, at ${end}`);
  return end;
}

interface Launched {
  readonly child: ChildProcess;
  /** The URL of its `ready` line. */
  readonly ready: Promise<string>;
  readonly ended: Promise<Ended>;
  stdout(): string;
}

/** Compiled code that the test run keeps: a gateway starts in two thirds of the time with it. */
const COMPILE_CACHE: Readonly<Record<string, string>> =
  process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: path.resolve(process.env.NODE_COMPILE_CACHE) };

function launch(
  folder: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Launched {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      SVC_HOST: '127.0.0.1',
      SAAS_API_PORT: '0',
      SVC_RUNTIME_ADDR: '127.0.0.1:0',
      HUB_ADDR: '127.0.0.1:0',
      SVC_GRPC_ADDR: '127.0.0.1:0',
      SVC_DEPLOYMENT: deploymentOf(env.DATABASE_URL ?? folder),
      ...COMPILE_CACHE,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const { promise: ready, resolve } = Promise.withResolvers<string>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const line = parseLines(stdout).find(({ msg }) => msg === 'ready');
    if (line !== undefined) resolve(String(line.url));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }) as Ended);
  return { child, ready, ended, stdout: () => stdout };
}

/** The whole lines; the last one may still be on its way. */
function parseLines(text: string): Record<string, unknown>[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

async function deadline(): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const overdue = () => reject(new Error(`nothing happened within ${START_DEADLINE_MS} ms`));
  setTimeout(overdue, START_DEADLINE_MS).unref();
  return promise;
}
