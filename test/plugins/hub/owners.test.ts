import test, { type ExecutionContext } from 'ava';
import { openHubDatabase } from '../../../plugins/hub/services/open-database.ts';
import { createNodeStore } from '../../../plugins/hub/store/nodes.ts';
import { NodeTable } from '../../../plugins/hub/store/tables.ts';
import type { TestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import {
  envelope,
  KEY,
  keyed,
  makeNode,
  OTHER_KEY,
  register,
  send,
  startHub,
  type TestNode,
} from './hub-kit.ts';

const NODES = '/api/v1/nodes';
const HERE = 'http://127.0.0.1:4011';

async function databaseOf(t: ExecutionContext, hub: TestGateway) {
  const { database, close } = await openHubDatabase(hub.gateway.services, 'hub.db');
  t.teardown(close);
  return database;
}

/** Registers with a key of the hub, and signed by a node where one is given. */
function registerAs(hub: TestGateway, node: TestNode, key: string, signer?: TestNode, endpoint = HERE) {
  const claim = JSON.stringify({ node_id: node.id, endpoint, public_key: node.publicKey });
  const signed = signer === undefined ? {} : envelope(signer, 'POST', NODES, claim);
  return send(hub, 'POST', NODES, { authorization: `Bearer ${key}`, ...signed }, claim);
}

/** The ids of the nodes that an owner is told to be its own. */
async function ownNodes(hub: TestGateway, key: string): Promise<string[]> {
  const { nodes } = (await keyed(hub, 'GET', NODES, undefined, key)).body;
  return nodes
    .flatMap((node: { node_id: string; is_own: boolean }) => (node.is_own ? node.node_id : []))
    .sort();
}

const rowOf = (id: string, owner: string) => {
  const rival = { rivalKey: null, rivalEndpoint: null, rivalOwner: null };
  const times = { registeredAt: new Date(), lastSeenAt: new Date() };
  return { id, owner, endpoint: HERE, publicKey: 'k', capabilities: [], ...rival, ...times };
};

eachGatewayDatabase(test, 'an owner that has its 1,000 nodes keeps nobody else out', async (t, fresh) => {
  const hub = await startHub(t, fresh.environment);
  const database = await databaseOf(t, hub);
  t.is((await register(hub, makeNode('first'), HERE)).status, 201);
  const { owner } = await database.system().findOneOrFail(NodeTable, { id: 'first' });
  const others = Array.from({ length: 999 }, (_, at) => rowOf(`other-${at}`, owner!));
  await database.system().insertMany(NodeTable, others);

  const full = { code: 'hub.too-many-nodes', detail: 'An owner has 1000 of them at most' };
  t.like(await register(hub, makeNode('one-more'), HERE), { status: 409, body: full });
  t.is(
    (await register(hub, makeNode('first'), HERE)).body.code,
    'hub.node-conflict',
    'a known id is no new node',
  );
  t.is((await registerAs(hub, makeNode('another'), OTHER_KEY)).status, 201);
  const operator = hub.token;
  t.is((await registerAs(hub, makeNode('operated'), operator)).status, 201);
  t.deepEqual([await ownNodes(hub, OTHER_KEY), await ownNodes(hub, operator)], [['another'], ['operated']]);
});

eachGatewayDatabase(test, 'nodes that come at one moment do not pass a limit', async (t, fresh) => {
  const hub = await startHub(t, fresh.environment);
  const store = createNodeStore(await databaseOf(t, hub));
  await store.add(rowOf('first', 'first'), { ofOwner: 10, all: 10 });
  const added = (owner: string, limits: { ofOwner: number; all: number }) =>
    Promise.all(
      Array.from({ length: 8 }, async (_, at) => store.add(rowOf(`${owner}-${at}`, owner), limits)),
    );
  const outcomes = await added('a', { ofOwner: 3, all: 100 });
  t.deepEqual(outcomes.sort(), ['added', 'added', 'added', 'owner', 'owner', 'owner', 'owner', 'owner']);
  const [b, c] = await Promise.all([
    added('b', { ofOwner: 100, all: 6 }),
    added('c', { ofOwner: 100, all: 6 }),
  ]);
  t.is([...b, ...c].filter((outcome) => outcome === 'added').length, 2);
  t.is([...b, ...c].filter((outcome) => outcome === 'all').length, 14);
  t.is(await store.add(rowOf('first', 'a'), { ofOwner: 3, all: 6 }), 'known');
});

eachGatewayDatabase(
  test,
  'a node from before gets its owner by a registration that its key has signed, and keeps it',
  async (t, fresh) => {
    const hub = await startHub(t, fresh.environment);
    const database = await databaseOf(t, hub);
    const node = makeNode('old');
    await register(hub, node, HERE);
    await database.system().nativeUpdate(NodeTable, { id: 'old' }, { owner: null });

    t.is((await registerAs(hub, node, OTHER_KEY)).status, 200, 'anybody can repeat what the list shows');
    t.deepEqual([await ownNodes(hub, KEY), await ownNodes(hub, OTHER_KEY)], [[], []]);
    const stranger = { ...makeNode('old'), publicKey: node.publicKey };
    t.is((await registerAs(hub, node, OTHER_KEY, stranger)).body.code, 'hub.signature-invalid');
    t.is((await registerAs(hub, node, KEY, node)).status, 200);
    t.deepEqual([await ownNodes(hub, KEY), await ownNodes(hub, OTHER_KEY)], [['old'], []]);
    for (const endpoint of [HERE, 'http://127.0.0.1:4012'])
      t.is((await registerAs(hub, node, OTHER_KEY, node, endpoint)).status, 200);
    t.deepEqual([await ownNodes(hub, KEY), await ownNodes(hub, OTHER_KEY)], [['old'], []], 'it stays');
    const shown = await send(hub, 'GET', NODES, { authorization: `Bearer ${KEY}` });
    const { owner } = await database.system().findOneOrFail(NodeTable, { id: 'old' });
    t.false(JSON.stringify(shown.body).includes(owner!));
  },
);

eachGatewayDatabase(
  test,
  'a node whose key an operator confirms is of whoever registered that key',
  async (t, fresh) => {
    const hub = await startHub(t, fresh.environment);
    const confirm = async (id: string, node: TestNode) => {
      const body = JSON.stringify({ public_key: node.publicKey });
      const operator = { authorization: `Bearer ${hub.token}` };
      t.like(await send(hub, 'POST', `${NODES}/${id}/confirm`, operator, body), {
        status: 200,
        body: { is_own: false },
      });
    };
    for (const id of ['a', 'b']) {
      const [first, second] = [makeNode(id), makeNode(id)];
      await registerAs(hub, first, KEY);
      t.is((await registerAs(hub, second, OTHER_KEY)).status, 409);
      t.deepEqual(await ownNodes(hub, OTHER_KEY), [], 'until then it stays with the first');
      await confirm(id, id === 'a' ? first : second);
    }
    t.deepEqual([await ownNodes(hub, KEY), await ownNodes(hub, OTHER_KEY)], [['a'], ['b']]);
  },
);
