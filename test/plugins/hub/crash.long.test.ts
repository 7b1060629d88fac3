import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import evolution from '../../../plugins/evolution/plugin.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { sampledGatewayDatabase } from '../../support/databases.ts';
import { freePorts } from '../../support/free-port.ts';
import { startGatewayProcess, temporaryFolder } from '../../support/gateway-process.ts';
import { isWhole, SEED } from '../../support/sample.ts';
import { until } from '../../support/until.ts';
import { gene, makeNode, signed, subscriber } from './hub-kit.ts';
import {
  addGene,
  decide,
  GENES,
  KEY,
  type Member,
  meshEnv,
  nodesOf,
  share,
  startMember,
  taken,
} from './network-kit.ts';

const KILLS = isWhole ? 20 : 3;
/** Milliseconds of a life, at most. */
const LIFE_MS = 1_500;
/** Between two reports of one node: it may make 600 a minute. */
const BETWEEN_MS = 120;
/**
 * Genes that each of two gateways promotes while one life of the victim lasts: a tenant takes 1,000 of others at most,
 * however slow the machine is.
 */
const GENES_OF_LIFE = 20;
/** What was claimed by the one that died is free after 30 s; the rest is for busy machines. */
const PATIENCE_MS = 120_000;
/** The tenant of static tokens. */
const TENANT = '00000000-0000-0000-0000-000000000001';

/** Numbers from 0 to 1 that the seed has chosen. */
function createRandom(): () => number {
  let state = SEED >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Queues all dead letters of a hub again. */
async function sendAgain({ request }: Member): Promise<void> {
  const list = '/api/v1/subscriptions';
  const { body } = await request(list, { token: KEY });
  for (const { id, delivery } of body.subscriptions)
    if (delivery.dead > 0) await request(`${list}/${id}/dead-letters/retry`, { method: 'POST', token: KEY });
}

sampledGatewayDatabase(
  test,
  'of three gateways, each hub and node of the others, one is killed at any moment, and nothing that was promised is lost',
  async (t, fresh) => {
    t.timeout(900_000);
    const random = createRandom();
    const ports = await freePorts(3);
    const own = ports[0]!;
    const [folder, other, third, desk] = await Promise.all([
      temporaryFolder(t),
      startMember(t, ports, ports[1]!),
      startMember(t, ports, ports[2]!),
      startTestGateway({ plugins: [evolution], env: fresh.environment }),
    ]);
    t.teardown(desk.stop);
    const start = () =>
      startGatewayProcess(t, folder, {
        ...meshEnv(ports, own),
        ...fresh.environment,
        SVC_PLUGINS: 'evolution,hub',
      });
    let victim = await start();
    const ofVictim = { ...desk, tenant: { id: TENANT } };
    await share({ request: victim.request as typeof desk.request }, TENANT);
    const names = [other.id, third.id].sort();
    await until(async () => {
      const { body } = await victim.request('/api/v1/nodes');
      return body.nodes.length === names.length;
    }, PATIENCE_MS);
    for (const member of [other, third])
      await until(async () => (await nodesOf(member)).length === 2, PATIENCE_MS);

    const node = makeNode('reporter');
    const authorization = { token: KEY };
    const claim = { endpoint: 'http://127.0.0.1:4011', public_key: node.publicKey, capabilities: ['genes'] };
    const registered = await victim.request('/api/v1/nodes', {
      method: 'POST',
      ...authorization,
      body: { node_id: node.id, ...claim },
    });
    t.is(registered.status, 201);
    const hearer = await subscriber(t);
    const subscribed = await victim.request('/api/v1/subscriptions', {
      method: 'POST',
      ...authorization,
      body: { callback_url: hearer.url, events: ['gene_promoted'] },
    });
    t.is(subscribed.status, 201);

    /** What was answered with success, and so has to arrive. */
    const promised = { events: new Set<string>(), mine: new Set<string>(), theirs: new Set<string>() };
    let [isOver, kills] = [false, 0];
    async function report(): Promise<void> {
      for (let n = 0; !isOver; n += 1) {
        const body = { type: 'gene_promoted', gene: gene(`g${n}`) };
        const answer = await signed(victim, node, 'POST', '/api/v1/events', body).catch(() => undefined);
        if (answer?.status === 202) promised.events.add(`g${n}`);
        await pause(BETWEEN_MS);
      }
    }
    async function promote(): Promise<void> {
      for (let n = 0; !isOver; n += 1) {
        while (n >= (kills + 1) * GENES_OF_LIFE && !isOver) await pause(BETWEEN_MS);
        const mine = `mine${n}`;
        const id = await addGene(ofVictim, mine);
        const answer = await victim
          .request(`${GENES}/${id}/promote`, { method: 'POST', body: {} })
          .catch(() => undefined);
        if (answer?.status === 200) promised.mine.add(mine);
        const theirs = `theirs${n}`;
        if ((await decide(other, await addGene(other, theirs), 'promote')).status === 200)
          promised.theirs.add(theirs);
        await pause(BETWEEN_MS);
      }
    }
    const lives = [report(), promote()];
    for (; kills < KILLS; kills += 1) {
      await pause(random() * LIFE_MS);
      await victim.stop('SIGKILL');
      victim = await start();
    }
    isOver = true;
    await Promise.all(lives);

    const heard = () => new Set(hearer.got.map(({ body }) => body.gene.geneId));
    const has = (all: Iterable<string>, wanted: ReadonlySet<string>) => wanted.isSubsetOf(new Set(all));
    t.true(promised.events.size > 0 && promised.mine.size > 0 && promised.theirs.size > 0);
    await until(() => has(heard(), promised.events), PATIENCE_MS);
    for (const member of [other, third])
      await until(async () => has(Object.keys(await taken(member)), promised.mine), PATIENCE_MS);
    await until(async () => has(Object.keys(await taken(third)), promised.theirs), PATIENCE_MS);
    // What failed as often as it may while the victim was down is a dead letter, which an operator sends again.
    await until(async () => {
      await Promise.all([other, third].map(sendAgain));
      return has(Object.keys(await taken(ofVictim)), promised.theirs);
    }, PATIENCE_MS);
    const ids = Map.groupBy(hearer.got, ({ body }) => body.gene.geneId);
    for (const [geneId, got] of ids)
      t.is(new Set(got.map(({ body }) => body.id)).size, 1, `${geneId}: what comes again is known by its id`);
    t.log(
      `${promised.events.size} events, ${promised.mine.size} and ${promised.theirs.size} genes; ${hearer.got.length} deliveries`,
    );
  },
);
