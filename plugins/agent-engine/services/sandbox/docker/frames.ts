import type { WriteOutput } from '../engine.ts';

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Takes the stream of a container without a terminal apart: frames of `[stream, 0, 0, 0, length]` and so many bytes (Docker Engine
 * API, "Attach to a container"). Any split of the bytes gives the same output.
 */
export function createFrameReader(stdout: WriteOutput, stderr: WriteOutput): WriteOutput {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let left = 0;
  return (bytes) => {
    let at = 0;
    while (at < bytes.length) {
      if (left > 0) {
        const part = bytes.subarray(at, at + left);
        (header[0] === STDERR ? stderr : stdout)(part);
        left -= part.length;
        at += part.length;
        continue;
      }
      const part = bytes.subarray(at, at + HEADER_BYTES - headerBytes);
      header.set(part, headerBytes);
      headerBytes += part.length;
      at += part.length;
      if (headerBytes < HEADER_BYTES) continue;
      headerBytes = 0;
      left = header.readUInt32BE(4);
    }
  };
}
