import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { request } from 'undici';
import { type Child, startCommand } from './child.ts';

/** The static token of gateways of benchmarks. */
export const TOKEN = 'acp_benchmark_token_of_one_run_only';

/** The flags of `npm start`, and the gateway. */
export const GATEWAY = [
  '--max-semi-space-size=16',
  '--expose-gc',
  '--disable-sigusr1',
  path.join(import.meta.dirname, '../../kernel/main.js'),
];

/**
 * The variables of a gateway in production on free ports of the loopback interface, with everything that it keeps in
 * `folder`.
 */
export function gatewayEnvironment(folder: string): Record<string, string> {
  return {
    NODE_ENV: 'production',
    SAAS_API_PORT: '0',
    SVC_RUNTIME_ADDR: '127.0.0.1:0',
    HUB_ADDR: '127.0.0.1:0',
    SVC_GRPC_ADDR: '127.0.0.1:0',
    SVC_HOST: '127.0.0.1',
    SVC_DATA_DIR: folder,
    SVC_CONFIG: path.join(folder, 'gateway.yaml'),
    SVC_ACP_TOKEN: TOKEN,
  };
}

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/**
 * Starts the version of the gateway in `root` as its `npm start` does, in production on an empty data folder, and stops
 * it after `use`.
 *
 * @param use Gets the process, and the milliseconds until it was ready.
 */
export async function withGateway<T>(
  root: string,
  env: Record<string, string>,
  use: (child: Child, wall: number) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-bench-'));
  const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const began = performance.now();
  const child = await startCommand('sh', ['-c', scripts.start], {
    cwd: root,
    env: { ...gatewayEnvironment(folder), ...env },
  });
  try {
    return await use(child, performance.now() - began);
  } finally {
    await child.stop();
    await rm(folder, { recursive: true });
  }
}

/** Raises the limits of the default tenant so that they do not interfere. */
export function giveRoom(url: string, maxSessions: number): Promise<unknown> {
  const limits = { rate_limit_rpm: 1_000_000, max_sessions: maxSessions };
  return call(`${url}/v1/tenants/${DEFAULT_TENANT}`, 'PUT', limits);
}

/** Makes a key of that tenant, as clients have it. */
export async function makeKey(url: string): Promise<string> {
  const made = await call(`${url}/v1/api-keys`, 'POST', { name: 'bench', roles: ['user'] });
  return (made as { key: string }).key;
}

async function call(url: string, method: 'PUT' | 'POST', body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const answer = await request(url, { method, headers, body: JSON.stringify(body) });
  const value = await answer.body.json();
  if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${JSON.stringify(value)}`);
  return value;
}
