import { Agent, request } from 'undici';

/** A request that is repeated. */
export interface Shot {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The result of a run. Times in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** From the call to the first byte of the body, sorted. */
  readonly firstByte: readonly number[];
  /** From the call to the last byte, sorted. */
  readonly total: readonly number[];
}

/**
 * Sends `count` requests, `concurrency` at a time, and reads every answer to its end.
 *
 * @throws Error for an answer that is not a 200, or a stream that does not end with [DONE]: a failing run measures
 * nothing.
 */
export async function load(url: string, shot: Shot, count: number, concurrency: number): Promise<LoadResult> {
  const agent = new Agent({ connections: concurrency });
  const firstByte: number[] = [];
  const total: number[] = [];
  let left = count;
  const began = performance.now();
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const sent = performance.now();
      const answer = await request(`${url}${shot.path}`, {
        method: shot.method,
        headers: shot.headers,
        body: shot.body ?? null,
        dispatcher: agent,
      });
      let first: number | undefined;
      let tail = '';
      for await (const part of answer.body) {
        first ??= performance.now() - sent;
        tail = (tail + part).slice(-64);
      }
      if (answer.statusCode !== 200) throw new Error(`${shot.path} answered ${answer.statusCode}: ${tail}`);
      if (shot.body?.includes('"stream":true') && !tail.includes('[DONE]'))
        throw new Error('a stream was cut short');
      firstByte.push(first ?? performance.now() - sent);
      total.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - began) / 1000;
  await agent.close();
  return { requests: count, seconds, firstByte: firstByte.sort(ascending), total: total.sort(ascending) };
}

const ascending = (a: number, b: number) => a - b;

/** The value below which `share` of the sorted values lie. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values.toSorted(ascending), 0.5);
}
