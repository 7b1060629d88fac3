import test from 'ava';
import { openHubDatabase } from '../../../plugins/hub/services/open-database.ts';
import { GeneTable } from '../../../plugins/hub/store/tables.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { withNode } from './delivery-kit.ts';
import { envelope, gene, send } from './hub-kit.ts';

const EVENTS = '/api/v1/events';

eachGatewayDatabase(
  test,
  'an event that comes again changes nothing that came after it',
  async (t, fresh) => {
    const { hub, node } = await withNode(t, fresh.environment);
    const { database, close } = await openHubDatabase(hub.gateway.services, 'hub.db');
    t.teardown(close);
    let timestamp = Math.floor(Date.now() / 1000) - 60;
    const report = async (event_id: string, type: string, confidence: number) => {
      const event = JSON.stringify({ type, event_id, gene: gene('g1', { confidence }) });
      // A second later each time: the same signature is accepted once.
      timestamp += 1;
      const headers = envelope(node, 'POST', EVENTS, event, { timestamp });
      const { status, body } = await send(hub, 'POST', EVENTS, headers, event);
      return { status, ...body };
    };
    const stored = async () => {
      const row = await database.system().findOneOrFail(GeneTable, { geneId: 'g1' });
      return [row.state, row.gene.confidence];
    };
    const first = await report('one', 'gene_promoted', 0.6);
    t.like(first, { status: 202, deliveries: 1 });
    t.like(await report('two', 'gene_promoted', 0.9), { status: 202, deliveries: 1 });
    t.deepEqual(await report('one', 'gene_promoted', 0.6), { ...first, deliveries: 0 });
    t.deepEqual(await stored(), ['promoted', 0.9]);
    t.is((await report('three', 'gene_revoked', 0.9)).status, 202);
    t.deepEqual(
      await report('one', 'gene_promoted', 0.6),
      { ...first, deliveries: 0 },
      'it was taken before',
    );
    t.deepEqual(await stored(), ['revoked', 0.9]);
    t.like(await report('four', 'gene_promoted', 0.9), { status: 409, code: 'hub.gene-revoked' });
  },
);
