import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Where identifiers and randomness come from. Tests pass a deterministic one. */
export interface Ids {
  /**
   * A UUID v7 (RFC 9562): ordered by creation time, in one process also within a millisecond; the default for every
   * record.
   */
  uuid(): string;
  /** A UUID v4: for names that must not reveal when they were made. */
  opaque(): string;
  /** `length` bytes from the operating system's generator. Throws when it fails; a partial result is never returned. */
  bytes(length: number): Buffer;
}

/** Ids from the operating system's random generator and the given clock. */
export function createIds(clock: Clock): Ids {
  let pool = '';
  let used = 0;
  // One system call serves 256 ids; a request needs several, and the call costs more than all the rest of an id.
  const twentyDigits = () => {
    if (used === pool.length) {
      pool = randomBytes(POOL_BYTES).toString('hex');
      used = 0;
    }
    used += 20;
    return pool.slice(used - 20, used);
  };
  return {
    uuid: () => uuidV7(clock.now(), twentyDigits()),
    opaque: () => randomUUID(),
    bytes: (length) => randomBytes(length),
  };
}

const POOL_BYTES = 2560;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * True for text that can be the id of a record: a UUID in lower case. Any other text is unknown without a query, which
 * a database might reject.
 */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * The part that holds the time is the same for all ids of a millisecond, and a counter orders them (RFC 9562, 6.2,
 * method 1). Where the counter is at its end, the ids go on in the next millisecond, ahead of the clock.
 */
let prefixTime = -1;
let prefix = '';
let counter = 0;

const MAX_COUNTER = 0xfff;
/** Milliseconds that ids may be ahead of the clock. A clock that is further behind was set back, and is followed. */
const MAX_AHEAD = 1_000;

/** All bytes in two digits. */
const BYTES = Array.from({ length: 0x100 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** The variant of RFC 9562 with two random bits. */
const VARIANTS = ['8', '9', 'a', 'b'];

/** @param random twenty hexadecimal digits */
function uuidV7(milliseconds: number, random: string): string {
  const isAhead = milliseconds < prefixTime && prefixTime - milliseconds <= MAX_AHEAD;
  if (milliseconds !== prefixTime && !isAhead) startMillisecond(milliseconds, random);
  else if (counter < MAX_COUNTER) counter += 1;
  else startMillisecond(prefixTime + 1, random);
  const variant = VARIANTS[Number.parseInt(random[4]!, 16) & 3]!;
  const version = BYTES[0x70 | (counter >> 8)]! + BYTES[counter & 0xff]!;
  return `${prefix}${version}-${variant}${random.slice(5, 8)}-${random.slice(8)}`;
}

function startMillisecond(milliseconds: number, random: string): void {
  const time = milliseconds.toString(16).padStart(12, '0');
  prefixTime = milliseconds;
  prefix = `${time.slice(0, 8)}-${time.slice(8)}-`;
  // The upper half is room to count in.
  counter = Number.parseInt(random.slice(0, 4), 16) & (MAX_COUNTER >> 1);
}
