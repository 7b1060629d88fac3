import { backoffDelay } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/deadline.ts';
import type { Ids } from '../../base/ids.ts';
import { throttledLog } from '../../base/throttle.ts';
import type { Logger } from '../../observability/logger.ts';
import type { EventMetrics } from './event-metrics.ts';
import type { EventLimits } from './events.ts';
import type { Connection, Transport } from './transport.ts';

/** What a link needs. */
interface ReplicaLinkOptions {
  readonly transport: Transport;
  readonly limits: EventLimits;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: EventMetrics;
  /** An event of another replica. */
  readonly onEvent: (id: string, body: string) => void;
  /** Events of other replicas may have been missed. */
  readonly onMissed: () => void;
}

/**
 * The connection to the other replicas, kept for ever: a lost one is replaced with growing, random delays. A new one
 * counts once a message sent on it has come back, which a pooler that takes LISTEN without keeping it does not manage.
 * What was being sent when a connection broke is not sent again; that something is missing is reported to the other
 * replicas.
 */
export function createReplicaLink(options: ReplicaLinkOptions) {
  const { transport, limits, ids, log, clock, metrics, onEvent, onMissed } = options;
  const origin = ids.opaque();
  const malformed = throttledLog(clock, (_, count) =>
    log.warn({ count }, `messages on the events channel of ${transport.title} are not understood`),
  );
  const refused = throttledLog<unknown>(clock, (err, lost_events) =>
    log.warn({ err, lost_events }, `${transport.title} refuses events`),
  );
  /** Messages that wait to be sent, in order. A full buffer loses its oldest message. */
  const outgoing: string[] = [];
  let number = 0;
  let connection: Connection | undefined;
  /** Why the connection is gone; `undefined` while it stands. */
  let loss: { reason: unknown } | undefined;
  let isUp = false;
  /** The outage was logged. */
  let isReported = false;
  /** Messages that were dropped in this outage. */
  let dropped = 0;
  /** The other replicas have to be notified that they missed events. */
  let owesLost = false;
  let isPingDue = false;
  let isClosing = false;
  let isEnded = false;
  let failures = 0;
  let wake: () => void = () => undefined;
  let echoed: () => void = () => undefined;

  async function run(): Promise<void> {
    while (!isDone()) {
      try {
        await connect();
        up();
        await serve();
      } catch (reason) {
        down(reason);
      } finally {
        isUp = false;
        connection?.destroy();
        connection = undefined;
      }
      if (!isDone()) await rest(pauseLength());
    }
  }

  async function connect(): Promise<void> {
    loss = undefined;
    const echo = Promise.withResolvers<void>();
    echoed = echo.resolve;
    const opened = transport.connect({
      message: (text) => receive(text),
      lost: (reason) => {
        if (opened !== connection) return;
        loss ??= { reason };
        echo.reject(reason);
        wake();
      },
    });
    connection = opened;
    // Without a handler of its own a loss before the echo is awaited would end the process.
    echo.promise.catch(() => undefined);
    await within(limits.openDeadline, `connecting to ${transport.title}`, opened.open());
    await signal(Signal.hello);
    await within(limits.answerDeadline, `${transport.title} returning a message to its sender`, echo.promise);
  }

  /** Sends what there is until the connection is lost, which rejects, or all is sent at the end. */
  async function serve(): Promise<void> {
    isPingDue = false;
    const pings = setInterval(() => {
      isPingDue = true;
      wake();
    }, limits.pingEvery);
    try {
      while (true) {
        if (loss !== undefined) throw loss.reason;
        if (isPingDue) {
          await within(limits.answerDeadline, `an answer of ${transport.title}`, connection!.ping());
          isPingDue = false;
          failures = 0;
        } else if (owesLost) await reportLost();
        else if (outgoing.length > 0) await sendBatch();
        else if (isClosing) return;
        else await rest(limits.pingEvery);
      }
    } finally {
      clearInterval(pings);
    }
  }

  async function sendBatch(): Promise<void> {
    const batch = outgoing.splice(0, limits.batch);
    try {
      const { count, reason } = await sendNow(batch);
      if (count === 0) return;
      drop(count);
      refused(reason, count);
    } catch (reason) {
      drop(batch.length);
      throw reason;
    }
  }

  async function reportLost(): Promise<void> {
    // What is dropped while this is sent has to be reported again.
    owesLost = false;
    dropped = 0;
    try {
      await signal(Signal.lost);
    } catch (reason) {
      owesLost = true;
      throw reason;
    }
  }

  async function signal(subject: string): Promise<void> {
    const { count, reason } = await sendNow([message(subject, '')]);
    if (count > 0) throw reason;
  }

  function sendNow(messages: readonly string[]) {
    return within(limits.answerDeadline, `sending to ${transport.title}`, connection!.send(messages));
  }

  function receive(text: string): void {
    const envelope = unpack(text);
    if (envelope === undefined) {
      metrics.dropped('malformed', 1);
      malformed();
    } else if (envelope.origin === origin) {
      if (envelope.subject === Signal.hello) echoed();
    } else if (envelope.subject === Signal.lost) onMissed();
    else if (!envelope.subject.startsWith('!')) onEvent(envelope.subject, envelope.body);
  }

  function up(): void {
    isUp = true;
    metrics.connected.set(1);
    const lost_events = dropped;
    if (isReported)
      log.info({ lost_events }, `${transport.title} is back: events reach other replicas again`);
    else if (lost_events > 0) log.warn({ lost_events }, `events were lost while ${transport.title} was away`);
    isReported = false;
    onMissed();
  }

  function down(reason: unknown): void {
    if (isUp || failures === 0) metrics.connected.set(0);
    failures += 1;
    if (isReported || isEnded || transport.isReportedAway?.()) return;
    isReported = true;
    log.warn(
      { err: reason },
      `${transport.title} is away: no events from and to other replicas until it is back`,
    );
  }

  function drop(count: number): void {
    dropped += count;
    owesLost = true;
    metrics.dropped('outgoing', count);
  }

  function message(subject: string, body: string): string {
    number += 1;
    return pack({ origin, subject, body }, number);
  }

  function isDone(): boolean {
    return isEnded || (isClosing && outgoing.length === 0);
  }

  function pauseLength(): number {
    return backoffDelay(Math.max(1, failures), limits.backoff, ids.bytes(1)[0]! / 255);
  }

  /** Waits, until `wake` at most. */
  function rest(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const running = run();

  return {
    /** The connection stands, as far as this process knows. */
    isUp: () => isUp,

    /** Sends an event when it can; never throws. */
    send(id: string, body: string): void {
      if (isClosing) return;
      if (outgoing.length >= limits.outgoing) {
        outgoing.shift();
        drop(1);
      }
      outgoing.push(message(id, body));
      if (isUp) wake();
    },

    /** Sends what is buffered, for `closeDeadline` at most, and ends. */
    async close(): Promise<void> {
      isClosing = true;
      wake();
      if (isUp || outgoing.length > 0) {
        await within(limits.closeDeadline, 'sending the last events', running).catch((err: unknown) =>
          log.warn({ err, lost_events: outgoing.length }, 'the last events were not sent'),
        );
      }
      isEnded = true;
      connection?.destroy();
      wake();
      await running;
    },
  };
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

/** What replicas send each other in addition to events. `!` begins no id of an event. */
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
