import {
  type DurableEventHandler,
  defineJob,
  isJsonObject,
  type JobHandler,
  type Jobs,
  type Logger,
  Type,
} from 'agent-gateway';
import type { GeneExchange, GeneMove, SharingPolicies } from '../../evolution/contract.ts';
import type { HubEvent } from '../contract.ts';
import { ANONYMOUS, contentOf, type HubGene } from '../rules/hub-gene.ts';
import type { GeneStore } from '../store/genes.ts';
import type { HubCalls, JoinedHub } from './hub-calls.ts';
import type { Membership } from './membership.ts';

/** One event of one gene for one hub. It is tried for about a day. */
export const AnnounceGene = defineJob(
  'hub.announcement',
  Type.Object({
    hub: Type.String(),
    event_id: Type.String(),
    type: Type.Union([Type.Literal('gene_promoted'), Type.Literal('gene_revoked')]),
    gene: Type.Unsafe<HubGene>(Type.Object({ geneId: Type.String() })),
  }),
  { attempts: 30, backoff: { first: 500, most: 3_600_000 }, timeout: 15_000 },
);

/** Answers by which a hub refuses an event for good. */
const FINAL: ReadonlySet<number> = new Set([400, 403, 413, 415]);

/** Reports promoted and revoked genes of this gateway to the hubs in which it is a node. */
export function createAnnouncements(parts: {
  readonly hubs: readonly JoinedHub[];
  readonly calls: Pick<HubCalls, 'signed'>;
  readonly membership: Pick<Membership, 'forget' | 'keep'> | undefined;
  readonly node: () => Promise<{ readonly id: string }>;
  readonly exchange: Pick<GeneExchange, 'find'>;
  readonly policies: Pick<SharingPolicies, 'of'>;
  readonly genes: Pick<GeneStore, 'note' | 'find'>;
  readonly jobs: Pick<Jobs, 'publish'>;
  readonly log: Pick<Logger, 'warn'>;
}) {
  const { hubs, calls, membership, node, exchange, policies, genes, jobs, log } = parts;

  /** The gene as it is reported to hubs; undefined where nothing is reported. */
  async function reported(tenantId: string, { change, from, gene }: GeneMove): Promise<HubGene | undefined> {
    const { id: nodeId } = await node();
    const named = (contributorId: string) => (contributorId === ANONYMOUS ? ANONYMOUS : nodeId);
    const noted = {
      nodeId,
      geneId: gene.geneId,
      content: contentOf(gene),
      updatedAt: new Date(gene.updatedAt),
    };
    if (change === 'promoted') {
      // The current gene: meanwhile it may no longer be promoted, or its tenant may have stopped sharing.
      const current = await exchange.find(tenantId, gene.geneId);
      if (current === undefined) return undefined;
      const shared = { ...current, contributorId: named(current.contributorId) };
      const isNoted = await genes.note({ ...noted, gene: shared, state: 'promoted' });
      return isNoted ? shared : undefined;
    }
    const known = await genes.find(nodeId, gene.geneId);
    const { effectiveContributionMode: mode } = await policies.of(tenantId);
    // A gene that was never shared is not reported, not even its revocation.
    const wasShared = known !== undefined || (mode !== 'disabled' && from !== 'candidate');
    if (!wasShared) return undefined;
    const contributorId = known?.gene.contributorId ?? (mode === 'trusted' ? nodeId : ANONYMOUS);
    const revoked = { ...gene, contributorId };
    await genes.note({ ...noted, gene: revoked, state: 'revoked' });
    return revoked;
  }

  const heard: DurableEventHandler<GeneMove> = async (move, { id, tenantId, entities }) => {
    // A quarantine says nothing about the copies of other nodes, and is not reported.
    if (move.change === 'quarantined') return;
    const gene = await reported(tenantId, move);
    if (gene === undefined) return;
    const type = move.change === 'promoted' ? 'gene_promoted' : 'gene_revoked';
    for (const { url } of hubs) {
      const announcement = { hub: url, event_id: id, type, gene } as const;
      await jobs.publish(entities(), AnnounceGene, announcement);
    }
  };

  const announce: JobHandler<{ hub: string; event_id: string; type: HubEvent; gene: HubGene }> = async (
    { hub: url, event_id, type, gene },
    { signal },
  ) => {
    const hub = hubs.find((one) => one.url === url);
    // The hub was removed from the settings of this gateway.
    if (hub === undefined) return;
    const { status, body } = await calls.signed(
      hub,
      'POST',
      '/api/v1/events',
      { event_id, type, gene },
      signal,
    );
    // What stands before a hub that restarts answers in its place, with pages of any status.
    if (!isJsonObject(body)) throw new Error(`the hub answered ${status}, but not with a JSON object`);
    if (status >= 200 && status < 300) return;
    const code = String(body.code ?? '').slice(0, 64);
    if (FINAL.has(status) || code === 'hub.gene-revoked') {
      log.warn(
        { hub: url, gene: gene.geneId, type, status, code },
        'a hub does not take what this gateway reports',
      );
      return;
    }
    // The hub may not know this node (any more): registers it, so that the next attempt can succeed.
    if (status === 401 || status === 404) {
      membership?.forget(url);
      await membership?.keep(signal);
    }
    throw new Error(`the hub answered ${status} ${code}`);
  };

  return { heard, announce };
}
