import test from 'ava';
import { sampledGatewayDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { SUBSCRIPTIONS, withNode } from './delivery-kit.ts';
import { keyed, startHub, subscriber } from './hub-kit.ts';

/** More than the 256 that are served at one time. */
const CROWD = 300;

sampledGatewayDatabase(
  test,
  'more subscribers than there are places hear of all events once, whichever replica delivers',
  async (t, fresh) => {
    t.timeout(180_000);
    const { hub, node, report, subscribe } = await withNode(t, fresh.environment);
    const all = await subscriber(t);
    for (let n = 0; n < CROWD; n += 1) await subscribe(`${all.url}/${n}`);
    if (fresh.family !== 'sqlite') await startHub(t, fresh.environment);
    for (let n = 0; n < 3; n += 1)
      t.is((await report('gene_promoted', `g${n}`)).body.deliveries, CROWD + 1, node.id);
    const counts = async () => {
      const query = `${SUBSCRIPTIONS}?limit=${CROWD}`;
      const { subscriptions } = (await keyed(hub, 'GET', query)).body;
      const sum = (of: 'delivered' | 'waiting' | 'dead') =>
        subscriptions.reduce(
          (before: number, one: { delivery: Record<string, number> }) => before + one.delivery[of]!,
          0,
        );
      return { delivered: sum('delivered'), waiting: sum('waiting'), dead: sum('dead') };
    };
    await until(async () => (await counts()).waiting === 0, 60_000);
    t.deepEqual(await counts(), { delivered: 3 * CROWD, waiting: 0, dead: 0 });
    t.is(new Set(all.got.map(({ target, body }) => `${target} ${body.gene.geneId}`)).size, 3 * CROWD);
  },
);
