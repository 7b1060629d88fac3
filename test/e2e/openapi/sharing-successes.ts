import { DEFAULT_TENANT_ID } from '../../../kernel/access/identity.ts';
import type { Step } from './successes.ts';

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
