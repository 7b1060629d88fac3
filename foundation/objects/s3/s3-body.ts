import { addAbortSignal, Readable } from 'node:stream';
import { within } from '../../base/deadline.ts';
import { s3Failure } from './s3-failure.ts';

/** How long the store may be silent while somebody waits for the next bytes. A reader may take its time. */
const SILENCE_MS = 60_000;

/**
 * The body of an answer for callers: fails with `objects.unavailable` when it breaks off or stops, never ends early in
 * silence. Destroying it ends the connection.
 */
export function s3Body(raw: Readable, signal: AbortSignal | undefined, silenceMs = SILENCE_MS): Readable {
  const body = Readable.from(piecesOf(raw, silenceMs), { objectMode: false, highWaterMark: 64 * 1024 });
  body.once('close', () => raw.destroy());
  // Failures before anybody reads would end the process otherwise; readers are still told.
  raw.on('error', () => {});
  body.on('error', () => {});
  if (signal !== undefined) addAbortSignal(signal, body);
  return body;
}

async function* piecesOf(raw: Readable, silenceMs: number): AsyncGenerator<Buffer, void> {
  const pieces = raw.iterator();
  try {
    for (;;) {
      const { done, value } = await within(silenceMs, 'reading an object from S3', pieces.next());
      if (done === true) return;
      yield value;
    }
  } catch (error) {
    throw s3Failure(error);
  }
}
