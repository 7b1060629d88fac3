import {
  defineErrors,
  defineEvent,
  type Page,
  type RowWrite,
  serviceRef,
  type TenantEntityManager,
  Type,
} from 'agent-gateway';
import type { CallSpan } from './call-spans.ts';
import type { ChatMessage, ToolDefinition, Usage } from './chat.ts';
import type { Principal } from './principal.ts';

/** What one model call consumed. */
export interface ModelUse {
  /** The alias that was asked. */
  readonly model: string;
  /** The kind of connection: `openai`, `anthropic`, `demo`. */
  readonly provider: string;
  /** The provider's own name of the model that answered, fallbacks included. */
  readonly providerModel: string;
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The part of `inputTokens` that was read from, and written to, the provider's cache. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** True where the provider did not count, and the gateway did. */
  readonly isEstimated: boolean;
  /** When, and for which request; absent if it was not measured. */
  readonly span?: CallSpan | undefined;
}

/** Which part of the gateway asked: a route, workflows, the v2 API, or a plugin by its name, 16 characters at most. */
export type UsageSource = 'chat' | 'agent' | 'workflow' | 'runtime' | (string & {});

/** The form of a source: that of plugins' names, as long as usage records have room for. */
export const USAGE_SOURCE = '^[a-z][a-z0-9-]{0,15}$';

/** True for a text that usage can be recorded under. Pure. */
export function isUsageSource(text: string): boolean {
  return new RegExp(USAGE_SOURCE).test(text);
}

/** Who consumed it. */
export interface UsageOwner {
  readonly principal: Principal;
  readonly sessionId?: string | undefined;
  readonly source: UsageSource;
}

/** A use with its price, ready to be written. */
export interface PricedUse extends ModelUse {
  /** US dollars, an exact decimal as text (`0.000412`); `0` where no rule holds. */
  readonly costUsd: string;
}

/** A model call that has ended. */
export interface MeasuredCall {
  /** The alias that was asked. */
  readonly alias: string;
  /** The model that answered: the kind of connection, and the name that the provider was asked for. */
  readonly answeredBy: { readonly provider: string; readonly model: string };
  /** As the provider counted; absent where it did not. */
  readonly usage?: Usage | undefined;
  /** What was asked, tools included. */
  readonly request: { readonly messages: readonly ChatMessage[]; readonly tools?: readonly ToolDefinition[] };
  readonly answer: ChatMessage;
  readonly span?: CallSpan | undefined;
}

/** Counts and prices model calls. Reports on them are asked of `UsageReports`. */
export interface Metering {
  /**
   * What one model call consumed: as the provider counted, or estimated from the texts where it did not. `usage` is
   * what a client sees; estimates carry `estimated: true`. Pure.
   */
  measure(call: MeasuredCall): { readonly use: ModelUse; readonly usage: Usage };
  /** Several uses as one usage, for the client of a turn with many calls. Pure. */
  total(uses: readonly ModelUse[]): Usage;
  /** Prices uses by the rules in force now. A promise only where the rules have to be read first. */
  price(uses: readonly ModelUse[]): readonly PricedUse[] | Promise<readonly PricedUse[]>;
  /**
   * The write of usage records, for `writeTogether` with what they belong to. Throws `TypeError` for a source that is
   * no name.
   */
  write(owner: UsageOwner, uses: readonly PricedUse[]): RowWrite;
  /**
   * Writes usage records in one statement, together with `also`, in the transaction of `entities` where one is open.
   */
  record(
    entities: TenantEntityManager,
    owner: UsageOwner,
    uses: readonly PricedUse[],
    also?: readonly RowWrite[],
  ): Promise<void>;
}

/** From the first moment to the last, both included. */
export interface UsagePeriod {
  readonly from: Date;
  readonly to: Date;
}

/** What one line of a report stands for: a day or a month, by UTC. */
export type UsageGranularity = 'day' | 'month';

/** Usage added up. */
export interface UsageTotals {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The parts of `inputTokens` that were read from, and written to, providers' caches. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** US dollars, the exact sum as decimal text. */
  readonly costUsd: string;
  /** Model calls. */
  readonly requests: number;
  /** The calls whose tokens the gateway counted, because the provider did not. */
  readonly estimatedRequests: number;
}

