import test from 'ava';
import { createTombstones } from '../../../plugins/hub/services/tombstones.ts';
import type { Tombstone } from '../../../plugins/hub/store/genes.ts';

test('a search knows of what was revoked before it, also while another one reads', async (t) => {
  const stored: Tombstone[] = [];
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const store = {
    async *tombstonesSince() {
      const rows = [...stored];
      await read;
      yield rows;
    },
  };
  const tombstones = createTombstones(store, { now: () => 0 });
  const first = tombstones.refresh();
  await new Promise(setImmediate);
  stored.push({ nodeId: 'node', geneId: 'gene', wasPromoted: false, updatedAt: new Date(0) });
  const second = tombstones.refresh();
  resolve();
  await Promise.all([first, second]);
  t.true(tombstones.cover('node', 'gene'));
});
