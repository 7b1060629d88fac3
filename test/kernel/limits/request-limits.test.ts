import test from 'ava';
import type { CallState } from '../../../kernel/chain/call-state.ts';
import { type RequestLimitParts, RequestLimits } from '../../../kernel/chain/rate-limit.ts';

test('callers whose names read alike when they are put together are counted apart', (t) => {
  const counted: string[] = [];
  const parts = {
    windows: {
      consume(window: string, key: string) {
        if (window === 'user') counted.push(key);
        return { allowed: true, limit: 2, remaining: 1 };
      },
    },
    settings: { user: 2 },
  };
  const limits = new RequestLimits(parts as unknown as RequestLimitParts);
  const tenant = { id: 't', rateLimitRpm: 9 };
  const callers = [
    { identity: { tenantId: 't', id: 'auth0:7' } },
    { identity: { tenantId: 't', id: 'auth0' }, userHeader: '7' },
  ];
  for (const caller of callers)
    limits.countTenant({ ...caller, tenant, tellLimit: () => undefined } as unknown as CallState);
  t.is(new Set(counted).size, 2);
});
