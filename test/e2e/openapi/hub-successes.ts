import { envelope, makeNode } from '../../plugins/hub/hub-kit.ts';
import { until } from '../../support/until.ts';
import type { AllPlugins } from './all-plugins.ts';
import type { Input } from './inputs.ts';
import type { Step } from './step.ts';

const NODES = '/api/v1/nodes';
const SUBSCRIPTIONS = '/api/v1/subscriptions';
const LETTERS = `${SUBSCRIPTIONS}/{id}/dead-letters`;
const none = () => ({});

const gene = {
  geneId: 'gene-1',
  name: 'Use it',
  taskClass: 'refunds',
  confidence: 0.8,
  qualityScore: 0.9,
  strategy: { component: 'builtin/calculator', type: 'prefer' },
  signals: { tool_success: 9 },
  validation: {},
  useCount: 10,
  successCount: 9,
  contributorId: 'anonymous',
  source: 'local',
  syncedAt: null,
  createdAt: '2030-01-01T00:00:00.000Z',
  updatedAt: '2030-01-01T00:00:00.000Z',
};

/** One success of each operation of the hub: a node that reports, and a subscriber who takes nothing. */
export function hubSuccesses({ request, hub }: AllPlugins): readonly Step[] {
  const node = makeNode('node-a');
  const params = { id: node.id };
  const claim = { node_id: node.id, endpoint: hub.url, public_key: node.publicKey, capabilities: ['genes'] };
  /** What the node signs, without another credential. */
  const signed = (method: string, path: string, value?: object): Input => {
    const body = value === undefined ? '' : JSON.stringify(value);
    const headers = envelope(node, method, path, body);
    return { headers, token: null, ...(value === undefined ? {} : { body }) };
  };
  const subscription = ({ subscription: id = '' }) => ({ params: { id } });
  const deadLetter = async ({ subscription: id = '' }): Promise<Input> => {
    const letters = async () => (await request(`${SUBSCRIPTIONS}/${id}/dead-letters`)).body.dead_letters;
    await until(async () => (await letters()).length > 0);
    return { params: { id, letter: (await letters())[0].id } };
  };
  const delivered = { id: 'event-1', type: 'gene_promoted', gene };
  return [
    [`POST ${NODES}`, () => ({ body: claim })],
    [`POST ${NODES}`, () => ({ body: claim })],
    [`PUT ${NODES}/{id}/heartbeat`, () => ({ params, ...signed('PUT', `${NODES}/${node.id}/heartbeat`) })],
    [`GET ${NODES}`, none],
    [`POST ${NODES}/{id}/confirm`, () => ({ params, body: { public_key: node.publicKey } })],
    [
      `POST ${SUBSCRIPTIONS}`,
      () => ({
        body: { callback_url: hub.deadEnd, events: ['gene_promoted'], filter: { min_confidence: 0.5 } },
      }),
      (known, { id }) => Object.assign(known, { subscription: id }),
    ],
    [`GET ${SUBSCRIPTIONS}`, none],
    [`GET ${SUBSCRIPTIONS}/{id}`, subscription],
    ['POST /api/v1/events', () => signed('POST', '/api/v1/events', { type: 'gene_promoted', gene })],
    [`POST ${LETTERS}/{letter}/retry`, deadLetter],
    [`GET ${LETTERS}`, deadLetter],
    [`POST ${LETTERS}/retry`, subscription],
    [`DELETE ${SUBSCRIPTIONS}/{id}`, subscription],
    [
      'POST /api/v1/deliveries',
      () => {
        const body = JSON.stringify(delivered);
        return { body, headers: hub.envelope('POST', '/api/v1/deliveries', body), token: null };
      },
    ],
    ['GET /api/v1/federation/genes', () => ({ query: { q: 'refunds' } })],
    ['GET /api/v1/genes', none],
    ['GET /api/v1/keys', none],
    ['POST /api/v1/keys/rotate', none],
    ['GET /dashboard', none],
    ['GET /dashboard/app.js', none],
    ['GET /dashboard/style.css', none],
    ['GET /dashboard/icon.svg', none],
    ['GET /api/v1/dashboard/stream', none],
    [`DELETE ${NODES}/{id}`, () => ({ params, ...signed('DELETE', `${NODES}/${node.id}`) })],
  ];
}
