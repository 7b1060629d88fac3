import test from 'ava';
import { GatewayError } from '../../../../foundation/base/gateway-error.ts';
import type { TenantRecord, TenantSettings } from '../../../../kernel/tenancy/tenants.ts';
import {
  permittedChanges,
  requireOperator,
} from '../../../../plugins/platform/services/tenant-administration.ts';
import { CALLERS, type CallerName, OTHER_TENANT } from './identities.ts';

const OPERATORS: readonly CallerName[] = ['operator admin', 'operator with role tenant'];

const current: TenantRecord = {
  id: OTHER_TENANT,
  name: 'Acme',
  plan: 'pro',
  rateLimitRpm: 60,
  chatContext: 'full',
  maxSessions: 100,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  deletedAt: null,
  purgeAfter: null,
  purgeStartedAt: null,
  purgedAt: null,
};

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return error instanceof GatewayError ? error.code : String(error);
  }
}

for (const [name, identity] of Object.entries(CALLERS)) {
  const isOperator = OPERATORS.includes(name as CallerName);

  test(`${name}: ${isOperator ? 'may' : 'may not'} do what is the operators' alone`, (t) => {
    const code = codeOf(() => requireOperator(identity, 'create tenants'));
    t.is(code, isOperator ? undefined : 'tenant.operator-only');
  });
}

const CHANGES: readonly [Partial<TenantSettings>, readonly string[]][] = [
  [{ name: 'New' }, []],
  [{ chatContext: 'none' }, []],
  [{ plan: 'pro', rateLimitRpm: 60, maxSessions: 100 }, []],
  [{ plan: 'enterprise' }, ['/body/plan']],
  [{ name: 'New', rateLimitRpm: 61 }, ['/body/rate_limit_rpm']],
  [{ maxSessions: 1, plan: 'pro' }, ['/body/max_sessions']],
  [
    { plan: 'free', rateLimitRpm: 1, maxSessions: 1 },
    ['/body/plan', '/body/rate_limit_rpm', '/body/max_sessions'],
  ],
];

for (const [wanted, refused] of CHANGES) {
  const change = JSON.stringify(wanted);

  test(`the tenant's own admin changes ${change}: ${refused.length === 0 ? 'allowed' : 'refused'}`, (t) => {
    const act = () => permittedChanges(CALLERS['admin of another tenant'], current, wanted);
    if (refused.length === 0) {
      t.deepEqual(act(), { name: wanted.name, chatContext: wanted.chatContext });
      return;
    }
    const error = t.throws(act, { instanceOf: GatewayError });
    t.is(error.code, 'tenant.operator-only');
    t.deepEqual(
      error.extras.errors?.map(({ pointer }) => pointer),
      refused,
    );
  });

  test(`an operator changes ${change}: allowed`, (t) => {
    t.deepEqual(permittedChanges(CALLERS['operator admin'], current, wanted), wanted);
  });
}
