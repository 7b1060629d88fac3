import { MAX_DISCARDED_BYTES } from './limits.ts';

/** Keeps the first bytes of a stream, and counts the others. */
export interface OutputCapture {
  write(bytes: Uint8Array): void;
  readonly isTruncated: boolean;
  /** What was kept, as text: bytes that are no UTF-8 are U+FFFD, and a character that the cap cut is left out. */
  text(): string;
}

/**
 * @param maxBytes what is kept
 * @param onFlood called once, when so much has come beyond it that reading on would be a burden
 */
export function createOutputCapture(maxBytes: number, onFlood: () => void): OutputCapture {
  const kept: Buffer[] = [];
  let room = maxBytes;
  let discarded = 0;
  return {
    write(bytes) {
      if (room > 0) {
        // A copy: what was read is a part of a pooled buffer that would stay in memory as a whole.
        kept.push(Buffer.from(bytes.subarray(0, room)));
      }
      const excess = Math.max(0, bytes.length - room);
      room = Math.max(0, room - bytes.length);
      const before = discarded;
      discarded += excess;
      if (before <= MAX_DISCARDED_BYTES && discarded > MAX_DISCARDED_BYTES) onFlood();
    },
    get isTruncated() {
      return discarded > 0;
    },
    // `ignoreBOM: true` keeps a leading U+FEFF, which belongs to the output.
    text: () =>
      new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(kept), { stream: discarded > 0 }),
  };
}
