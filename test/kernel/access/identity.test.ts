import test from 'ava';
import {
  DEFAULT_TENANT_ID,
  type Identity,
  isOperator,
  LOCAL_ANONYMOUS,
} from '../../../kernel/access/identity.ts';
import { effectiveScopes, ROLES } from '../../../kernel/access/roles.ts';
import { hasScope } from '../../../kernel/access/scopes.ts';

function identity(tenantId: string, roles: readonly string[], scopes: readonly string[] = []): Identity {
  return { id: 'k', tenantId, roles, scopes: effectiveScopes(scopes, roles), method: 'api_key' };
}

test('operators are the administrators and governance roles of the default tenant alone', (t) => {
  for (const role of ROLES) {
    t.is(isOperator(identity(DEFAULT_TENANT_ID, [role])), role !== 'user' && role !== 'owner', role);
    t.false(isOperator(identity('another', [role], ['admin'])), role);
  }
});

test('neither a listed scope nor owner makes an operator, and owner confines governance roles beside it', (t) => {
  t.false(isOperator(identity(DEFAULT_TENANT_ID, ['user'], ['billing:*'])));
  t.false(isOperator(identity(DEFAULT_TENANT_ID, ['owner', 'billing'])));
  t.true(isOperator(identity(DEFAULT_TENANT_ID, ['owner', 'admin'])));
  t.true(isOperator(identity(DEFAULT_TENANT_ID, ['user'], ['admin'])));
});

test('whom protected mode serves without a credential is not an operator', (t) => {
  t.false(isOperator(LOCAL_ANONYMOUS));
});

test('an empty list of scopes is a legacy key: read, write, execute, never admin', (t) => {
  t.deepEqual([...effectiveScopes([], ['user'])], ['read', 'write', 'execute']);
  t.deepEqual([...effectiveScopes(['read'], ['user'])], ['read']);
});

test('roles carry their scopes beside the listed ones', (t) => {
  const carried: Record<string, readonly string[]> = {
    auditor: ['audit:read'],
    billing: ['billing:read', 'billing:write'],
    security: ['security:read', 'security:write', 'audit:read', 'sharing:read', 'sharing:write'],
    ops: ['ops:read', 'ops:write'],
    tenant: ['tenant:read', 'tenant:write', 'key:read', 'key:write'],
    platform: ['tenant:write', 'key:write', 'ops:write', 'channel:write'],
    owner: ['billing:write', 'security:write', 'channel:write', 'workflow:publish', 'read', 'anything:else'],
  };
  for (const [role, scopes] of Object.entries(carried)) {
    for (const scope of scopes)
      t.true(hasScope(effectiveScopes(['gdpr'], [role]), scope), `${role} ${scope}`);
    t.false(hasScope(effectiveScopes(['gdpr'], [role]), 'admin'), role);
  }
});

test('x:* covers its family and nothing else; the legacy audit scope covers audit:read', (t) => {
  const held = effectiveScopes(['ops:*'], []);
  t.true(hasScope(held, 'ops:read') && hasScope(held, 'ops:write'));
  for (const other of ['op', 'ops', 'opsx:read', 'x:ops', ':*', 'read', 'admin'])
    t.false(hasScope(held, other), other);
  t.true(hasScope(effectiveScopes(['audit'], []), 'audit:read'));
});
