import { defineDurableEvent, defineEvent, serviceRef, Type } from 'agent-gateway';
import type { SharingMode } from './services/sharing/effective-mode.ts';

export { effectiveMode, SHARING_MODES, type SharingMode } from './services/sharing/effective-mode.ts';

/** The policy in force for a tenant. */
export interface TenantSharing {
  readonly tenantId: string;
  /** Of the global policy: no tenant shares more than this (decisions 1.11). */
  readonly globalMode: SharingMode;
  /** What the tenant wants; see `mayConsume`. */
  readonly consumeShared: boolean;
  /** Whether its agents use genes of others: the tenant wants to, and sharing is not disabled globally. */
  readonly mayConsume: boolean;
  /** What the tenant wants. */
  readonly contributionMode: SharingMode;
  /** The mode that decides what may leave the tenant. */
  readonly effectiveContributionMode: SharingMode;
  readonly labels: readonly string[];
  /** 0 where no policy was written for the tenant. */
  readonly version: number;
}

/** The sharing policies in force, at most a second old; on the replica that made a change, it counts at once. */
export interface SharingPolicies {
  /** The policy of a tenant. A tenant that is unknown or deleted, or has no policy, shares nothing. */
  of(tenantId: string): Promise<TenantSharing>;
}

/** The sharing policies. */
export const SharingPoliciesRef = serviceRef<SharingPolicies>('evolution.sharing-policies');

/** A filter for shared knowledge; an absent member does not narrow. */
export interface SharedKnowledgeFilter {
  /** The one tenant whose genes are searched. Default: all. */
  readonly tenantId?: string | undefined;
  readonly taskClass?: string | undefined;
  /** The tenant that contributed it. */
  readonly sourceTenant?: string | undefined;
  readonly source?: 'local' | 'hub' | undefined;
  /** When it was stored here, both ends included. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** What tenants have learned from each other: genes of source `hub`, and those that name a contributor. */
export interface SharedKnowledge {
  /** Revokes matching genes for good: their content cannot be imported again. Returns the number of genes. */
  revoke(filter: SharedKnowledgeFilter, reason: string): Promise<number>;
}

/** A policy was written: that of the named tenant, or the global one where no tenant is named. */
export const SharingChanged = defineEvent(
  'evolution.sharing-changed',
  Type.Object({ tenantId: Type.Optional(Type.String()) }),
);

/** An operator decided about a gene, or genes of other deployments were imported; with `id`, about that gene alone. */
export const GeneDecided = defineEvent(
  'evolution.gene-decided',
  Type.Object({ tenantId: Type.String(), id: Type.Optional(Type.String()) }),
);

/** The last runs of an agent are in its genes: its playbook is read again. */
export const GenesLearned = defineEvent(
  'evolution.genes-learned',
  Type.Object({ tenantId: Type.String(), agent: Type.String() }),
);

/** A gene, as deployments exchange it (specification 3, hub gene). Structure alone: no text that a person wrote. */
export interface SharedGene {
  readonly geneId: string;
  /** For people. */
  readonly name: string;
  readonly taskClass: string;
  /** 0 to 1, as the contributor claims. */
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

/** The outcome for genes that were offered. */
export interface Imported {
  readonly imported: number;
  /** Genes that were not imported: of an unknown form, revoked here, or known already. */
  readonly refused: number;
}

/** Exchanges genes between tenants and deployments. Each call checks the sharing policies. */
export interface GeneExchange {
  /**
   * Promoted genes of tenants that contribute, highest confidence first, 100 at most; anonymous ones name no tenant.
   */
  published(filter: {
    readonly text?: string | undefined;
    readonly taskClass?: string | undefined;
    readonly minConfidence?: number | undefined;
  }): Promise<readonly SharedGene[]>;
  /**
   * Imports genes of other deployments as candidates, at half of the confidence that they claim, 100 at most; none for
   * a tenant that does not consume. The genes are not trusted: a value that has not the form of a gene is refused, and
   * none of their texts is stored.
   */
  offer(tenantId: string, genes: readonly unknown[]): Promise<Imported>;
  /**
   * A gene of this deployment as `published` would return it; undefined where it is not promoted, or its tenant
   * contributes nothing.
   */
  find(tenantId: string, geneId: string): Promise<SharedGene | undefined>;
  /** The same as `offer` for every tenant that consumes, 1,000 at most. Returns the number of copies that were made. */
  offerToAll(genes: readonly unknown[]): Promise<number>;
  /**
   * Revokes for good the imported copies, in all tenants, that have the same content as these genes, 100 at most. Genes
   * that tenants have learned themselves stay. Returns the number of copies. The caller has to check that the sender
   * may revoke these genes.
   */
  withdraw(genes: readonly unknown[]): Promise<number>;
}

/** The exchange of genes. */
export const GeneExchangeRef = serviceRef<GeneExchange>('evolution.gene-exchange');

/** A change of state of a tenant's own gene that matters to those with whom it may be shared. */
export interface GeneMove {
  readonly change: 'promoted' | 'quarantined' | 'revoked';
  /** The state before. */
  readonly from: string;
  /**
   * The gene after the change, without the name of its contributor: the sharing policy is checked when the gene is
   * shared.
   */
  readonly gene: SharedGene;
}

/**
 * A gene of a tenant's own was promoted, quarantined or revoked, by the rule or by an operator. Published in the
 * transaction that changes it. Only for genes that mean the same on other deployments: genes about a tenant's own
 * servers and agents are never published.
 */
export const GeneMoved = defineDurableEvent(
  'evolution.gene-moved',
  Type.Object({
    change: Type.Union([Type.Literal('promoted'), Type.Literal('quarantined'), Type.Literal('revoked')]),
    from: Type.String(),
    gene: Type.Unsafe<SharedGene>(Type.Object({ geneId: Type.String() })),
  }),
);

/** Ids of nodes that hubs accept: texts that are allowed in a path and in a header. */
export const NODE_ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/;

/** The experience hubs that the operator has configured, for the plugin that makes this deployment a node of them. */
export interface HubAddresses {
  /**
   * `EVOLUTION_SENDER_ID`; undefined where it is not set, since two deployments must not share the default as their id.
   */
  readonly senderId: string | undefined;
  readonly hubs: readonly { readonly url: string; readonly apiKey: string | undefined }[];
}

/** The experience hubs. */
export const HubAddressesRef = serviceRef<HubAddresses>('evolution.hub-addresses');
