import test from 'ava';
import { createPlaybooks } from '../../../plugins/evolution/services/learn/playbooks.ts';
import { LearnerTable } from '../../../plugins/evolution/store/tables.ts';
import { manualClock } from '../../../testing/index.ts';
import { geneRow } from '../../support/gene-rows.ts';

test('cached playbooks are limited by their genes, also where all are of one class', async (t) => {
  const genes = Array.from({ length: 1_000 }, (_, n) =>
    geneRow({ id: `g${n}`, component: `builtin/tool_${n}` }),
  );
  const read: string[] = [];
  const entities = {
    async rows(table: unknown, { agentName }: { agentName: string }) {
      if (table !== LearnerTable) return genes;
      read.push(agentName);
      return [];
    },
  };
  const database = { forTenant: () => entities } as never;
  const playbooks = createPlaybooks({ database, clock: manualClock(0) }, 60_000);
  for (let n = 0; n < 100; n += 1) await playbooks.of('t', `agent-${n}`);
  await playbooks.of('t', 'agent-99');
  await playbooks.of('t', 'agent-0');
  t.deepEqual([read.length, read.at(-1)], [101, 'agent-0']);
});
