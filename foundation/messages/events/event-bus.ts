import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { payloadProblem } from '../../base/json-schema.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Logger } from '../../observability/logger.ts';
import { EventErrors } from './errors.ts';
import type { EventLimits } from './event-limits.ts';
import type { EventObserver } from './event-observer.ts';
import type { EventRef } from './event-ref.ts';
import type { EventListener, Events } from './events.ts';
import { type Delivery, ListenerQueue } from './listener-queue.ts';
import { MissedEvents } from './missed-events.ts';
import { ReplicaLink } from './replica-link.ts';
import type { Transport } from './transport.ts';

/** What the events of a process need. */
export interface EventBusOptions {
  /** The way to the other replicas; without one events stay in this process. */
  readonly transport: Transport | undefined;
  readonly limits: EventLimits;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly clock: Clock;
  readonly observe: EventObserver;
}

/**
 * Bytes of JSON that a payload may have. PostgreSQL takes notifications below 8,000 bytes, of which origin, number and
 * id need up to 230.
 */
const MAX_PAYLOAD = 7_000;

/** The events of one process, and its link to the others. */
export class EventBus implements Events {
  readonly #options: EventBusOptions;
  readonly #queues = new Map<string, Set<ListenerQueue>>();
  readonly #missed: MissedEvents;
  readonly #link: ReplicaLink | undefined;
  readonly #inOwnContext = AsyncLocalStorage.snapshot();
  #closing: Promise<void> | undefined;

  constructor(options: EventBusOptions) {
    this.#options = options;
    const { limits, log, clock, transport, observe } = options;
    this.#missed = new MissedEvents({ every: limits.missedEvery, log });
    if (transport === undefined) return;
    const malformed = throttledLog<void>(clock, (_, count) =>
      log.warn({ count }, `messages on the events channel of ${transport.title} are not understood`),
    );
    this.#link = new ReplicaLink({
      ...options,
      transport,
      onEvent: (id, body) => {
        if (!this.#queues.has(id)) return;
        observe.received();
        this.#deliver(id, { body, origin: 'remote', fits: undefined });
      },
      onMissed: () => this.#missed.tell(),
      onMalformed: () => {
        observe.dropped('malformed', 1);
        malformed();
      },
      onRefused: throttledLog(clock, (err, count) =>
        log.warn({ err, lost_events: count }, `${transport.title} refuses events`),
      ),
    });
  }

  get reach(): Events['reach'] {
    return this.#options.transport?.reach ?? 'process';
  }

  emit<T>(event: EventRef<T>, payload: NoInfer<T>): void {
    const body = this.#write(event, payload);
    if (this.#closing !== undefined) return;
    this.#options.observe.emitted();
    // Listeners belong to nobody's request, and are not inside the transaction of whoever emits.
    this.#inOwnContext(() => {
      this.#deliver(event.id, { body, origin: 'local', fits: event.schema });
      this.#link?.send(event.id, body);
    });
  }

  on<T>(event: EventRef<T>, listener: EventListener<NoInfer<T>>): () => void {
    if (this.#closing !== undefined) return () => undefined;
    const queue = this.#queueFor(event, listener as EventListener<unknown>);
    const queues = this.#queues.get(event.id) ?? new Set();
    this.#queues.set(event.id, queues.add(queue));
    return () => {
      queue.end();
      queues.delete(queue);
      if (queues.size === 0 && this.#queues.get(event.id) === queues) this.#queues.delete(event.id);
    };
  }

  onMissed(listener: () => void): () => void {
    return this.#missed.on(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#link?.close();
    this.#missed.close();
    for (const queues of this.#queues.values()) for (const queue of queues) queue.end();
    this.#queues.clear();
  }

  /** The payload as JSON, checked in the form in which it arrives. */
  #write({ id, schema }: EventRef<unknown>, payload: unknown): string {
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

  #deliver(id: string, delivery: Delivery): void {
    for (const queue of this.#queues.get(id) ?? []) queue.push(delivery);
  }

  #queueFor({ id, schema }: EventRef<unknown>, listener: EventListener<unknown>): ListenerQueue {
    const { limits, log, clock, observe } = this.#options;
    const fellBehind = throttledLog<void>(clock, (_, count) =>
      log.warn(
        { event: id, lost_events: count },
        'a listener is slower than its events: the oldest are dropped',
      ),
    );
    const unfit = throttledLog<string>(clock, (problem, count) =>
      log.warn({ event: id, problem, lost_events: count }, 'an event from elsewhere does not fit its schema'),
    );
    return new ListenerQueue({
      event: id,
      schema,
      listener,
      bound: limits.backlog,
      deadline: limits.listenerDeadline,
      problem: payloadProblem,
      onOverflow: () => {
        observe.dropped('backlog', 1);
        fellBehind();
        this.#missed.tell();
      },
      onUnfit: (problem) => {
        observe.dropped('unfit', 1);
        unfit(problem);
      },
      onFailure: throttledLog(clock, (err, count) =>
        log.error({ err, event: id, failures: count }, 'a listener to an event failed'),
      ),
    });
  }
}
