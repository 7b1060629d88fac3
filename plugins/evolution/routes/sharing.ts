import {
  access,
  type Call,
  type FieldError,
  IdParams,
  livingTenant,
  pageOf,
  type Route,
  reachedTenant,
  refusing,
  reply,
  requireSound,
  route,
  type Tenants,
  type UnreadBody,
} from 'agent-gateway';
import { effectiveMode, SHARING_MODES, type SharingMode } from '../contract.ts';
import { NOTHING_SHARED, type Sharing, type TenantChoice } from '../services/sharing/policies.ts';
import type { GlobalSharingRow, TenantSharingRow } from '../store/tables.ts';
import * as schemas from './sharing-schemas.ts';

const GLOBAL = '/admin/v1/evolution/sharing-policy';
const TENANT = '/admin/v1/evolution/tenants/{id}/sharing-policy';
/** The global policy applies to all tenants, and names its author: only operators reach it. */
const operators = {
  access: access.governance(['sharing:*', 'security:*'], { operator: true }),
  tag: 'sharing-policy',
};
const tenantWide = { access: access.governance(['sharing:*', 'tenant:*']), tag: 'sharing-policy' };

const signature = (row: GlobalSharingRow | TenantSharingRow | undefined) => ({
  updated_at: row?.updatedAt.toISOString() ?? null,
  updated_by: row?.updatedBy ?? null,
  reason: row?.reason ?? null,
});
const toGlobal = (row: GlobalSharingRow | undefined) => ({
  mode: row?.mode ?? 'disabled',
  levels: SHARING_MODES,
  version: row?.version ?? 0,
  ...signature(row),
});

function toTenant(tenantId: string, globalMode: SharingMode, row: TenantSharingRow | undefined) {
  const { consumeShared, contributionMode, labels } = row ?? NOTHING_SHARED;
  return {
    tenant_id: tenantId,
    global_mode: globalMode,
    consume_shared: consumeShared,
    contribution_mode: contributionMode,
    labels,
    effective_contribution_mode: effectiveMode(globalMode, contributionMode),
    version: row?.version ?? 0,
    ...signature(row),
  };
}

const answer = <R extends { readonly version: number }>(record: R) =>
  reply.json(200, record, { etag: `"${record.version}"` });

/** The global sharing policy (decisions 1.11). */
export function globalSharingRoutes(sharing: Sharing): readonly Route[] {
  const audit = (call: Pick<Call, 'audit'>, from: GlobalSharingRow | undefined, to: GlobalSharingRow) => {
    const changes = { mode_from: from?.mode ?? 'disabled', mode_to: to.mode, version: to.version };
    call.audit({ changes });
    return answer(toGlobal(to));
  };
  const answers = { responses: { 200: schemas.GlobalPolicy }, answerHeaders: schemas.ETag };
  return [
    route({
      ...operators,
      method: 'GET',
      path: GLOBAL,
      summary: 'Read the global sharing policy; for operators',
      schema: answers,
      handle: async () => answer(toGlobal(await sharing.readGlobal())),
    }),
    route({
      ...operators,
      method: 'PUT',
      path: GLOBAL,
      summary: 'Set how much tenants may share at most; for operators',
      schema: { headers: schemas.IfMatch, body: schemas.SetGlobal, ...answers },
      handle: async (call) => {
        const { mode, reason } = call.body;
        const change = schemas.changeOf(call.identity.id, reason, call.headers['if-match']);
        const { before, row } = await sharing.setGlobal(mode, change);
        return audit(call, before, row);
      },
    }),
    route({
      ...operators,
      method: 'GET',
      path: `${GLOBAL}/history`,
      summary: 'List the versions of the global sharing policy, newest first; for operators',
      schema: { query: schemas.HistoryQuery, responses: { 200: schemas.GlobalHistory } },
      handle: async ({ query }) => {
        const page = pageOf(query);
        const [rows, total] = await sharing.globalHistory(page);
        return { entries: rows.map(toGlobal), total, ...page };
      },
    }),
    route({
      ...operators,
      method: 'POST',
      path: `${GLOBAL}/rollback`,
      summary: 'Bring a former version of the global sharing policy back, as a new version; for operators',
      schema: { headers: schemas.IfMatch, body: schemas.RollBack, ...answers },
      failures: ['not-found'],
      handle: async (call) => {
        const { version, reason } = call.body;
        const change = schemas.changeOf(call.identity.id, reason, call.headers['if-match']);
        const { before, row } = await sharing.rollBackGlobal(version, change);
        return audit(call, before, row);
      },
    }),
  ];
}

