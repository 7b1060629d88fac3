import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import { GeneTable } from '../../../plugins/evolution/store/tables.ts';
import { geneRow } from '../../support/gene-rows.ts';
import type { AllPlugins } from './all-plugins.ts';
import type { Step } from './step.ts';

const GLOBAL = '/admin/v1/evolution/sharing-policy';
const TENANT = '/admin/v1/evolution/tenants/{id}/sharing-policy';
const params = { id: DEFAULT_TENANT_ID };
const choice = { consume_shared: true, contribution_mode: 'anonymous', labels: ['support'] };
const none = () => ({});

/** One success of each operation of sharing: two versions of each policy, so that there is one to go back to. */
export const sharingSuccesses: readonly Step[] = [
  [`PUT ${GLOBAL}`, () => ({ body: { mode: 'anonymous' } })],
  [`PUT ${GLOBAL}`, () => ({ body: { mode: 'disabled', reason: 'Not yet' } })],
  [`POST ${GLOBAL}/rollback`, () => ({ body: { version: 1 } })],
  [`GET ${GLOBAL}`, none],
  [`GET ${GLOBAL}/history`, none],
  [`PUT ${TENANT}`, () => ({ params, body: choice })],
  [`PUT ${TENANT}`, () => ({ params, body: { consume_shared: false } })],
  [`POST ${TENANT}/rollback`, () => ({ params, body: { version: 1 } })],
  [`GET ${TENANT}`, () => ({ params })],
  [`GET ${TENANT}/history`, () => ({ params })],
  ['POST /admin/v1/evolution/shared-knowledge/revoke', () => ({ body: { task_class: 'refunds' } })],
];

const EVOLUTION = '/api/v2/admin/evolution';

/** One success of each operation of genes. */
export function geneSuccesses({ gateway }: AllPlugins): readonly Step[] {
  const { database, ids } = gateway.services;
  const made = async () => {
    const id = ids.uuid();
    const gene = geneRow({ id, agentName: `helper-${id.slice(-6)}`, label: 'Use it for sums' });
    await database.forTenant(DEFAULT_TENANT_ID).insert(GeneTable, gene);
    return { params: { id } };
  };
  const decided = async () => ({ ...(await made()), body: { reason: 'Tried' } });
  return [
    [`GET ${EVOLUTION}/genes/{id}`, made],
    [`POST ${EVOLUTION}/genes/{id}/promote`, decided],
    [`POST ${EVOLUTION}/genes/{id}/quarantine`, decided],
    [`POST ${EVOLUTION}/genes/{id}/revoke`, decided],
    [`GET ${EVOLUTION}/genes`, () => ({ query: { q: 'sums' } })],
    [`GET ${EVOLUTION}/stats`, none],
    [`POST ${EVOLUTION}/recommend`, () => ({ body: { query: 'sums' } })],
    [`GET ${EVOLUTION}/federated`, () => ({ query: { q: 'sums' } })],
  ];
}
