import { addAbortSignal, Readable } from 'node:stream';
import { within } from '../base/deadline.ts';

/** How a body that comes from elsewhere is read. */
export interface BodyReading {
  /** Milliseconds that it may be silent while a reader waits. */
  readonly silenceMs: number;
  /** Names it in the error of silence. */
  readonly what: string;
  /** Breaks it off. */
  readonly signal: AbortSignal | undefined;
  /** A failure as readers see it. */
  readonly explain: (error: unknown) => unknown;
  /** Bytes that it must have; default: however many come. */
  readonly bytes?: number;
  /** Bytes that it may have; default: however many come. */
  readonly most?: number;
}

/** The body with those bounds. Destroying it destroys `raw`. */
export function readBody(raw: Readable, reading: BodyReading): Readable {
  const body = Readable.from(piecesOf(raw, reading), { objectMode: false, highWaterMark: 64 * 1024 });
  body.once('close', () => raw.destroy());
  // Without a listener a failure before the first read would end the process; readers still get the error.
  raw.on('error', () => {});
  body.on('error', () => {});
  if (reading.signal !== undefined) addAbortSignal(reading.signal, body);
  return body;
}

async function* piecesOf(
  raw: Readable,
  { silenceMs, what, explain, bytes, most = Number.POSITIVE_INFINITY }: BodyReading,
): AsyncGenerator<Buffer, void> {
  const pieces = raw.iterator();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await within(silenceMs, what, pieces.next());
      if (done === true) break;
      size += value.length;
      if (size > most) throw new Error(`${what} gave more than ${most} bytes`);
      yield value;
    }
    if (bytes !== undefined && size !== bytes)
      throw new Error(`${what} gave ${size} bytes in the place of ${bytes}`);
  } catch (error) {
    throw explain(error);
  }
}
