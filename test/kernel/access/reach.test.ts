import test from 'ava';
import { DEFAULT_TENANT_ID, type Identity } from '../../../kernel/access/identity.ts';
import {
  livingTenant,
  narrowedTo,
  reachedTenant,
  reachOf,
  requireReach,
} from '../../../kernel/access/reach.ts';
import { effectiveScopes } from '../../../kernel/access/roles.ts';
import type { TenantRecord } from '../../../kernel/tenancy/tenants.ts';

const ACME = '0197a000-0000-7000-8000-000000000002';
const DELETED = '0197a000-0000-7000-8000-000000000003';
const UNKNOWN = '0197a000-0000-7000-8000-000000000004';
const NO_ID = 'acme';

function caller(tenantId: string, roles: readonly string[], scopes: readonly string[] = []): Identity {
  return { id: 'caller', tenantId, roles, scopes: effectiveScopes(scopes, roles), method: 'api_key' };
}

const OPERATORS = {
  'operator admin': caller(DEFAULT_TENANT_ID, ['admin']),
  'operator with role tenant': caller(DEFAULT_TENANT_ID, ['tenant']),
};

const CONFINED = {
  'owner of the default tenant': caller(DEFAULT_TENANT_ID, ['owner']),
  'user of the default tenant': caller(DEFAULT_TENANT_ID, ['user']),
  'admin of another tenant': caller(ACME, ['admin'], ['read', 'write', 'execute', 'admin']),
  'owner of another tenant': caller(ACME, ['owner']),
  'tenant role of another tenant': caller(ACME, ['tenant']),
  'admin of a deleted tenant': caller(DELETED, ['admin']),
};

/** Tenants of which one is deleted; `asked` has the ids that were looked up. */
function directory() {
  const asked: string[] = [];
  const records = new Map(
    [DEFAULT_TENANT_ID, ACME, DELETED].map((id) => [
      id,
      { id, deletedAt: id === DELETED ? new Date(0) : null } as TenantRecord,
    ]),
  );
  return {
    asked,
    async get(id: string) {
      asked.push(id);
      return records.get(id);
    },
  };
}

for (const [name, identity] of Object.entries(OPERATORS)) {
  test(`${name}: reaches every tenant`, async (t) => {
    const tenants = directory();
    t.is(reachOf(identity), undefined);
    t.is(narrowedTo(identity, undefined), undefined);
    t.is(narrowedTo(identity, NO_ID), null);
    for (const id of [DEFAULT_TENANT_ID, ACME, DELETED, UNKNOWN]) {
      t.is(narrowedTo(identity, id), id);
      t.notThrows(() => requireReach(identity, id));
    }
    t.is((await reachedTenant(tenants, identity, ACME)).id, ACME);
    t.is((await reachedTenant(tenants, identity, DELETED)).id, DELETED);
    t.is((await livingTenant(tenants, identity, ACME)).id, ACME);
    await t.throwsAsync(livingTenant(tenants, identity, DELETED), { code: 'tenant.deleted' });
    await t.throwsAsync(livingTenant(tenants, identity, UNKNOWN), { code: 'tenant.not-found' });
  });

  test(`${name}: what is no id is not looked up`, async (t) => {
    const tenants = directory();
    await t.throwsAsync(reachedTenant(tenants, identity, NO_ID), { code: 'tenant.not-found' });
    t.deepEqual(tenants.asked, []);
  });
}

for (const [name, identity] of Object.entries(CONFINED)) {
  const own = identity.tenantId;

  test(`${name}: reaches its own tenant alone`, async (t) => {
    const tenants = directory();
    t.is(reachOf(identity), own);
    t.is(narrowedTo(identity, undefined), own);
    t.is(narrowedTo(identity, own), own);
    t.notThrows(() => requireReach(identity, own));
    t.is((await reachedTenant(tenants, identity, own)).id, own);
    if (own === DELETED)
      await t.throwsAsync(livingTenant(tenants, identity, own), { code: 'tenant.deleted' });
    else t.is((await livingTenant(tenants, identity, own)).id, own);
  });

  test(`${name}: another tenant is not there, and not looked up, whether it exists or not`, async (t) => {
    const tenants = directory();
    for (const id of [DEFAULT_TENANT_ID, ACME, DELETED, UNKNOWN, NO_ID].filter((one) => one !== own)) {
      t.is(narrowedTo(identity, id), null, id);
      t.throws(() => requireReach(identity, id), { code: 'tenant.not-found' }, id);
      await t.throwsAsync(reachedTenant(tenants, identity, id), { code: 'tenant.not-found' }, id);
      await t.throwsAsync(livingTenant(tenants, identity, id), { code: 'tenant.not-found' }, id);
    }
    t.deepEqual(tenants.asked, []);
  });
}
