import test from 'ava';
import { contentHashOf } from '../../../plugins/evolution/rules/content-hash.ts';
import { GeneTable } from '../../../plugins/evolution/store/tables.ts';
import { eachGatewayDatabase, type FreshDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { addGene, decide, found, nodesOf, startMesh, taken } from './network-kit.ts';

/** Milliseconds: that it takes less than 5 s on a machine of its own is what the bench says. */
const SOON = 30_000;

eachGatewayDatabase(
  test,
  'of three gateways, each hub and node of the others, what one promotes the others find, and what it revokes is gone everywhere',
  async (t, fresh: FreshDatabase) => {
    t.timeout(180_000);
    const members = await startMesh(t, [fresh.environment, {}, {}]);
    const [one, other, third] = members as [(typeof members)[0], (typeof members)[0], (typeof members)[0]];
    const names = members.map(({ id }) => id).sort();
    for (const member of members)
      await until(
        async () => (await nodesOf(member)).join() === names.filter((id) => id !== member.id).join(),
        SOON,
      );

    const id = await addGene(one, 'refunds');
    t.is((await decide(one, id, 'promote')).status, 200);
    for (const member of [other, third]) {
      await until(async () => (await found(member)).join() === 'refunds', SOON);
      await until(async () => (await taken(member)).refunds === 'candidate', SOON);
    }
    t.deepEqual(await taken(one), {}, 'its own gene is no news to it');

    t.is((await decide(one, id, 'revoke')).status, 200);
    for (const member of [other, third]) {
      await until(async () => (await taken(member)).refunds === 'revoked', SOON);
      await until(async () => (await found(member)).length === 0, SOON);
      const { status, body } = await member.request('/api/v2/admin/evolution/federated?q=refunds', {
        token: member.tenant.token,
      });
      t.is(status, 200);
      t.deepEqual(body.genes, [], 'and does not return');
      t.is((await taken(member)).refunds, 'revoked');
    }
  },
);

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