/** The usage of a day (`2026-03-31`) or of a month (`2026-03`). */
export interface UsageRow extends UsageTotals {
  readonly date: string;
}

/** The usage of one tenant. */
export interface TenantUsage extends UsageTotals {
  readonly tenantId: string;
  /** Sessions with a model call in the period. */
  readonly sessions: number;
}

/** A member of the span is null where it was not measured, as in records of earlier versions. */
type RecordedSpan = { readonly [Name in keyof CallSpan]: CallSpan[Name] | null };

/** One model call as it was recorded. */
export interface UsageRecord extends Omit<PricedUse, 'span'>, RecordedSpan {
  readonly id: string;
  /** Null where the call belonged to no session. */
  readonly sessionId: string | null;
  readonly userId: string;
  readonly identityId: string;
  readonly source: UsageSource;
  readonly createdAt: Date;
}

/** Whose records are requested; an absent member does not filter. */
export interface UsageReader {
  readonly identityId?: string | undefined;
  readonly userId?: string | undefined;
}

/** Reports on recorded usage (specification 1, Identity and usage). The database adds up; sums are exact. */
export interface UsageReports {
  /** The tenant's usage by date, oldest first; dates without usage are left out. */
  ofTenant(
    entities: TenantEntityManager,
    period: UsagePeriod,
    granularity: UsageGranularity,
  ): Promise<readonly UsageRow[]>;
  /** The same of all tenants together; for callers whose governance scope has been checked. */
  ofAll(period: UsagePeriod, granularity: UsageGranularity): Promise<readonly UsageRow[]>;
  /** The usage of each named tenant, in their order; for callers whose governance scope has been checked. */
  byTenant(tenantIds: readonly string[], period: UsagePeriod): Promise<readonly TenantUsage[]>;
  /**
   * The model calls of a session, of a request, or of a request in a session, newest first. An unknown session or
   * request has none.
   */
  calls(
    entities: TenantEntityManager,
    of: { readonly sessionId?: string | undefined; readonly requestId?: string | undefined },
    reader: UsageReader,
    page: Page,
  ): Promise<{ readonly records: readonly UsageRecord[]; readonly total: number }>;
}

/** US dollars for a thousand tokens: from 0 to 1,000,000, of nine decimals at most. */
export interface Prices {
  readonly inputPer1k: number;
  readonly outputPer1k: number;
  /** Null: cached tokens cost what other input tokens cost. */
  readonly cacheReadPer1k: number | null;
  readonly cacheWritePer1k: number | null;
}

/** The prices of one model: the provider's model id, or an alias. The same for all tenants. */
export interface PricingRule extends Prices {
  readonly model: string;
  readonly updatedAt: Date;
}

/** The pricing rules of the deployment. Who may change them is decided before. */
export interface PricingRules {
  /** The latest changed first. */
  list(page: Page): Promise<{ readonly rules: readonly PricingRule[]; readonly total: number }>;
  /**
   * Sets all prices of a model, for calls from now on; what was recorded keeps its cost. Prices are rounded to nine
   * decimals. Throws `pricing.limit`. Not inside a transaction: other replicas are notified at once.
   */
  replace(model: string, prices: Prices): Promise<PricingRule>;
  /** Calls of the model cost nothing from now on. Throws `pricing.not-found`. */
  remove(model: string): Promise<void>;
}

/** What can go wrong with pricing rules. */
export const PricingErrors = defineErrors({
  notFound: {
    code: 'pricing.not-found',
    kind: 'not-found',
    title: 'There is no pricing rule for this model',
  },
  limit: { code: 'pricing.limit', kind: 'conflict', title: 'There are as many pricing rules as may be kept' },
});

/** A pricing rule was changed or removed. */
export const PricingChanged = defineEvent('agent-engine.pricing-changed', Type.Object({}));

/** Metering, for plugins that commit model calls together with something of their own. */
export const MeteringRef = serviceRef<Metering>('records.metering');
/** Reports on usage. */
export const UsageReportsRef = serviceRef<UsageReports>('records.usage-reports');
/** The pricing rules. */
export const PricingRulesRef = serviceRef<PricingRules>('records.pricing-rules');
