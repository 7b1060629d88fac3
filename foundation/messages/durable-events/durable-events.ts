import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Static, TSchema } from 'typebox';
import { refuseMisspelled } from '../../base/nearest-name.ts';
import { Type } from '../../base/type.ts';
import type { RowWrite, TenantEntityManager } from '../../data/database.ts';
import type { Logger } from '../../observability/logger.ts';
import { EVENT_ID } from '../events/events.ts';
import { checkWorkerOptions } from '../jobs/job-worker.ts';
import {
  defineJob,
  JOB_SETTINGS,
  type JobRef,
  type JobSettings,
  type JobWorker,
  type WorkerOptions,
} from '../jobs/jobs.ts';

/**
 * A typed name for something that happened to a tenant, and that no subscriber may miss. Compare by `id`; the type
 * parameter exists at compile time only.
 */
export interface DurableEventRef<T> {
  readonly kind: 'durable-event';
  /** `<plugin>.<what-happened>`, unique in the deployment. */
  readonly id: string;
  /** Publishers and subscribers both check payloads against it. */
  readonly schema: TSchema;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

/** Its subscribers' queues are named after it. */
const MAX_ID = 48;
const MAX_QUEUE = 100;

/**
 * Declares a durable event in a plugin's contract. It is published in the transaction of what it reports, and delivered
 * to each subscriber at least once, as a job: with attempts, pauses between them, and dead letters for the operator. No
 * order is promised.
 *
 * The payload is stored, and operators read it: ids and facts, no secret, nothing that a person wrote, 64 KiB at most.
 * It only grows: add members that may be absent, and give an event whose meaning changes a new id. Old and new replicas
 * understand each other then.
 *
 * @param id `<plugin>.<what-happened>` in lower case, at most 48 characters
 * @throws TypeError for another id
 *
 * @example
 * export const OrderPaid = defineDurableEvent('shop.order-paid', Type.Object({ order_id: Type.String() }));
 */
export function defineDurableEvent<const S extends TSchema>(
  id: string,
  schema: S,
): DurableEventRef<Static<S>> {
  if (id.length > MAX_ID || !EVENT_ID.test(id)) {
    throw new TypeError(
      `The id of a durable event is <plugin>.<what-happened> in lower case, ${MAX_ID} characters at most, not ${JSON.stringify(id.slice(0, 100))}`,
    );
  }
  return { kind: 'durable-event', id, schema };
}

/**
 * Publishes what happened. Each subscriber costs one row in the transaction; without any subscriber no statement is
 * sent.
 */
export interface DurableEvents {
  /**
   * Publishes in the transaction of `entities`: committed or rolled back with the data. Outside of a transaction it is
   * stored at once.
   *
   * @throws job.payload-invalid, job.payload-too-large, where there is a subscriber
   */
  publish<T>(entities: TenantEntityManager, event: DurableEventRef<T>, payload: NoInfer<T>): Promise<void>;
  /** The same as writes for `entities.writeTogether`, with the tenant of these; none without a subscriber. */
  writes<T>(event: DurableEventRef<T>, payload: NoInfer<T>): readonly RowWrite[];
  /** Whether there is a subscriber: a payload that is costly to collect is not needed without one. */
  hasSubscribers(event: DurableEventRef<unknown>): boolean;
}

/** Handles one event. Resolving says that it is done. */
export type DurableEventHandler<T> = (payload: T, context: DurableEventContext) => Promise<void>;

/** What a handler gets in addition to the payload. */
export interface DurableEventContext {
  /** Of the event: the same for each subscriber and each attempt. What was handled already is recognized by it. */
  readonly id: string;
  /** When it was published, by the clock of that process. */
  readonly at: Date;
  /** To which it happened. */
  readonly tenantId: string;
  /** An entity manager of that tenant. The tenant may be deleted, or purged, meanwhile. */
  entities(): TenantEntityManager;
  /** 1 for the first. */
  readonly attempt: number;
  /** After a failure of this attempt the delivery is dead. */
  readonly isLast: boolean;
  /** Aborts at the deadline of the attempt, at the end of a drain, and when another replica has the delivery. */
  readonly signal: AbortSignal;
  /** Has queue, job, attempt and tenant in each line. */
  readonly log: Logger;
}

/** How a subscription is worked on; everything has a default, that of jobs. */
export interface SubscribeOptions extends JobSettings, WorkerOptions {
  /**
   * Distinguishes two subscriptions of one plugin to one event: lower-case letters, digits and hyphens, 16 at most.
   * Default: none.
   */
  readonly name?: string;
}

/** What a host needs in addition to publishing. */
export interface DurableEventsHost extends DurableEvents {
  /**
   * Publishes with an entity manager that sees all tenants, in its transaction. What is published so does not go with
   * the tenant when that is purged.
   */
  publishOf<T>(
    entities: SqlEntityManager,
    tenantId: string,
    event: DurableEventRef<T>,
    payload: NoInfer<T>,
  ): Promise<void>;
  /** Makes the subscription known to all replicas, and works on its queue until it is stopped. @throws job.closed */
  subscribe<T>(subscription: Subscription<T>): JobWorker;
  /** Stops looking for subscriptions of other replicas. The jobs are closed separately. */
  close(): Promise<void>;
}

/** A subscription of a plugin, checked. */
export interface Subscription<T> {
  readonly event: DurableEventRef<T>;
  /** Its deliveries. */
  readonly job: JobRef<Envelope>;
  readonly worker: WorkerOptions;
  readonly handle: DurableEventHandler<T>;
}

/** An event as a job carries it. */
export interface Envelope {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Where the job is not the tenant's own. */
  readonly tenant_id?: string;
  readonly data: unknown;
}

/** By the schema of the payload: each is compiled once. */
const envelopes = new WeakMap<TSchema, TSchema>();

function envelopeOf(data: TSchema): TSchema {
  const known =
    envelopes.get(data) ??
    Type.Object({ id: Type.String(), at: Type.Number(), tenant_id: Type.Optional(Type.String()), data });
  envelopes.set(data, known);
  return known;
}

/**
 * The deliveries of an event to one subscription. @throws TypeError for an id that is no queue's, and for settings out
 * of their bounds
 */
export function deliveryJob(
  queue: string,
  { schema }: DurableEventRef<unknown>,
  settings: JobSettings,
): JobRef<Envelope> {
  return defineJob(queue, envelopeOf(schema), settings) as JobRef<Envelope>;
}

/** Checks what a plugin subscribes to. @throws TypeError, job.option-invalid */
export function subscription<T>(
  plugin: string,
  event: DurableEventRef<T>,
  handle: DurableEventHandler<T>,
  options: SubscribeOptions = {},
): Subscription<T> {
  const { name, concurrency, ...settings } = options;
  refuseMisspelled(`options of a subscription to ${event.id}`, options, [
    'name',
    'concurrency',
    ...JOB_SETTINGS,
  ]);
  const worker = concurrency === undefined ? {} : { concurrency };
  checkWorkerOptions(worker);
  return { event, handle, worker, job: deliveryJob(queueOf(plugin, event, name), event, settings) };
}

const NAME = /^[a-z0-9][a-z0-9-]{0,15}$/;

/** The queue of a plugin's subscription: `<plugin>.on.<event>`, and its name where it has one. */
function queueOf(plugin: string, event: DurableEventRef<unknown>, name: string | undefined): string {
  if (name !== undefined && !NAME.test(name))
    throw new TypeError(
      `The name of a subscription is 1 to 16 lower-case letters, digits and hyphens, not "${name}"`,
    );
  const queue = [plugin, 'on', event.id, ...(name === undefined ? [] : [name])].join('.');
  if (queue.length > MAX_QUEUE)
    throw new TypeError(
      `"${queue}" is above ${MAX_QUEUE} characters: the name of the plugin is too long to subscribe`,
    );
  return queue;
}
