import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Where identifiers and randomness come from. Tests pass a deterministic one. */
export interface Ids {
  /** A UUID v7 (RFC 9562): ordered by creation time, the default for every record. */
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

function uuidV7(milliseconds: number, random: Buffer): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  const version = (0x7000 | (random.readUInt16BE(0) & 0x0fff)).toString(16);
  const variant = (0x8000 | (random.readUInt16BE(2) & 0x3fff)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${random.toString('hex', 4, 10)}`;
}
