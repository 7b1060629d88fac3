/** A message between replicas. */
export interface Envelope {
  /** Names the process that sent it. */
  readonly origin: string;
  /** Id of an event, or one of `Signal`. */
  readonly subject: string;
  /** JSON of the payload, not yet read. */
  readonly body: string;
}

/** What replicas tell each other beside events. `!` begins no id of an event. */
export const Signal = {
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
 * message nobody waits for is dropped without parsing it.
 */
export function pack(envelope: Envelope, number: number): string {
  const { origin, subject, body } = envelope;
  return `${VERSION} ${origin} ${number.toString(36)} ${subject} ${body}`;
}

/** Reads a message; `undefined` for what is none. The body is not checked. */
export function unpack(text: string): Envelope | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const header = HEADER.exec(text);
  if (header === null) return undefined;
  const [written, origin, subject] = header;
  return { origin: origin!, subject: subject!, body: text.slice(written.length) };
}
