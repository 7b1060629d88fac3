import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An experience hub of somebody else: it takes every node, has one gene, and delivers what a test signs with its key.
 */
export interface FakeHub {
  /** On the loopback interface, by name. */
  readonly url: string;
  /** An address at which nothing is ever taken. */
  readonly deadEnd: string;
  /** The headers that sign a request to a member in the name of this hub. */
  envelope(method: string, target: string, body: string): Record<string, string>;
  close(): Promise<void>;
}

const KEY_ID = 'hub-00000000000000aa';
const DEAD_END = '/dead-end';

/** Starts it. */
export async function startFakeHub(): Promise<FakeHub> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  const answers: Readonly<Record<string, readonly [status: number, body: object]>> = {
    'POST /api/v1/nodes': [201, { heartbeat_interval_seconds: 30, ttl_seconds: 60 }],
    'GET /api/v1/keys': [200, { keys: [{ key_id: KEY_ID, public_key: key }] }],
    'GET /api/v1/subscriptions': [200, { subscriptions: [] }],
    'POST /api/v1/subscriptions': [201, { id: randomUUID(), signing_key_id: KEY_ID }],
    'GET /api/v1/federation/genes': [200, { results: [], nodes_queried: 0, nodes_healthy: 0 }],
  };
  const server = http.createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    request.resume();
    const [status, body] =
      path === DEAD_END ? [500, {}] : (answers[`${request.method} ${path}`] ?? [200, {}]);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    url,
    deadEnd: `${url}${DEAD_END}`,
    envelope(method, target, body) {
      const timestamp = String(Math.floor(Date.now() / 1000));
      const digest = createHash('sha256').update(body).digest('hex');
      const text = [timestamp, method, target, digest, KEY_ID].join('\n');
      return {
        'x-svc-node-id': KEY_ID,
        'x-svc-timestamp': timestamp,
        'x-svc-nonce': randomUUID(),
        'x-svc-signature': sign(null, Buffer.from(text), privateKey).toString('base64'),
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
