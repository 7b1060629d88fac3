import test from 'ava';
import { sampledGatewayDatabase } from '../../support/databases.ts';
import { until } from '../../support/until.ts';
import { addGene, decide, found, nodesOf, SOON, startMesh, taken } from './network-kit.ts';

sampledGatewayDatabase(
  test,
  'of three gateways, each hub and node of the others, what one promotes the others find, and what it revokes is gone everywhere',
  async (t, fresh) => {
    t.timeout(300_000);
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
