import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { freePorts } from '../../test/support/free-port.ts';
import { type Child, startCommand } from './child.ts';
import { startModel } from './evolution/model.ts';
import { GATEWAY, gatewayEnvironment, giveRoom, TOKEN } from './gateway.ts';

const GATEWAYS = 3;
const KEY = 'the-key-of-all-hubs';
const TENANT = '00000000-0000-0000-0000-000000000001';
const GENES = '/api/v2/admin/evolution/genes';
const FOUND = '/api/v1/federation/genes';
/** Milliseconds after which the benchmark stops waiting for a condition. */
const DEADLINE = 60_000;
const AGENT = `apiVersion: svc/v1
kind: Agent
metadata: {name: clerk}
spec:
  type: chat_model_agent
  system_prompt: Help.
  tools: [{ref: builtin/current_time}]
  evolution: {enabled: true, task_class: time}
`;

/** Milliseconds until the decision has reached the other gateways. */
export interface NetworkTimes {
  /** The others' hubs find a gene that was promoted, and their tenants have taken it. */
  readonly promoted: number;
  /** The others' hubs do not find it any more, and their tenants have it as revoked. */
  readonly revoked: number;
}

/**
 * Three gateways, each hub and node of the others: an agent of the first learns a gene, and an operator promotes it,
 * and then revokes it.
 */
export async function measureNetwork(): Promise<NetworkTimes> {
  const folder = await mkdtemp(path.join(tmpdir(), 'hub-network-'));
  const model = await startModel(() => ({ name: 'current_time', works: true }));
  const gateways: Child[] = [];
  try {
    const ports = await freePorts(GATEWAYS);
    for (const own of ports) gateways.push(await start(path.join(folder, `${own}`), own, ports, model.url));
    const [one, ...others] = gateways as [Child, ...Child[]];
    for (const { url } of gateways) {
      await giveRoom(url, 100);
      await share(url);
    }
    for (const { url } of gateways)
      await until(async () => (await nodesOf(url)).length === GATEWAYS - 1, 'all have registered');
    await call(one.url, 'POST', '/api/v2/chat/stream', { agent_id: 'clerk', message: 'Do "#1"' });
    let id: string | undefined;
    await until(async () => {
      id = (await genesOf(one.url)).find(({ label }) => label.includes('current_time'))?.id;
      return id !== undefined;
    }, 'the agent has learned');
    const decided = async (decision: string, has: (state: string | undefined, found: number) => boolean) => {
      const begun = performance.now();
      await call(one.url, 'POST', `${GENES}/${id}/${decision}`, {});
      for (const { url } of others)
        await until(async () => {
          const [gene] = await genesOf(url);
          const { results } = await call(url, 'GET', FOUND);
          return has(gene?.state, (results as unknown[]).length);
        }, decision);
      return performance.now() - begun;
    };
    return {
      promoted: await decided('promote', (state, found) => state === 'candidate' && found === 1),
      revoked: await decided('revoke', (state, found) => state === 'revoked' && found === 0),
    };
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    model.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function start(folder: string, own: number, ports: readonly number[], model: string): Promise<Child> {
  await mkdir(path.join(folder, 'agents.d'), { recursive: true });
  await writeFile(path.join(folder, 'agents.d', 'clerk.yaml'), AGENT);
  const others = ports.filter((port) => port !== own).map((port) => `http://127.0.0.1:${port}`);
  return startCommand(process.execPath, GATEWAY, {
    env: {
      ...gatewayEnvironment(folder),
      SAAS_API_PORT: `${own}`,
      SAAS_PUBLIC_URL: `http://127.0.0.1:${own}`,
      SVC_AGENTS_DIR: path.join(folder, 'agents.d'),
      SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1',
      LLM_API_URL: model,
      LLM_MODEL: 'bench',
      LLM_API_KEY: 'bench',
      EVOLUTION_ENABLED: 'true',
      EVOLUTION_SENDER_ID: `gateway-${own}`,
      EVOLUTION_HUB_URL: others.join(','),
      EVOLUTION_HUB_API_KEY: KEY,
      HUB_API_KEYS: KEY,
    },
  });
}

/** Allows the default tenant to share its genes and to take those of others. */
async function share(url: string): Promise<void> {
  await call(url, 'PUT', '/admin/v1/evolution/sharing-policy', { mode: 'trusted' });
  await call(url, 'PUT', `/admin/v1/evolution/tenants/${TENANT}/sharing-policy`, {
    consume_shared: true,
    contribution_mode: 'trusted',
  });
}

interface Listed {
  readonly id: string;
  readonly label: string;
  readonly state: string;
}

async function genesOf(url: string): Promise<readonly Listed[]> {
  return (await call(url, 'GET', GENES)).genes as readonly Listed[];
}

async function nodesOf(url: string): Promise<readonly unknown[]> {
  return (await call(url, 'GET', '/api/v1/nodes')).nodes as readonly unknown[];
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const begun = performance.now();
  while (!(await isSo())) {
    if (performance.now() - begun > DEADLINE) throw new Error(`not within a minute: ${what}`);
    await pause(20);
  }
}

async function call(
  url: string,
  method: 'GET' | 'PUT' | 'POST',
  where: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const answer = await request(`${url}${where}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${method} ${where}: ${answer.statusCode} ${text}`);
  return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
}