/** What no schema says of a tenant's choice: a reason alone chooses nothing. */
function choiceProblems({ reason: _, ...choice }: UnreadBody): readonly FieldError[] {
  if (Object.keys(choice).length > 0) return [];
  return [{ pointer: '/body', message: 'must have consume_shared, contribution_mode or labels' }];
}

/** The sharing policies of tenants (decisions 1.11). */
export function tenantSharingRoutes(sharing: Sharing, tenants: Pick<Tenants, 'get'>): readonly Route[] {
  const globalMode = async () => (await sharing.readGlobal())?.mode ?? 'disabled';
  const audit = async (
    call: Pick<Call, 'audit'>,
    from: TenantSharingRow | undefined,
    to: TenantSharingRow,
  ) => {
    const before = from ?? NOTHING_SHARED;
    const changes = {
      tenant_id: to.tenantId,
      version: to.version,
      consume_shared_from: before.consumeShared,
      consume_shared_to: to.consumeShared,
      contribution_mode_from: before.contributionMode,
      contribution_mode_to: to.contributionMode,
      labels_from: before.labels.join(','),
      labels_to: to.labels.join(','),
    };
    call.audit({ changes });
    return answer(toTenant(to.tenantId, await globalMode(), to));
  };
  const answers = { responses: { 200: schemas.TenantPolicy }, answerHeaders: schemas.ETag };
  const params = IdParams;
  return [
    route({
      ...tenantWide,
      method: 'GET',
      path: TENANT,
      summary: 'Read the sharing policy of a tenant, and what it comes to below the global policy',
      schema: { params, ...answers },
      handle: async ({ identity, params: { id } }) => {
        await reachedTenant(tenants, identity, id);
        return answer(toTenant(id, await globalMode(), await sharing.readTenant(id)));
      },
    }),
    route({
      ...tenantWide,
      method: 'PUT',
      path: TENANT,
      summary: 'Set what a tenant takes and gives; absent fields stay as they are',
      schema: { params, headers: schemas.IfMatch, body: schemas.SetTenant, ...answers },
      refuse: refusing(choiceProblems),
      handle: async (call) => {
        requireSound(choiceProblems(call.body));
        const { consume_shared, contribution_mode, labels, reason } = call.body;
        const { id } = call.params;
        await livingTenant(tenants, call.identity, id);
        const changes: Partial<TenantChoice> = {
          ...(consume_shared === undefined ? {} : { consumeShared: consume_shared }),
          ...(contribution_mode === undefined ? {} : { contributionMode: contribution_mode }),
          ...(labels === undefined ? {} : { labels }),
        };
        const change = schemas.changeOf(call.identity.id, reason, call.headers['if-match']);
        const { before, row } = await sharing.setTenant(id, changes, change);
        return audit(call, before, row);
      },
    }),
    route({
      ...tenantWide,
      method: 'GET',
      path: `${TENANT}/history`,
      summary: 'List the versions of the sharing policy of a tenant, newest first',
      description: 'What each came to is shown below the global policy of now.',
      schema: { params, query: schemas.HistoryQuery, responses: { 200: schemas.TenantHistory } },
      handle: async ({ identity, params: { id }, query }) => {
        await reachedTenant(tenants, identity, id);
        const page = pageOf(query);
        const mode = await globalMode();
        const [rows, total] = await sharing.tenantHistory(id, page);
        return { entries: rows.map((row) => toTenant(id, mode, row)), total, ...page };
      },
    }),
    route({
      ...tenantWide,
      method: 'POST',
      path: `${TENANT}/rollback`,
      summary: 'Bring a former version of the sharing policy of a tenant back, as a new version',
      schema: { params, headers: schemas.IfMatch, body: schemas.RollBack, ...answers },
      handle: async (call) => {
        const { id } = call.params;
        await livingTenant(tenants, call.identity, id);
        const { version, reason } = call.body;
        const change = schemas.changeOf(call.identity.id, reason, call.headers['if-match']);
        const { before, row } = await sharing.rollBackTenant(id, version, change);
        return audit(call, before, row);
      },
    }),
  ];
}
