import test, { type ExecutionContext } from 'ava';
import {
  DEFAULT_SANDBOX_POLICY,
  type SandboxPolicy,
  SandboxPolicyChanged,
} from '../../../../../plugins/agent-engine/contract.ts';
import { createSandboxPolicies } from '../../../../../plugins/agent-engine/services/policies/sandbox-policies.ts';
import { sandboxPolicies as migration } from '../../../../../plugins/agent-engine/store/migrations.ts';
import { SandboxPolicyRow } from '../../../../../plugins/agent-engine/store/sandbox-policy-row.ts';
import { eachDatabase, type FreshDatabase } from '../../../../support/databases.ts';
import { engineTables } from '../../engine-tables.ts';

const A = '01900000-0000-7000-8000-00000000000a';
const B = '01900000-0000-7000-8000-00000000000b';
const STRICT: SandboxPolicy = {
  enabled: false,
  maxTimeoutSeconds: 5,
  allowedTools: ['calculator', 'current_time'],
  allowDocker: false,
  restrictNetwork: false,
  maxOutputKb: 1,
};

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const tables = { entities: [SandboxPolicyRow], migrations: [migration] };
  const engine = await engineTables(t, fresh, tables);
  const told: unknown[] = [];
  const events = { emit: (event: { id: string }, payload: unknown) => void told.push([event.id, payload]) };
  const { clock, database } = engine;
  const replica = () => createSandboxPolicies({ database, clock, events });
  return { ...engine, told, replica, policies: replica(), of: (id: string) => database.forTenant(id) };
}

eachDatabase(test, "a policy is changed, removed, and is one tenant's", async (t, fresh) => {
  const { policies, of, told, database } = await open(t, fresh);
  t.is(await database.schemaDrift(), '');
  t.is(await policies.find(of(A)), undefined);
  t.false(await policies.remove(of(A)));
  await policies.change(of(A), STRICT);
  t.deepEqual(await policies.find(of(A)), STRICT);
  t.is(await policies.find(of(B)), undefined);
  t.is(await policies.of(B), DEFAULT_SANDBOX_POLICY);
  const open_ = { ...STRICT, allowedTools: null, enabled: true };
  await policies.change(of(A), open_);
  t.deepEqual(await policies.find(of(A)), open_);
  await policies.change(of(A), { ...open_, allowedTools: [] });
  t.deepEqual((await policies.of(A)).allowedTools, [], 'no tool is something else than every tool');
  t.true(await policies.remove(of(A)));
  t.is(await policies.find(of(A)), undefined);
  t.deepEqual(told.at(-1), [SandboxPolicyChanged.id, { tenantId: A }]);
});

eachDatabase(
  test,
  'a change holds at once here, and in another replica when it is told or a second later',
  async (t, fresh) => {
    const { policies, replica, of, clock } = await open(t, fresh);
    const [second, third] = [replica(), replica()];
    for (const each of [policies, second, third]) t.is(await each.of(A), DEFAULT_SANDBOX_POLICY);
    t.is(policies.of(A), DEFAULT_SANDBOX_POLICY, 'at hand');
    await policies.change(of(A), STRICT);
    t.deepEqual(await policies.of(A), STRICT);
    t.is(second.of(A), DEFAULT_SANDBOX_POLICY);
    second.forget(A);
    t.deepEqual(await second.of(A), STRICT);
    clock.advance(999);
    t.is(third.of(A), DEFAULT_SANDBOX_POLICY);
    clock.advance(1);
    t.deepEqual(await third.of(A), STRICT);
    third.forgetAll();
    const asked = third.of(A);
    t.true(asked instanceof Promise, 'asks the database again');
    await asked;
  },
);

eachDatabase(test, 'a change leaves what it does not name, also beside other changes', async (t, fresh) => {
  const { policies, of } = await open(t, fresh);
  await policies.change(of(B), { enabled: false });
  t.deepEqual(await policies.find(of(B)), { ...DEFAULT_SANDBOX_POLICY, enabled: false });
  await policies.change(of(A), { ...DEFAULT_SANDBOX_POLICY });
  const changes = Object.entries(STRICT).map(([name, value]) => ({ [name]: value }));
  await Promise.all([...changes, {}].map((change) => policies.change(of(A), change)));
  t.deepEqual(await policies.find(of(A)), STRICT);
});

eachDatabase(test, 'policies that are written at one time leave one of them', async (t, fresh) => {
  const { policies, of } = await open(t, fresh);
  const written = Array.from({ length: 10 }, (_, index) => ({ ...STRICT, maxTimeoutSeconds: index + 1 }));
  await Promise.all(written.map((policy) => policies.change(of(A), policy)));
  const kept = await policies.find(of(A));
  t.true(written.some(({ maxTimeoutSeconds }) => maxTimeoutSeconds === kept?.maxTimeoutSeconds));
});
