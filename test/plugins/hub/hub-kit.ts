import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import evolution from '../../../plugins/evolution/plugin.ts';
import hub from '../../../plugins/hub/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';

/** Keys of the hub, of two owners. */
export const KEY = 'key-of-the-first-owner';
export const OTHER_KEY = 'key-of-the-second-owner';

/** A gateway with hub and evolution whose receivers may be on this machine. */
export async function startHub(
  t: ExecutionContext,
  env: Readonly<Record<string, string>> = {},
  more: Partial<TestGatewayOptions> = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    plugins: [evolution, hub],
    env: {
      HUB_API_KEYS: `${KEY},${OTHER_KEY}`,
      HUB_DELIVERY_BACKOFF: '20ms,20ms,20ms,20ms,20ms',
      SVC_EGRESS_ALLOW_PRIVATE: '127.0.0.1',
      ...env,
    },
    ...more,
  });
  t.teardown(gateway.stop);
  return gateway;
}

/** A node of a test, and how it signs. Nothing of it is the hub's own code. */
export interface TestNode {
  readonly id: string;
  readonly key: KeyObject;
  /** 32 bytes in base64. */
  readonly publicKey: string;
}

export function makeNode(id: string): TestNode {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return { id, key: privateKey, publicKey: raw.toString('base64') };
}

/** What may be wrong with an envelope. */
export interface EnvelopeOptions {
  readonly timestamp?: number;
  readonly nonce?: string;
  readonly signer?: string;
}

/** The headers by which a node signs a request. */
export function envelope(
  node: TestNode,
  method: string,
  target: string,
  body = '',
  { timestamp = Math.floor(Date.now() / 1000), nonce = randomUUID(), signer = node.id }: EnvelopeOptions = {},
): Record<string, string> {
  const digest = createHash('sha256').update(body).digest('hex');
  const text = [timestamp, method, target, digest, signer].join('\n');
  return {
    'x-svc-node-id': signer,
    'x-svc-timestamp': String(timestamp),
    'x-svc-nonce': nonce,
    'x-svc-signature': sign(null, Buffer.from(text), node.key).toString('base64'),
  };
}

/** An answer as tests read it. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked at, not typed
  readonly body: any;
}

/** Sends bytes as they are. */
export async function send(
  gateway: { readonly url: string },
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Answer> {
  const response = await fetch(`${gateway.url}${target}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** Sends what a node has signed. */
export function signed(
  gateway: { readonly url: string },
  node: TestNode,
  method: string,
  target: string,
  body?: object,
): Promise<Answer> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = envelope(node, method, target, text);
  return send(gateway, method, target, headers, body === undefined ? undefined : text);
}

/** Sends with a key of the hub. */
export function keyed(
  gateway: { readonly url: string },
  method: string,
  target: string,
  body?: object,
  key = KEY,
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return send(gateway, method, target, { authorization: `Bearer ${key}` }, text);
}

/** Registers a node. */
export function register(
  gateway: { readonly url: string },
  node: TestNode,
  endpoint: string,
  more: object = {},
): Promise<Answer> {
  const claim = { node_id: node.id, endpoint, public_key: node.publicKey, capabilities: ['genes'], ...more };
  return keyed(gateway, 'POST', '/api/v1/nodes', claim);
}

/** A server of a test on the loopback interface; its address. */
export async function listen(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A node that answers with these genes. */
export function genesAt(t: ExecutionContext, genes: () => readonly unknown[]): Promise<string> {
  return listen(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ genes: genes() }));
  });
}

/** What a subscriber was sent. */
export interface Delivered {
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked at, not typed
  readonly body: any;
}

/** A subscriber that keeps what it gets, and answers as `status` says. */
export async function subscriber(
  t: ExecutionContext,
  status: (delivered: Delivered) => number | Promise<number> = () => 204,
  page = '',
): Promise<{ readonly url: string; readonly got: Delivered[] }> {
  const got: Delivered[] = [];
  const url = await listen(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString();
      const delivered = { target: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) };
      got.push(delivered);
      response.statusCode = await status(delivered);
      response.end(page);
    });
  });
  return { url, got };
}

/** A gene as nodes tell of it. */
export function gene(geneId: string, more: object = {}) {
  return {
    geneId,
    name: `Use it (${geneId})`,
    taskClass: 'sums',
    confidence: 0.8,
    qualityScore: 0.9,
    strategy: { component: 'builtin/calculator', type: 'prefer' },
    signals: { tool_success: 9 },
    validation: {},
    useCount: 10,
    successCount: 9,
    source: 'local',
    syncedAt: null,
    createdAt: '2030-01-01T00:00:00.000Z',
    updatedAt: '2030-01-01T00:00:00.000Z',
    ...more,
  };
}
