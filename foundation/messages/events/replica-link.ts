import { backoffDelay } from '../../base/backoff.ts';
import { within } from '../../base/deadline.ts';
import type { Ids } from '../../base/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import type { EventMetrics } from './event-metrics.ts';
import type { EventLimits } from './events.ts';
import type { Connection, Transport } from './transport.ts';

/** What a link needs. */
interface ReplicaLinkOptions {
  readonly transport: Transport;
  readonly limits: EventLimits;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: EventMetrics;
  /** An event of another replica. */
  readonly onEvent: (id: string, body: string) => void;
  /** Events of other replicas may have been missed. */
  readonly onMissed: () => void;
  /** A message that is none of ours. */
  readonly onMalformed: () => void;
  /** Messages that the server refused although it works. */
  readonly onRefused: (reason: unknown, count: number) => void;
}

/**
 * The connection to the other replicas, kept for ever: a lost one is made anew with growing, random delays. A new one
 * counts once a message sent on it has come back, which a pooler that takes LISTEN without keeping it does not manage.
 * What was being sent when a connection broke is not sent again; that something is missing is reported to the other replicas.
 */
export class ReplicaLink {
  readonly #options: ReplicaLinkOptions;
  readonly #origin: string;
  /** Messages that wait to be sent, in order. A full buffer loses its oldest message. */
  readonly #outgoing: string[] = [];
  readonly #running: Promise<void>;
  #number = 0;
  #connection: Connection | undefined;
  /** Why the connection is gone; `undefined` while it stands. */
  #loss: { readonly reason: unknown } | undefined;
  #isUp = false;
  /** The outage was logged. */
  #isReported = false;
  /** Messages that were dropped in this outage. */
  #dropped = 0;
  /** The other replicas have to hear that they miss something. */
  #owesLost = false;
  #isPingDue = false;
  #isClosing = false;
  #isEnded = false;
  #failures = 0;
  #wake: () => void = () => undefined;
  #echoed: () => void = () => undefined;

  constructor(options: ReplicaLinkOptions) {
    this.#options = options;
    this.#origin = options.ids.opaque();
    this.#running = this.#run();
  }

