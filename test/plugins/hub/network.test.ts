import test from 'ava';
import { contentHashOf } from '../../../plugins/evolution/rules/content-hash.ts';
import { GeneTable } from '../../../plugins/evolution/store/tables.ts';
import { until } from '../../support/until.ts';
import { gene, keyed, makeNode, signed } from './hub-kit.ts';
import { addGene, decide, found, KEY, nodesOf, SOON, startMesh, taken } from './network-kit.ts';

test('what rests, or belongs to a tenant that does not share, is reported to nobody', async (t) => {
  const members = await startMesh(t, [{}, {}]);
  const [one, other] = members as [(typeof members)[0], (typeof members)[0]];
  await until(async () => (await nodesOf(other)).length === 1, SOON);
  const resting = await addGene(one, 'resting');
  await decide(one, resting, 'promote');
  await until(async () => (await taken(other)).resting === 'candidate', SOON);
  await decide(one, resting, 'quarantine');
  await until(async () => (await found(other)).length === 0, SOON);

  const policy = `/admin/v1/evolution/tenants/${one.tenant.id}/sharing-policy`;
  await one.request(policy, { method: 'PUT', body: { contribution_mode: 'disabled' } });
  const hidden = await addGene(one, 'hidden');
  await decide(one, hidden, 'promote');
  await decide(one, hidden, 'revoke');
  // What was shared before is told to be gone, whatever the policy says now.
  await decide(one, resting, 'revoke');
  await until(async () => (await taken(other)).resting === 'revoked', SOON);
  t.deepEqual(Object.keys(await taken(other)), ['resting']);
  const { body } = await other.request('/api/v1/genes');
  t.deepEqual(body.genes, []);
});

test('a gene that has failed since it was promoted is withdrawn with its copies, which still prefer its tool', async (t) => {
  const members = await startMesh(t, [{}, {}]);
  const [one, other] = members as [(typeof members)[0], (typeof members)[0]];
  await until(async () => (await nodesOf(other)).length === 1, SOON);
  const id = await addGene(one, 'refunds');
  await decide(one, id, 'promote');
  await until(async () => (await taken(other)).refunds === 'candidate', SOON);

  const strategy = { component: 'builtin/calculator', type: 'avoid' };
  const contentHash = contentHashOf({ taskClass: 'refunds', ...strategy });
  await one.gateway.services.database
    .forTenant(one.tenant.id)
    .update(GeneTable, { id }, { strategy, contentHash, confidence: 0.2 });
  t.is((await decide(one, id, 'revoke')).status, 200);
  await until(async () => (await taken(other)).refunds === 'revoked', SOON);
  t.pass();
});

test('what one node revokes and another one still promotes stays, also where a hub delivers it', async (t) => {
  const members = await startMesh(t, [{}, {}]);
  const [hub, other] = members as [(typeof members)[0], (typeof members)[0]];
  await until(async () => {
    const { body } = await keyed(hub, 'GET', '/api/v1/subscriptions', undefined, KEY);
    return body.subscriptions.length === 1;
  }, SOON);
  const enter = async (id: string) => {
    const node = makeNode(id);
    const claim = { node_id: id, endpoint: 'http://127.0.0.1:4011', public_key: node.publicKey };
    t.is((await keyed(hub, 'POST', '/api/v1/nodes', { ...claim, capabilities: ['genes'] }, KEY)).status, 201);
    return async (type: string, geneId: string, more = {}) =>
      t.is(
        (await signed(hub, node, 'POST', '/api/v1/events', { type, gene: gene(geneId, more) })).status,
        202,
      );
  };
  const [first, second] = [await enter('first'), await enter('second')];
  const states = async (name: string) => [(await taken(hub))[name], (await taken(other))[name]].join();

  await first('gene_promoted', 'a');
  await second('gene_promoted', 'b');
  await until(async () => (await states('sums')) === 'candidate,candidate', SOON);
  await second('gene_revoked', 'b');
  // Events come in order: with this one, the one before has come.
  await second('gene_promoted', 'c', { taskClass: 'later' });
  await until(async () => (await states('later')) === 'candidate,candidate', SOON);
  t.is(await states('sums'), 'candidate,candidate');

  await first('gene_revoked', 'a');
  await until(async () => (await states('sums')) === 'revoked,revoked', SOON);
});
