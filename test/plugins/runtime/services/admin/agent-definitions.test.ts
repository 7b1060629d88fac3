import { setTimeout as sleep } from 'node:timers/promises';
import type { Resources } from 'agent-gateway';
import test from 'ava';
import { KeyedMutex } from '../../../../../foundation/base/semaphore.ts';
import { DEFAULT_TENANT_ID } from '../../../../../kernel/access/identity.ts';
import { ResourceErrors } from '../../../../../kernel/index.ts';
import {
  type AgentCaller,
  createAgentDefinitions,
} from '../../../../../plugins/runtime/services/admin/agent-definitions.ts';
import { MAX_AGENTS } from '../../../../../plugins/runtime/services/admin/tenant-agents.ts';
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
function definitionsOver(parts: {
  count?: () => Promise<number>;
  writeTogether?: () => Promise<boolean>;
  source?: Resources['source'];
  write?: (file: string, text: string, options: { readonly before?: string }) => Promise<void>;
}) {
  const turns = new KeyedMutex();
  const entities = {
    rows: async () => [{ ...ROW, definition: JSON.stringify('kind: Agent') }],
    count: async () => 0,
    ...parts,
  };
  return createAgentDefinitions({
    agents: {
      list: async () => [],
      check: async () => ({ agent: { ...INFO, source: 'tenant' }, errors: [], warnings: [] }),
    },
    resources: { source: () => undefined, remove: async () => {}, ...parts } as never,
    database: { forTenant: () => entities } as never,
    leases: { withLease: (key, _options, work) => turns.run(key, () => work({} as never)) },
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

test('simultaneous agents do not pass the bound of a tenant together', async (t) => {
  let stored = MAX_AGENTS - 2;
  const definitions = definitionsOver({
    count: async () => stored,
    writeTogether: async () => {
      // Whoever has passed the bound lets the others look at it, too.
      await sleep(5);
      stored += 1;
      return true;
    },
  });
  const made = Array.from({ length: 8 }, () => definitions.create(ADMIN, 'kind: Agent', inYaml));
  const refused = (await Promise.allSettled(made)).flatMap((one) =>
    one.status === 'rejected' ? one.reason.code : [],
  );
  t.deepEqual([stored, refused], [MAX_AGENTS, Array(6).fill('agent.too-many')]);
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

test('a change of a file that another replica has changed meanwhile is made again', async (t) => {
  let yaml = 'old';
  let tries = 0;
  const definitions = definitionsOver({
    source: () => ({ file: 'mine.yaml', line: 1, yaml, isAlone: true }),
    write: async (_file, text, { before }) => {
      tries += 1;
      if (tries === 1) yaml = 'other';
      if (before !== yaml) throw ResourceErrors.changed();
      yaml = text;
    },
  });
  await definitions.update(OPERATOR, 'mine', (before) => `${before}, mine`, inYaml);
  t.deepEqual([yaml, tries], ['other, mine', 2]);
});
