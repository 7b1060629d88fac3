import test from 'ava';
import { DEFAULT_TENANT_ID } from '../../../../../kernel/access/identity.ts';
import { ResourceErrors } from '../../../../../kernel/index.ts';
import {
  type AgentCaller,
  createAgentDefinitions,
} from '../../../../../plugins/runtime/services/admin/agent-definitions.ts';
import { manualClock } from '../../../../../testing/index.ts';

const INFO = {
  name: 'mine',
  description: '',
  type: 'chat_model_agent',
  model: 'demo',
  subAgents: [],
} as const;
const ROW = { name: 'mine', outline: JSON.stringify(INFO), createdAt: 1, updatedAt: 1 };
const inYaml = <T extends { readonly pointer: string }>(problem: T) => ({
  ...problem,
  pointer: `/yaml${problem.pointer}`,
});

/** Definitions over a database and a folder that do as the test says. */
function definitionsOver(parts: { writeTogether?: () => Promise<boolean>; write?: () => Promise<never> }) {
  const entities = {
    rows: async () => [{ ...ROW, definition: JSON.stringify('kind: Agent') }],
    count: async () => 0,
    ...parts,
  };
  return createAgentDefinitions({
    agents: {
      list: async () => [],
      check: async () => ({ agent: { ...INFO, source: 'tenant' }, errors: [] }),
    },
    resources: { source: () => undefined, remove: async () => {}, ...parts } as never,
    database: { forTenant: () => entities } as never,
    leases: { withLease: (_key, _options, work) => work({} as never) },
    events: { writes: async () => [], emit: async () => {} },
    clock: manualClock(),
    changed: () => {},
  });
}

const ADMIN: AgentCaller = { tenantId: 'tenant', isAdmin: true, isOperator: false };
const OPERATOR: AgentCaller = { tenantId: DEFAULT_TENANT_ID, isAdmin: true, isOperator: true };

test('a change that always loses against those of others is given up in the end', async (t) => {
  let attempts = 0;
  const definitions = definitionsOver({
    writeTogether: async () => {
      attempts += 1;
      return false;
    },
  });
  await t.throwsAsync(
    definitions.update(ADMIN, 'mine', (yaml) => yaml, inYaml),
    { code: 'agent.contended' },
  );
  t.is(attempts, 10);
});

test('what the folder finds wrong with a file is told as what the check finds, in terms of the request', async (t) => {
  const problem = { line: 6, pointer: '/spec/sub_agents/0/ref', message: 'there is no Agent' };
  const definitions = definitionsOver({
    write: async () => {
      throw ResourceErrors.invalid(undefined, { errors: [problem] });
    },
  });
  const refused = await t.throwsAsync(definitions.create(OPERATOR, 'kind: Agent', inYaml), {
    code: 'agent.definition-invalid',
  });
  t.like(refused, { extras: { errors: [{ ...problem, pointer: '/yaml/spec/sub_agents/0/ref' }] } });
  const busy = definitionsOver({
    write: async () => {
      throw ResourceErrors.busy();
    },
  });
  await t.throwsAsync(busy.create(OPERATOR, 'kind: Agent', inYaml), { code: 'resource.busy' });
});
