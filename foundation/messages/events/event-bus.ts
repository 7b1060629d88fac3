import { AsyncLocalStorage } from 'node:async_hooks';
import type { Ids } from '../../base/ids.ts';
import { payloadProblem } from '../../base/json-schema.ts';
import type { Logger } from '../../observability/logger.ts';
import { EventErrors, type EventListener, type EventRef, type Events } from './events.ts';
import { createListenerQueue, type Delivery, type QueueParts } from './listener-queue.ts';
import { createMissedEvents } from './missed-events.ts';
import { createReplicaLink } from './replica-link.ts';
import type { Transport } from './transport.ts';

/** What the events of a process need. */
export interface EventBusOptions extends QueueParts {
  /** The way to the other replicas; without one events stay in this process. */
  readonly transport: Transport | undefined;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/**
 * Bytes of JSON that a payload may have. PostgreSQL takes notifications below 8,000 bytes, of which origin, number and
 * id need up to 230.
 */
const MAX_PAYLOAD = 7_000;

/** The events of one process, and its link to the others. */
export function createEventBus(options: EventBusOptions): Events {
  const { limits, log, transport, metrics } = options;
  const queues = new Map<string, Set<ReturnType<typeof createListenerQueue>>>();
  const inOwnContext = AsyncLocalStorage.snapshot();
  const missed = createMissedEvents(limits.missedEvery, log);
  const link =
    transport &&
    createReplicaLink({
      ...options,
      transport,
      onEvent(id, body) {
        if (!queues.has(id)) return;
        metrics.received.inc();
        deliver(id, { body, origin: 'remote', fits: undefined });
      },
      onMissed: () => missed.report(),
    });
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    await link?.close();
    missed.close();
    for (const ofEvent of queues.values()) for (const queue of ofEvent) queue.end();
    queues.clear();
  }

  function deliver(id: string, delivery: Delivery): void {
    for (const queue of queues.get(id) ?? []) queue.push(delivery);
  }

  return {
    reach: transport?.reach ?? 'process',

    get isConnected() {
      return link?.isUp() ?? true;
    },

    emit(event, payload) {
      const body = write(event, payload);
      if (closing !== undefined) return;
      metrics.emitted.inc();
      // Listeners belong to no request, and are not inside the transaction of the emitter.
      inOwnContext(() => {
        deliver(event.id, { body, origin: 'local', fits: event.schema });
        link?.send(event.id, body);
      });
    },

    on(event, listener) {
      if (closing !== undefined) return () => undefined;
      const queue = createListenerQueue(event, listener as EventListener<unknown>, options, missed.report);
      const ofEvent = queues.get(event.id) ?? new Set();
      queues.set(event.id, ofEvent.add(queue));
      return () => {
        queue.end();
        ofEvent.delete(queue);
        if (ofEvent.size === 0 && queues.get(event.id) === ofEvent) queues.delete(event.id);
      };
    },

    onMissed: (listener) => missed.on(listener),

    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** The payload as JSON, checked in the form in which it arrives. */
function write({ id, schema }: EventRef<unknown>, payload: unknown): string {
  let body: string | undefined;
  try {
    body = JSON.stringify(payload);
  } catch (cause) {
    throw EventErrors.unfit(`The payload of ${id} cannot be written as JSON`, { cause });
  }
  if (body === undefined) throw EventErrors.unfit(`The payload of ${id} is nothing that JSON can say`);
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_PAYLOAD) {
    throw EventErrors.tooLarge(
      `The payload of ${id} has ${bytes} bytes of JSON, at most ${MAX_PAYLOAD} may be`,
    );
  }
  const problem = payloadProblem(schema, JSON.parse(body));
  if (problem !== undefined) throw EventErrors.unfit(`The payload of ${id} does not fit: ${problem}`);
  return body;
}
