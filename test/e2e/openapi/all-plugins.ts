import { globSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from '../../../kernel/api/plugin.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';
import { type FakeHub, startFakeHub } from '../../support/fake-hub.ts';
import { type FakeMessenger, startFakeMessenger } from '../../support/fake-messenger.ts';
import type { Operation, Received } from './contract.ts';
import type { Input } from './inputs.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const PLENTY = '100000';
/** Streams that last until their reader leaves. */
const ENDLESS = ['GET /api/v1/dashboard/stream', 'GET /api/v2/admin/logs'];

/**
 * A gateway with every bundled plugin, another one, a messenger through which people log in, and a hub of which it is a
 * node.
 */
export interface AllPlugins extends TestGateway {
  readonly hub: FakeHub;
  readonly messenger: FakeMessenger;
}

/** Starts it. */
export async function startAll(
  plugin: Plugin,
  environment: Readonly<Record<string, string>> = {},
): Promise<AllPlugins> {
  const messenger = await startFakeMessenger('feishu');
  const hub = await startFakeHub();
  const files = globSync('plugins/*/plugin.ts', { cwd: ROOT });
  const bundled = await Promise.all(
    files.map(async (file) => (await import(pathToFileURL(path.join(ROOT, file)).href)).default as Plugin),
  );
  const env = {
    SVC_ENABLE_MOCK_SESSIONS: 'true',
    SVC_ANON_RATE_LIMIT_RPM: PLENTY,
    SVC_BOOTSTRAP_RATE_LIMIT_RPM: PLENTY,
    SVC_MCP_STDIO_ALLOW: process.execPath,
    SVC_CHANNEL_FEISHU_URL: messenger.url,
    SVC_CHANNEL_HASH_SECRET: 'a-secret-of-at-least-32-characters!',
    SAAS_PUBLIC_URL: 'https://gateway.example',
    FEISHU_SECRET: messenger.secret,
    SAAS_STATIC_DIR: path.join(import.meta.dirname, 'pages'),
    EVOLUTION_ENABLED: 'true',
    EVOLUTION_HUB_URL: hub.url,
    HUB_DELIVERY_BACKOFF: '10ms,10ms,10ms,10ms,10ms',
    SVC_EGRESS_ALLOW_PRIVATE: 'localhost',
    LOG_LEVEL: 'warn',
    ...environment,
  };
  const gateway = await startTestGateway({ plugins: [...bundled, plugin], env });
  const { stop } = gateway;
  return Object.assign(gateway, {
    messenger,
    hub,
    async stop() {
      await stop();
      await messenger.close();
      await hub.close();
    },
  });
}

/** Calls an operation; what the input does not name in the path is `unknown`. */
export async function send(
  gateway: TestGateway,
  { key, method, path: pattern, requestBody }: Operation,
  input: Input,
): Promise<Received> {
  const { params = {}, query = {}, headers = {}, body, token = gateway.token } = input;
  const where = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? 'unknown'),
  );
  const type = Object.keys(requestBody?.content ?? {})[0] ?? 'application/json';
  const search = new URLSearchParams(query).toString();
  const response = await fetch(`${gateway.url}${where}${search && `?${search}`}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    redirect: 'manual',
    signal: AbortSignal.timeout(30_000),
  });
  const { status, headers: answered } = response;
  if (response.ok && ENDLESS.includes(key)) {
    await response.body?.cancel();
    return { status, headers: answered, text: '' };
  }
  return { status, headers: answered, text: await response.text() };
}