  /** The connection stands, as far as anybody knows. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Sends an event when it can; never throws. */
  send(id: string, body: string): void {
    if (this.#isClosing) return;
    if (this.#outgoing.length >= this.#options.limits.outgoing) {
      this.#outgoing.shift();
      this.#drop(1);
    }
    this.#outgoing.push(this.#pack(id, body));
    if (this.#isUp) this.#wake();
  }

  /** Sends what is buffered, for `closeDeadline` at most, and ends. */
  async close(): Promise<void> {
    const { limits, log } = this.#options;
    this.#isClosing = true;
    this.#wake();
    if (this.#isUp || this.#outgoing.length > 0) {
      await within(limits.closeDeadline, 'sending the last events', this.#running).catch((err: unknown) =>
        log.warn({ err, lost_events: this.#outgoing.length }, 'the last events were not sent'),
      );
    }
    this.#isEnded = true;
    this.#connection?.destroy();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isDone()) {
      try {
        await this.#open();
        this.#up();
        await this.#serve();
      } catch (reason) {
        this.#down(reason);
      } finally {
        this.#isUp = false;
        this.#connection?.destroy();
        this.#connection = undefined;
      }
      if (!this.#isDone()) await this.#rest(this.#delay());
    }
  }

  async #open(): Promise<void> {
    const { transport, limits } = this.#options;
    this.#loss = undefined;
    const echo = Promise.withResolvers<void>();
    this.#echoed = echo.resolve;
    const connection = transport.connect({
      message: (text) => this.#receive(text),
      lost: (reason) => {
        if (connection !== this.#connection) return;
        this.#loss ??= { reason };
        echo.reject(reason);
        this.#wake();
      },
    });
    this.#connection = connection;
    // Without a handler of its own a loss before anybody waits for the echo would end the process.
    echo.promise.catch(() => undefined);
    await within(limits.openDeadline, `connecting to ${transport.title}`, connection.open());
    await this.#signal(Signal.hello);
    await within(limits.answerDeadline, `${transport.title} returning a message to its sender`, echo.promise);
  }

  /** Sends what there is until the connection is lost, which rejects, or all is sent at the end. */
  async #serve(): Promise<void> {
    const { transport, limits } = this.#options;
    this.#isPingDue = false;
    const pings = setInterval(() => {
      this.#isPingDue = true;
      this.#wake();
    }, limits.pingEvery);
    try {
      while (true) {
        if (this.#loss !== undefined) throw this.#loss.reason;
        if (this.#isPingDue) {
          await within(limits.answerDeadline, `an answer of ${transport.title}`, this.#connection!.ping());
          this.#isPingDue = false;
          this.#failures = 0;
        } else if (this.#owesLost) await this.#reportLost();
        else if (this.#outgoing.length > 0) await this.#sendBatch();
        else if (this.#isClosing) return;
        else await this.#rest(limits.pingEvery);
      }
    } finally {
      clearInterval(pings);
    }
  }

  async #sendBatch(): Promise<void> {
    const batch = this.#outgoing.splice(0, this.#options.limits.batch);
    try {
      const { count, reason } = await this.#sendNow(batch);
      if (count === 0) return;
      this.#drop(count);
      this.#options.onRefused(reason, count);
    } catch (reason) {
      this.#drop(batch.length);
      throw reason;
    }
  }

  async #reportLost(): Promise<void> {
    // What is dropped while this is sent has to be reported again.
    this.#owesLost = false;
    this.#dropped = 0;
    try {
      await this.#signal(Signal.lost);
    } catch (reason) {
      this.#owesLost = true;
      throw reason;
    }
  }

  async #signal(subject: string): Promise<void> {
    const { count, reason } = await this.#sendNow([this.#pack(subject, '')]);
    if (count > 0) throw reason;
  }

  #sendNow(messages: readonly string[]) {
    const { transport, limits } = this.#options;
    return within(limits.answerDeadline, `sending to ${transport.title}`, this.#connection!.send(messages));
  }

  #receive(text: string): void {
    const { onEvent, onMissed, onMalformed } = this.#options;
    const envelope = unpack(text);
    if (envelope === undefined) onMalformed();
    else if (envelope.origin === this.#origin) {
      if (envelope.subject === Signal.hello) this.#echoed();
    } else if (envelope.subject === Signal.lost) onMissed();
    else if (!envelope.subject.startsWith('!')) onEvent(envelope.subject, envelope.body);
  }

  #up(): void {
    const { transport, log, metrics, onMissed } = this.#options;
    this.#isUp = true;
    metrics.connected.set(1);
    const lost_events = this.#dropped;
    if (this.#isReported)
      log.info({ lost_events }, `${transport.title} is back: events reach other replicas again`);
    else if (lost_events > 0) log.warn({ lost_events }, `events were lost while ${transport.title} was away`);
    this.#isReported = false;
    onMissed();
  }

  #down(reason: unknown): void {
    const { transport, log, metrics } = this.#options;
    if (this.#isUp || this.#failures === 0) metrics.connected.set(0);
    this.#failures += 1;
    if (this.#isReported || this.#isEnded || transport.isReportedAway?.()) return;
    this.#isReported = true;
    log.warn(
      { err: reason },
      `${transport.title} is away: no events from and to other replicas until it is back`,
    );
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#owesLost = true;
    this.#options.metrics.dropped('outgoing', count);
  }

  #pack(subject: string, body: string): string {
    this.#number += 1;
    return pack({ origin: this.#origin, subject, body }, this.#number);
  }

  #isDone(): boolean {
    return this.#isEnded || (this.#isClosing && this.#outgoing.length === 0);
  }

  #delay(): number {
    const { limits, ids } = this.#options;
    return backoffDelay(Math.max(1, this.#failures), limits.backoff, ids.bytes(1)[0]! / 255);
  }

  /** Waits, until `#wake` at most. */
  #rest(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A message between replicas. */
interface Envelope {
  /** Names the process that sent it. */
  readonly origin: string;
  /** Id of an event, or one of `Signal`. */
  readonly subject: string;
  /** JSON of the payload, not yet read. */
  readonly body: string;
}

/** What replicas send each other beside events. `!` begins no id of an event. */
const Signal = {
  /** Asks whether the channel carries messages: its sender waits for it to come back. */
  hello: '!hello',
  /** The sender could not send all of its events. */
  lost: '!lost',
} as const;

/** Begins every message. A form that this one cannot read gets another number, and is dropped by older versions. */
const VERSION = '1';

/** Characters above which a message is not looked at: the largest of ours is shorter. */
const MAX_LENGTH = 7_500;

const HEADER = /^1 ([A-Za-z0-9-]{1,64}) [a-z0-9]{1,13} (!?[a-z0-9.-]{1,128}) /;

/**
 * A message as text: `1 <origin> <number> <subject> <body>`. The number makes every message of a sender different, for
 * PostgreSQL delivers equal notifications of one transaction only once. The body comes last and unquoted, so that a
 * message without a listener is dropped without parsing it.
 */
function pack(envelope: Envelope, number: number): string {
  const { origin, subject, body } = envelope;
  return `${VERSION} ${origin} ${number.toString(36)} ${subject} ${body}`;
}

/** Reads a message; `undefined` for what is none. The body is not checked. */
function unpack(text: string): Envelope | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const header = HEADER.exec(text);
  if (header === null) return undefined;
  const [written, origin, subject] = header;
  return { origin: origin!, subject: subject!, body: text.slice(written.length) };
}
