import { defineDurableEvent, defineEvent, serviceRef, Type } from 'agent-gateway';
import type { SharingMode } from './services/sharing/effective-mode.ts';

export { effectiveMode, SHARING_MODES, type SharingMode } from './services/sharing/effective-mode.ts';

/** What holds for all tenants: no tenant shares more than this (decisions 1.11). */
export interface GlobalSharing {
  readonly mode: SharingMode;
  /** 0 where nobody has written a policy. */
  readonly version: number;
}

/** What is in force for a tenant. */
export interface TenantSharing {
  readonly tenantId: string;
  readonly globalMode: SharingMode;
  /** What the tenant wants; see `mayConsume`. */
  readonly consumeShared: boolean;
  /** Whether its agents take what others share: it wants to, and sharing is not disabled for all. */
  readonly mayConsume: boolean;
  /** What the tenant wants. */
  readonly contributionMode: SharingMode;
  /** What counts when something is about to leave the tenant. */
  readonly effectiveContributionMode: SharingMode;
  readonly labels: readonly string[];
  /** 0 where nobody has written a policy for the tenant. */
  readonly version: number;
}

/** The sharing policies in force, at most a second old; a change counts on the replica that made it at once. */
export interface SharingPolicies {
  global(): Promise<GlobalSharing>;
  /** Of a tenant without a policy, or that is unknown: nothing is shared. */
  of(tenantId: string): Promise<TenantSharing>;
}

/** The sharing policies. */
export const SharingPoliciesRef = serviceRef<SharingPolicies>('evolution.sharing-policies');

/** Which shared knowledge is meant; what is absent does not narrow. */
export interface SharedKnowledgeFilter {
  /** The one tenant whose genes are looked at. Default: all. */
  readonly tenantId?: string | undefined;
  readonly taskClass?: string | undefined;
  /** The tenant that contributed it. */
  readonly sourceTenant?: string | undefined;
  readonly source?: 'local' | 'hub' | undefined;
  /** When it came to be here, both ends included. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** What tenants have learned from each other: genes of source `hub`, and those that name a contributor. */
export interface SharedKnowledge {
  /** Revokes what matches, for good: its content does not come back by import. Gives the number of genes. */
  revoke(filter: SharedKnowledgeFilter, reason: string): Promise<number>;
}

/** A policy was written: of this tenant, or without one the global policy. */
export const SharingChanged = defineEvent(
  'evolution.sharing-changed',
  Type.Object({ tenantId: Type.Optional(Type.String()) }),
);

/** Somebody decided about a gene, or genes came from elsewhere; with `id` about that one alone. */
export const GeneDecided = defineEvent(
  'evolution.gene-decided',
  Type.Object({ tenantId: Type.String(), id: Type.Optional(Type.String()) }),
);

/** The last runs of an agent are in its genes: what it is advised by is read anew. */
export const GenesLearned = defineEvent(
  'evolution.genes-learned',
  Type.Object({ tenantId: Type.String(), agent: Type.String() }),
);

/** A gene, as deployments tell each other of it (specification 3, hub gene). Structure alone: no text of anybody. */
export interface SharedGene {
  readonly geneId: string;
  /** For people. */
  readonly name: string;
  readonly taskClass: string;
  /** 0 to 1, as the contributor says. */
  readonly confidence: number;
  readonly strategy: { readonly component: string; readonly type: string };
  /** Signals by type. */
  readonly signals: Readonly<Record<string, number>>;
  readonly validation: Readonly<Record<string, unknown>>;
  /** 0 to 1: the share of uses that succeeded. */
  readonly qualityScore: number;
  readonly useCount: number;
  readonly successCount: number;
  /** The tenant that learned it, or `anonymous`. */
  readonly contributorId: string;
  readonly source: 'local' | 'hub';
  readonly syncedAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What came of genes that were offered. */
export interface Imported {
  readonly imported: number;
  /** Those that were not taken: of an unknown form, revoked here, or known already. */
  readonly refused: number;
}

/** Genes between tenants and deployments. The sharing policies are asked each time. */
export interface GeneExchange {
  /** Promoted genes of tenants that contribute, most trusted first, 100 at most; anonymous ones name nobody. */
  published(filter: {
    readonly text?: string | undefined;
    readonly taskClass?: string | undefined;
    readonly minConfidence?: number | undefined;
  }): Promise<readonly SharedGene[]>;
  /**
   * Takes genes from elsewhere as candidates, at half of the confidence that they claim, 100 at most. Nothing for a tenant that does not consume. Nothing of them is
   * believed: what has not the form of a gene is refused, and no text of theirs is kept.
   */
  offer(tenantId: string, genes: readonly unknown[]): Promise<Imported>;
  /** A gene of this deployment as `published` would give it; undefined where it is not promoted, or its tenant contributes nothing. */
  find(tenantId: string, geneId: string): Promise<SharedGene | undefined>;
  /** The same as `offer` for every tenant that consumes, 1,000 at most. Gives the number of copies that were made. */
  offerToAll(genes: readonly unknown[]): Promise<number>;
  /**
   * Revokes what tenants have taken from elsewhere and that says the same as these genes, 100 at most, for good. What they have learned themselves stays. Gives the
   * number of copies. Whether who says so may is the caller's matter.
   */
  withdraw(genes: readonly unknown[]): Promise<number>;
}

/** The exchange of genes. */
export const GeneExchangeRef = serviceRef<GeneExchange>('evolution.gene-exchange');

/** How a gene of a tenant's own changed its place among those that may be shared. */
export interface GeneMove {
  readonly change: 'promoted' | 'quarantined' | 'revoked';
  /** The state before. */
  readonly from: string;
  /** As it is after the change, and without the name of its contributor: whether and how it is shared is asked when it is. */
  readonly gene: SharedGene;
}

/**
 * A gene of a tenant's own was promoted, quarantined or revoked, by the rule or by an operator. Published in the transaction that changes it. Only of what means the
 * same elsewhere: genes about a tenant's own servers and agents stay at home.
 */
export const GeneMoved = defineDurableEvent(
  'evolution.gene-moved',
  Type.Object({
    change: Type.Union([Type.Literal('promoted'), Type.Literal('quarantined'), Type.Literal('revoked')]),
    from: Type.String(),
    gene: Type.Unsafe<SharedGene>(Type.Object({ geneId: Type.String() })),
  }),
);

/** The experience hubs that the operator has named, for who makes this deployment a node of them. */
export interface HubAddresses {
  /** `EVOLUTION_SENDER_ID`; undefined where nobody has set it, so that the default names no two deployments alike. */
  readonly senderId: string | undefined;
  readonly hubs: readonly { readonly url: string; readonly apiKey: string | undefined }[];
}

/** The experience hubs. */
export const HubAddressesRef = serviceRef<HubAddresses>('evolution.hub-addresses');
