import type { ExecutionContext } from 'ava';
import { contentHashOf } from '../../../plugins/evolution/rules/content-hash.ts';
import { GeneTable } from '../../../plugins/evolution/store/tables.ts';
import type { TestGateway } from '../../../testing/index.ts';
import { freePorts } from '../../support/free-port.ts';
import { geneRow } from '../../support/gene-rows.ts';
import { startHub } from './hub-kit.ts';

/** Milliseconds: that it takes less than 5 s on a machine of its own is what the bench says. */
export const SOON = 30_000;

const GLOBAL = '/admin/v1/evolution/sharing-policy';
export const GENES = '/api/v2/admin/evolution/genes';
export const KEY = 'the-key-of-all-three-hubs';

/** A gateway that is a hub, and a node of other hubs. */
export interface Member extends TestGateway {
  readonly id: string;
  readonly tenant: { readonly id: string; readonly token: string };
}

/** The environment of gateways each of which is a node of all others. */
export function meshEnv(ports: readonly number[], own: number): Record<string, string> {
  const others = ports.filter((port) => port !== own);
  return {
    SAAS_API_PORT: String(own),
    SAAS_PUBLIC_URL: `http://127.0.0.1:${own}`,
    HUB_API_KEYS: KEY,
    HUB_DELIVERY_BACKOFF: '1s,1s,2s,5s,30s',
    EVOLUTION_ENABLED: 'true',
    EVOLUTION_HUB_URL: others.map((port) => `http://127.0.0.1:${port}`).join(','),
    EVOLUTION_HUB_API_KEY: KEY,
    EVOLUTION_SENDER_ID: `gateway-${own}`,
    SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1',
  };
}

/** Starts gateways each of which is hub and node of the others, with a tenant that shares and takes. */
export async function startMesh(
  t: ExecutionContext,
  environments: readonly Readonly<Record<string, string>>[],
): Promise<readonly Member[]> {
  const ports = await freePorts(environments.length);
  return Promise.all(environments.map((env, n) => startMember(t, ports, ports[n]!, env)));
}

/** Starts one of the gateways that have these ports. */
export async function startMember(
  t: ExecutionContext,
  ports: readonly number[],
  own: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Member> {
  const gateway = await startHub(t, { ...meshEnv(ports, own), ...env });
  const tenant = await gateway.makeTenant();
  await share(gateway, tenant.id);
  return Object.assign(gateway, { id: `gateway-${own}`, tenant });
}

/** Lets a tenant share and take, with its name. */
export async function share(gateway: Pick<TestGateway, 'request'>, tenantId: string): Promise<void> {
  await gateway.request(GLOBAL, { method: 'PUT', body: { mode: 'trusted' } });
  await gateway.request(`/admin/v1/evolution/tenants/${tenantId}/sharing-policy`, {
    method: 'PUT',
    body: { consume_shared: true, contribution_mode: 'trusted' },
  });
}

/** Whose genes they are, and where they are kept. */
type Keeper = Pick<Member, 'gateway'> & { readonly tenant: { readonly id: string } };

/** A candidate of the member's tenant; its id. */
export async function addGene(member: Keeper, taskClass: string): Promise<string> {
  const { database, ids } = member.gateway.services;
  const id = ids.uuid();
  const content = { taskClass, component: 'builtin/calculator', type: 'prefer' };
  const row = geneRow({
    id,
    taskClass,
    label: `Use it for ${taskClass}`,
    contentHash: contentHashOf(content),
  });
  await database.forTenant(member.tenant.id).insert(GeneTable, row);
  return id;
}

/** An operator's decision about a gene of the member. */
export async function decide(member: Member, id: string, decision: 'promote' | 'revoke' | 'quarantine') {
  const { token } = member.tenant;
  return member.request(`${GENES}/${id}/${decision}`, { method: 'POST', token, body: {} });
}

/** What the member's tenant has taken from others, by class: the states. */
export async function taken(member: Keeper): Promise<Readonly<Record<string, string>>> {
  const { database } = member.gateway.services;
  const rows = await database
    .forTenant(member.tenant.id)
    .rows(GeneTable, { source: 'hub' }, { limit: 10_000 });
  return Object.fromEntries(rows.map(({ taskClass, state }) => [taskClass, state]));
}

/** The classes that the hub of a member finds among its nodes. */
export async function found(member: Member): Promise<readonly string[]> {
  const { body } = await member.request('/api/v1/federation/genes');
  return body.results.map(({ taskClass }: { taskClass: string }) => taskClass).sort();
}

/** Those that the hub of a member has as healthy nodes. */
export async function nodesOf(member: Member): Promise<readonly string[]> {
  const { body } = await member.request('/api/v1/nodes');
  return body.nodes
    .filter(({ status }: { status: string }) => status === 'healthy')
    .map(({ node_id }: { node_id: string }) => node_id)
    .sort();
}
