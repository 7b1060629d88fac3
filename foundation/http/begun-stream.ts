import type { Readable } from 'node:stream';

/**
 * Resolves when a stream has bytes to read, or has none: what fails before that can still be answered by a status. The
 * bytes stay in the stream.
 *
 * @throws what the stream fails with; the signal's reason when it aborts, after destroying the stream
 */
export async function begun(stream: Readable, signal: AbortSignal): Promise<void> {
  if (stream.errored) throw stream.errored;
  if (stream.readableLength > 0 || stream.readableEnded || stream.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const left = () => {
    stream.destroy();
    reject(signal.reason);
  };
  if (signal.aborted) left();
  stream.once('readable', resolve).once('close', resolve).once('error', reject);
  signal.addEventListener('abort', left);
  try {
    await promise;
  } finally {
    stream.off('readable', resolve).off('close', resolve).off('error', reject);
    signal.removeEventListener('abort', left);
  }
  if (stream.errored) throw stream.errored;
}
