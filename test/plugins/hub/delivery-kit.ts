import type { ExecutionContext } from 'ava';
import { gene, KEY, keyed, makeNode, register, signed, startHub } from './hub-kit.ts';

export const SUBSCRIPTIONS = '/api/v1/subscriptions';
/** All events that there are. */
export const BOTH = ['gene_promoted', 'gene_revoked'];

/** A hub with a node, and how that reports and others subscribe. */
export async function withNode(t: ExecutionContext, env: Readonly<Record<string, string>> = {}) {
  const hub = await startHub(t, env);
  const node = makeNode('node-a');
  await register(hub, node, 'http://127.0.0.1:4011');
  const report = (type: string, id: string, more: object = {}) =>
    signed(hub, node, 'POST', '/api/v1/events', { type, gene: gene(id, more) });
  const subscribe = async (url: string, more: object = {}, key = KEY) =>
    (await keyed(hub, 'POST', SUBSCRIPTIONS, { callback_url: url, events: BOTH, ...more }, key)).body;
  return { hub, node, report, subscribe };
}
