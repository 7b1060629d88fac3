import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Where identifiers and randomness come from. Tests pass a deterministic one. */
export interface Ids {
  /** A UUID v7 (RFC 9562): ordered by creation time, in one process also within a millisecond; the default for every record. */
  uuid(): string;
  /** A UUID v4: for names that must not tell when they were made. */
  opaque(): string;
  /** `length` bytes from the operating system's generator. Throws when it fails; a partial result is never returned. */
  bytes(length: number): Buffer;
}

/** Ids from the operating system's random generator and the given clock. */
export function createIds(clock: Clock): Ids {
  let pool = randomBytes(POOL_BYTES);
  let used = 0;
  // One system call serves 256 ids; a request needs several, and the call costs more than all the rest of an id.
  const tenBytes = () => {
    if (used + 10 > POOL_BYTES) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += 10;
    return pool.subarray(used - 10, used);
  };
  return {
    uuid: () => uuidV7(clock.now(), tenBytes()),
    opaque: () => randomUUID(),
    bytes: (length) => randomBytes(length),
  };
}

const POOL_BYTES = 2560;

/**
 * The part that tells the time is the same for all ids of a millisecond, and a counter orders them (RFC 9562, 6.2, method 1). Where the counter is at its end, the
 * ids go on in the next millisecond, ahead of the clock.
 */
let prefixTime = -1;
let prefix = '';
let counter = 0;

const MAX_COUNTER = 0xfff;
/** Milliseconds that ids may be ahead of the clock. A clock that is further behind was set back, and is followed. */
const MAX_AHEAD = 1_000;

function uuidV7(milliseconds: number, random: Buffer): string {
  const isAhead = milliseconds < prefixTime && prefixTime - milliseconds <= MAX_AHEAD;
  if (milliseconds !== prefixTime && !isAhead) startMillisecond(milliseconds, random);
  else if (counter < MAX_COUNTER) counter += 1;
  else startMillisecond(prefixTime + 1, random);
  // Version 7 and the variant of RFC 9562 in their bits; the rest is random.
  random.writeUInt16BE(0x7000 | counter, 0);
  random[2] = 0x80 | (random[2]! & 0x3f);
  const hex = random.toString('hex');
  return `${prefix}${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
}

function startMillisecond(milliseconds: number, random: Buffer): void {
  const time = milliseconds.toString(16).padStart(12, '0');
  prefixTime = milliseconds;
  prefix = `${time.slice(0, 8)}-${time.slice(8)}-`;
  // The upper half is room to count in.
  counter = random.readUInt16BE(0) & (MAX_COUNTER >> 1);
}
