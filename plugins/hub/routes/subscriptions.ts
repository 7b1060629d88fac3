import { pageOf, pageQuery, type Route, refusing, reply, requireSound, route } from 'agent-gateway';
import { reporterOf } from '../rules/hub-gene.ts';
import type { Shown } from '../services/subscriptions.ts';
import type { DeadLetter } from '../store/deliveries.ts';
import { type Gate, HUB_LIMIT, ownerOf, reachOf, readable, writable } from './callers.ts';
import * as schemas from './schemas.ts';

const SUBSCRIPTIONS = '/api/v1/subscriptions';
const ONE = `${SUBSCRIPTIONS}/{id}`;
const LETTERS = `${ONE}/dead-letters`;
const tag = 'hub-subscriptions';
const common = { tag, rateLimit: HUB_LIMIT } as const;

function toSubscription(row: Shown) {
  return {
    id: row.id,
    callback_url: row.callbackUrl,
    events: row.events,
    filter: row.minConfidence === null ? {} : { min_confidence: row.minConfidence },
    signing_key_id: row.signingKeyId,
    delivery: {
      waiting: row.counts.waiting,
      dead: row.counts.dead,
      delivered: row.delivered,
      failed_attempts: row.failedAttempts,
      last_attempt_at: row.lastAttemptAt?.toISOString() ?? null,
      last_error: row.lastError,
    },
    created_at: row.createdAt.toISOString(),
  };
}

function toLetter({ id, eventId, attempts, reason, createdAt, event }: DeadLetter) {
  return {
    id,
    event_id: eventId,
    type: event?.type ?? null,
    node_id: event === undefined ? null : reporterOf(event.gene, event.nodeId),
    gene: event?.gene ?? null,
    attempts,
    reason: reason ?? '',
    created_at: createdAt.toISOString(),
  };
}

/** The subscriptions of owners, and their dead letters. */
export function subscriptionRoutes(gate: Gate): readonly Route[] {
  const subscriptions = async () => (await gate.load()).subscriptions;
  return [
    route({
      ...writable,
      ...common,
      method: 'POST',
      path: SUBSCRIPTIONS,
      summary: 'Subscribe to what nodes report',
      schema: { body: schemas.Subscribe, responses: { 201: schemas.Subscription } },
      failures: ['upstream', 'timeout'],
      refuse: refusing(schemas.subscriptionProblems),
      handle: async (call) => {
        const owner = ownerOf(call, gate);
        const { events, filter } = call.body;
        requireSound(schemas.subscriptionProblems(call.body));
        const callbackUrl = new URL(call.body.callback_url).href;
        const minConfidence = filter?.min_confidence ?? undefined;
        const added = await (await subscriptions()).add(owner, { callbackUrl, events, minConfidence });
        call.audit({ changes: { subscription: added.id } });
        return reply.created(toSubscription(added));
      },
    }),
    route({
      ...readable,
      ...common,
      method: 'GET',
      path: SUBSCRIPTIONS,
      summary: 'List the caller’s subscriptions, newest first; operators see all',
      schema: {
        query: pageQuery({ defaultLimit: 100 }),
        responses: { 200: schemas.SubscriptionList },
      },
      handle: async (call) => {
        const page = pageOf(call.query);
        const [rows, total] = await (await subscriptions()).list(reachOf(call, gate), page);
        return { subscriptions: rows.map(toSubscription), total, ...page };
      },
    }),
    route({
      ...readable,
      ...common,
      method: 'GET',
      path: ONE,
      summary: 'Read a subscription and how its deliveries go',
      schema: {
        params: schemas.SubscriptionParams,
        responses: { 200: schemas.Subscription },
      },
      handle: async (call) =>
        toSubscription(await (await subscriptions()).get(reachOf(call, gate), call.params.id)),
    }),
    route({
      ...writable,
      ...common,
      method: 'DELETE',
      path: ONE,
      summary: 'End a subscription, with what is on its way',
      schema: { params: schemas.SubscriptionParams, responses: { 204: null } },
      handle: async (call) => {
        await (await subscriptions()).remove(reachOf(call, gate, true), call.params.id);
        return reply.empty();
      },
    }),
    route({
      ...readable,
      ...common,
      method: 'GET',
      path: LETTERS,
      summary: 'List what could not be delivered to a subscription, newest first',
      schema: {
        params: schemas.SubscriptionParams,
        query: pageQuery({ defaultLimit: 100 }),
        responses: { 200: schemas.DeadLetters },
      },
      handle: async (call) => {
        const page = pageOf(call.query);
        const reach = reachOf(call, gate);
        const [rows, total] = await (await subscriptions()).deadLetters(reach, call.params.id, page);
        return { dead_letters: rows.map(toLetter), total, ...page };
      },
    }),
    route({
      ...writable,
      ...common,
      method: 'POST',
      path: `${LETTERS}/retry`,
      summary: 'Send all dead letters of a subscription again',
      schema: {
        params: schemas.SubscriptionParams,
        responses: { 202: schemas.Revived },
      },
      handle: async (call) => {
        const { id } = call.params;
        const retried = await (await subscriptions()).revive(reachOf(call, gate, true), id, undefined);
        return reply.json(202, { retried });
      },
    }),
    route({
      ...writable,
      ...common,
      method: 'POST',
      path: `${LETTERS}/{letter}/retry`,
      summary: 'Send a dead letter again, with all of its attempts',
      schema: { params: schemas.LetterParams, responses: { 202: schemas.Revived } },
      handle: async (call) => {
        const { id, letter } = call.params;
        const retried = await (await subscriptions()).revive(reachOf(call, gate, true), id, letter);
        return reply.json(202, { retried });
      },
    }),
  ];
}
