import { assertOutsideTransaction } from 'agent-gateway';
import { GeneErrors } from '../genes/errors.ts';

/** Milliseconds for a search in the hub: it gives its own nodes 2 s. */
const TIMEOUT_MS = 5_000;
/** Bytes of its answer at most. */
const MAX_ANSWER = 1024 * 1024;

/** The experience hub that the operator has named. */
export interface HubClient {
  /** Genes that fit, as the hub tells them: to be believed in nothing. Throws `evolution.hub-failed`, and the reason of `signal`. */
  search(text: string, signal: AbortSignal): Promise<readonly unknown[]>;
}

/** Makes it; nothing is connected before the first search. */
export function createHubClient(url: string, apiKey: string | undefined): HubClient {
  const base = url.replace(/\/+$/, '');

  async function ask(text: string, signal: AbortSignal): Promise<readonly unknown[]> {
    const response = await fetch(`${base}/api/v1/federation/genes?${new URLSearchParams({ q: text })}`, {
      headers: {
        accept: 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      redirect: 'error',
      signal,
    });
    const body = await readText(response);
    if (!response.ok) throw new Error(`the hub answered ${response.status}`);
    const results = (JSON.parse(body) as { results?: unknown } | null)?.results;
    if (!Array.isArray(results)) throw new Error('the answer of the hub has no results');
    return results;
  }

  return {
    async search(text, caller) {
      assertOutsideTransaction('a search in the experience hub');
      try {
        return await ask(text, AbortSignal.any([caller, AbortSignal.timeout(TIMEOUT_MS)]));
      } catch (cause) {
        caller.throwIfAborted();
        throw GeneErrors.hubFailed(undefined, { cause });
      }
    },
  };
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_ANSWER) throw new Error(`the answer is longer than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}
