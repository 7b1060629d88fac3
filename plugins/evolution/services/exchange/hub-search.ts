import { assertOutsideTransaction, defineErrors, readAnswer } from 'agent-gateway';
import type { HubAddresses } from '../../contract.ts';

/** The errors of the exchange between deployments. */
const ExchangeErrors = defineErrors({
  hubFailed: {
    code: 'evolution.hub-failed',
    kind: 'upstream',
    title: 'The experience hub did not answer as it should',
  },
});

/** Milliseconds for a search in the hub: it gives its own nodes 2 s. */
const TIMEOUT_MS = 5_000;
/** Bytes of its answer at most. */
const MAX_ANSWER = 1024 * 1024;

/**
 * Matching genes of all hubs, without a text any, as the hubs report them: not trustworthy. Those that claim most come
 * first, and each comes once. Throws `evolution.hub-failed` where no hub answers, and the reason of `signal`.
 */
export type SearchHubs = (text: string | undefined, signal: AbortSignal) => Promise<readonly unknown[]>;

/** Searches the experience hubs that the operator has configured. */
export function createHubSearch(hubs: HubAddresses['hubs']): SearchHubs {
  async function ask(
    { url, apiKey }: HubAddresses['hubs'][number],
    text: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const query = text === undefined ? '' : `?${new URLSearchParams({ q: text })}`;
    const response = await fetch(`${url}/api/v1/federation/genes${query}`, {
      headers: {
        accept: 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      redirect: 'error',
      signal,
    });
    const body = (await readAnswer(response.body, MAX_ANSWER, 'the answer')).toString();
    if (!response.ok) throw new Error(`the hub answered ${response.status}`);
    const results = (JSON.parse(body) as { results?: unknown } | null)?.results;
    if (!Array.isArray(results)) throw new Error('the answer of the hub has no results');
    return results;
  }

  return async (text, caller) => {
    assertOutsideTransaction('a search in the experience hub');
    const signal = AbortSignal.any([caller, AbortSignal.timeout(TIMEOUT_MS)]);
    const answers = await Promise.allSettled(hubs.map((hub) => ask(hub, text, signal)));
    caller.throwIfAborted();
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (found.length > 0) return merged(found);
    throw ExchangeErrors.hubFailed(undefined, { cause: (answers[0] as PromiseRejectedResult).reason });
  };
}

/**
 * The answers of several hubs as one. A caller takes only the first genes, so that one hub could leave no room for the
 * others. Pure.
 */
function merged(answers: readonly (readonly unknown[])[]): readonly unknown[] {
  const byClaim = answers.flat().toSorted((one, other) => claimed(other) - claimed(one));
  const seen = new Set<unknown>();
  return byClaim.filter((gene) => {
    const { geneId } = (gene ?? {}) as { readonly geneId?: unknown };
    const isNew = geneId === undefined || !seen.has(geneId);
    seen.add(geneId);
    return isNew;
  });
}

/** What is no confidence claims nothing: otherwise a hub could take all of the room with it. */
function claimed(gene: unknown): number {
  const { confidence } = (gene ?? {}) as { readonly confidence?: unknown };
  return typeof confidence === 'number' && confidence <= 1 ? confidence : 0;
}
