import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { EgressErrors } from './errors.ts';

/** How a body is read. */
export interface BodyOptions {
  /** `Content-Encoding` of the answer; anything but one known coding is left as it is. */
  readonly encoding: string | undefined;
  /** Decoded bytes at most. */
  readonly maxBytes: number;
  /** Milliseconds of silence of the other side, while the reader wants to read; undefined sets no bound. */
  readonly silence: number | undefined;
  /** Turns whatever breaks the body into the error that the reader gets. */
  readonly errorOf: (error: Error) => Error;
  /** Called once, when the body is over, however it ended. */
  readonly onClose: () => void;
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** True for a coding that `readBody` takes off. */
export function isDecodable(encoding: string | undefined): boolean {
  return decoderOf(encoding) !== undefined;
}

/**
 * The body for the reader: decoded, counted, watched, and with backpressure down to the socket. Destroying it closes
 * the connection.
 */
export function readBody(source: Readable, options: BodyOptions): Readable {
  const meter = new Meter(options);
  const decoder = decoderOf(options.encoding)?.();
  // A failure reaches the reader through the meter; a failure without a reader must not end the process.
  meter.on('error', () => {});
  const stages = decoder === undefined ? [source, meter] : [source, decoder, meter];
  pipeline(stages, () => options.onClose());
  return meter;
}

function decoderOf(encoding: string | undefined): (() => Transform) | undefined {
  const name = encoding?.trim().toLowerCase() ?? '';
  return Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
}

/** Passes bytes on until they are too many, or too late. */
class Meter extends Transform {
  readonly #options: BodyOptions;
  #bytes = 0;
  #silence: NodeJS.Timeout | undefined;

  constructor(options: BodyOptions) {
    super();
    this.#options = options;
    const { silence } = options;
    if (silence !== undefined) this.#silence = setTimeout(() => this.#onSilence(silence), silence);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    this.#silence?.refresh();
    const { maxBytes } = this.#options;
    if (this.#bytes <= maxBytes) done(null, chunk);
    else done(tooLarge(maxBytes));
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#silence);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#silence);
    done(error === null ? null : this.#options.errorOf(error));
  }

  #onSilence(silence: number): void {
    // Bytes wait for the reader: the reader is slow, not the other side.
    if (this.readableLength > 0 || this.writableLength > 0) this.#silence?.refresh();
    else this.destroy(EgressErrors.timeout(`The other server sent nothing for ${silence / 1000} s.`));
  }
}

/** The error for a body above its bound. */
export function tooLarge(maxBytes: number): Error {
  return EgressErrors.tooLarge(`The answer is longer than ${maxBytes} bytes.`);
}
