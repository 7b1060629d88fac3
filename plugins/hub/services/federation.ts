import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Ids, type Logger, Semaphore } from 'agent-gateway';
import { afterFailure, type Circuit, CLOSED, mayCall, tried } from '../rules/breaker.ts';
import { chooseNodes } from '../rules/choice.ts';
import { type HubGene, readGene } from '../rules/hub-gene.ts';
import { type GeneQuery, mergeGenes, thatFit } from '../rules/merge.ts';
import type { NodeStore } from '../store/nodes.ts';
import type { NodeRow } from '../store/tables.ts';
import { HubErrors } from './errors.ts';
import type { Keys } from './keys.ts';
import type { SendSigned } from './requests.ts';
import type { Tombstones } from './tombstones.ts';

/** Milliseconds that a node has to answer (decisions 3.6), and limits of its answer. */
const DEADLINE_MS = 2_000;
const MAX_BYTES = 1024 * 1024;
const MAX_GENES = 1_000;
/** Nodes that one search asks. */
const MAX_NODES = 256;
/** Concurrent searches, and milliseconds that a further one waits for its turn. */
const SEARCHES = 8;
const PATIENCE_MS = 5_000;

/** The result of a search. */
export interface Found {
  readonly results: readonly HubGene[];
  /** Nodes that were asked. */
  readonly queried: number;
  /** Nodes that answered in time, in a usable form. */
  readonly healthy: number;
}

/**
 * Searches the genes of all healthy nodes in parallel; a node that is slow, dead, lying, huge or redirecting affects
 * only its own results. @throws hub.busy
 */
export type FederatedSearch = (query: GeneQuery, limit: number, signal: AbortSignal) => Promise<Found>;

export function createFederation(parts: {
  readonly nodes: Pick<NodeStore, 'healthy' | 'findAll'>;
  readonly keys: Pick<Keys, 'current'>;
  readonly send: SendSigned;
  readonly tombstones: Tombstones;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly ids: Pick<Ids, 'bytes'>;
  readonly log: Pick<Logger, 'debug'>;
  /** Counts the call of one node. */
  readonly counted: (result: 'answered' | 'failed') => void;
}): FederatedSearch {
  const { nodes, keys, send, tombstones, clock, ids, log, counted } = parts;
  const turns = new Semaphore(SEARCHES, { timeoutMs: PATIENCE_MS, expired: () => HubErrors.busy() });
  /** One answer is read at a time, in all searches together: a large one takes as long as many requests. */
  const reading = new Semaphore(1);
  const circuits = new Map<string, Circuit>();
  /** For each node the number of the latest search that asked it, of those that could not ask all. */
  const askedIn = new Map<string, number>();
  let searches = 0;

  async function ask(node: NodeRow, query: GeneQuery, signal: AbortSignal): Promise<readonly HubGene[]> {
    const response = await send({
      url: urlOf(node, query, ids.bytes(8).toString('hex')),
      method: 'GET',
      key: await keys.current(),
      account: `hub/node/${node.id}`,
      timeout: DEADLINE_MS,
      maxBytes: MAX_BYTES,
      signal,
    });
    if (response.status !== 200) {
      response.body.destroy();
      throw new Error(`the node answered ${response.status}`);
    }
    const answer = await text(response.body);
    return reading.run(async () => {
      await nextTurn(undefined, { signal });
      return genesIn(JSON.parse(answer), new Date(clock.now()).toISOString());
    });
  }

  /** The genes of a node; undefined where it did not answer as it should. */
  async function answerOf(node: NodeRow, query: GeneQuery, signal: AbortSignal) {
    const { id } = node;
    circuits.set(id, tried(circuits.get(id) ?? CLOSED, clock.monotonic()));
    try {
      const genes = await ask(node, query, signal);
      circuits.delete(id);
      counted('answered');
      return genes.filter(({ geneId }) => !tombstones.cover(id, geneId));
    } catch (err) {
      // The caller has disconnected, which says nothing about the node.
      if (signal.aborted) return undefined;
      circuits.set(id, afterFailure(circuits.get(id) ?? CLOSED, clock.monotonic()));
      counted('failed');
      log.debug({ err, node: id }, 'a node did not answer a search');
      return undefined;
    }
  }

  /** The nodes that the next search asks. */
  async function nextNodes(): Promise<readonly NodeRow[]> {
    const healthy = await nodes.healthy(new Date(clock.now()));
    const known = new Set(healthy.map(({ id }) => id));
    for (const id of circuits.keys()) if (!known.has(id)) circuits.delete(id);
    for (const id of askedIn.keys()) if (!known.has(id)) askedIn.delete(id);
    const mayBeAsked = healthy.filter(({ id }) => mayCall(circuits.get(id) ?? CLOSED, clock.monotonic()));
    const chosen = chooseNodes(mayBeAsked, MAX_NODES, (id) => askedIn.get(id) ?? 0);
    searches += 1;
    if (chosen.length < mayBeAsked.length) for (const id of chosen) askedIn.set(id, searches);
    return nodes.findAll(chosen);
  }

  return (query, limit, signal) =>
    turns.run(async () => {
      signal.throwIfAborted();
      await tombstones.refresh();
      const asked = await nextNodes();
      let [results, healthyCount]: [readonly HubGene[], number] = [[], 0];
      const merge = async (node: NodeRow) => {
        const genes = await answerOf(node, query, signal);
        if (genes === undefined) return;
        healthyCount += 1;
        results = mergeGenes(results, genes, query, limit);
      };
      await Promise.all(asked.map(merge));
      signal.throwIfAborted();
      return { results: thatFit(results), queried: asked.length, healthy: healthyCount };
    });
}

/** `{endpoint}/api/v1/genes`, with a parameter that makes each request, and so its signature, unique. */
function urlOf({ endpoint }: NodeRow, { q, taskClass, minConfidence }: GeneQuery, request: string): URL {
  const url = new URL(`${endpoint.replace(/\/+$/, '')}/api/v1/genes`);
  if (q !== undefined) url.searchParams.set('q', q);
  if (taskClass !== undefined) url.searchParams.set('task_class', taskClass);
  if (minConfidence !== undefined) url.searchParams.set('min_confidence', String(minConfidence));
  url.searchParams.set('request', request);
  return url;
}

/**
 * The genes of an answer, `{genes: […]}` or `{results: […]}`; entries that are no genes are left out. Throws for an
 * answer of another form.
 */
function genesIn(answer: unknown, syncedAt: string): readonly HubGene[] {
  const { genes, results } = (answer ?? {}) as { genes?: unknown; results?: unknown };
  const list = Array.isArray(answer) ? answer : (genes ?? results);
  if (!Array.isArray(list)) throw new Error('the answer has no genes');
  return list.slice(0, MAX_GENES).flatMap((gene) => readGene(gene, syncedAt) ?? []);
}
