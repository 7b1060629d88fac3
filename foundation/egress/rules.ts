import { LockMode } from '@mikro-orm/core';
import { createSharedCache } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import type { FieldError } from '../base/gateway-error.ts';
import type { Ids } from '../base/ids.ts';
import type { Page } from '../base/page.ts';
import type { Database } from '../data/database.ts';
import { RETRY_RACES } from '../data/retry.ts';
import { Tenant, TenantErrors } from '../tables/tenant.ts';
import { EgressErrors } from './errors.ts';
import {
  compileRules,
  type EgressRule,
  EgressRuleTable,
  formatHostPattern,
  MAX_PATH_PREFIX,
  parseHostPattern,
  type RuleSet,
} from './rule.ts';

/** A page of rules. */
export interface EgressRulePage {
  readonly records: readonly EgressRule[];
  /** How many there are on all pages. */
  readonly total: number;
}

/**
 * The egress rules of the deployment. `tenantId` confines a call to one tenant: a foreign rule is then not there.
 * Without it the call reaches all tenants, which is for operators.
 */
export interface EgressRules {
  /** Rules, newest first. */
  list(options: Page & { readonly tenantId?: string | undefined }): Promise<EgressRulePage>;
  /**
   * Makes a rule. It counts here from now on, and within a second on every replica. Throws `egress.invalid-rule` with
   * all that is wrong, `tenant.not-found`, `tenant.deleted`, and `egress.too-many-rules` above `MAX_RULES`.
   */
  create(settings: EgressRuleSettings): Promise<EgressRule>;
  /** Deletes a rule; false when there is none. Like `create` it counts at once here, within a second elsewhere. */
  delete(id: string, tenantId?: string): Promise<boolean>;
}

/** The rules as requests are judged by them. */
export interface JudgedRules extends EgressRules {
  /**
   * The rules of a tenant, a second old at most. Fails with `lookup.unavailable` while the database does not answer.
   */
  of(tenantId: string): Promise<RuleSet>;
}

/** Rules of one tenant at most. */
export const MAX_RULES = 1000;

const MAX_AGE_MS = 1000;
/** Tenants whose rules are kept in memory. */
const MAX_TENANTS = 500;

/** Makes the rules over the table of `egressRegistration`. */
export function createEgressRules(
  database: Pick<Database, 'forTenant' | 'system' | 'transaction' | 'pageOfAll'>,
  clock: Clock,
  ids: Ids,
): JudgedRules {
  const cache = createSharedCache<RuleSet>({
    load: async (tenantId) =>
      compileRules(await database.forTenant(tenantId).find(EgressRuleTable, {}, { limit: MAX_RULES })),
    clock,
    maxAge: MAX_AGE_MS,
    maxEntries: MAX_TENANTS,
  });

  return {
    async of(tenantId) {
      return (await cache.get(tenantId)) ?? [];
    },
    async list({ tenantId, limit, offset }) {
      const where = tenantId === undefined ? {} : { tenantId };
      const query = { orderBy: { createdAt: 'desc', id: 'desc' }, limit, offset } as const;
      const [records, total] = await database.pageOfAll(EgressRuleTable, where, query);
      return { records, total };
    },
    async create(settings) {
      const errors = ruleProblems(settings);
      if (errors.length > 0) throw EgressErrors.invalidRule(undefined, { errors });
      const rule: EgressRule = {
        ...storedForm(settings),
        id: ids.uuid(),
        tenantId: settings.tenantId,
        createdAt: new Date(clock.now()),
      };
      try {
        await database.transaction(async (entities) => {
          const { tenantId } = rule;
          // Callers that make rules of one tenant wait here for their turn, or two could pass the bound together.
          const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
          const tenant = await entities.findOne(Tenant, { id: tenantId }, lock);
          if (tenant === null) throw TenantErrors.notFound();
          if (tenant.deletedAt !== null) throw TenantErrors.isDeleted();
          if ((await entities.count(EgressRuleTable, { tenantId })) >= MAX_RULES) {
            throw EgressErrors.tooManyRules(`A tenant can have ${MAX_RULES} egress rules.`);
          }
          await entities.insert(EgressRuleTable, rule);
        }, RETRY_RACES);
      } finally {
        // Also after a failure: a commit whose answer was lost has happened.
        cache.forget(rule.tenantId);
      }
      return rule;
    },
    async delete(id, tenantId) {
      const where = tenantId === undefined ? { id } : { id, tenantId };
      const entities = database.system();
      const row = await entities.findOne(EgressRuleTable, where);
      if (row === null) return false;
      try {
        return (await entities.nativeDelete(EgressRuleTable, where)) > 0;
      } finally {
        cache.forget(row.tenantId);
      }
    },
  };
}

/** What an administrator says about a rule. */
export interface EgressRuleSettings extends Pick<EgressRule, 'tenantId' | 'hostPattern' | 'action'> {
  /** Default `/`, which speaks of every path. */
  readonly pathPrefix?: string | undefined;
  /** -1,000,000 to 1,000,000; default 0. */
  readonly priority?: number | undefined;
}

const MAX_PRIORITY = 1_000_000;

/** What is wrong with a rule, by the names of its members on the wire; empty when it is good. */
function ruleProblems(settings: EgressRuleSettings): readonly FieldError[] {
  const { action, priority = 0 } = settings;
  const problems = [...egressPlaceProblems(settings)];
  if (action !== 'allow' && action !== 'deny') problems.push(problem('action', 'must be allow or deny'));
  if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY) {
    problems.push(problem('priority', `must be a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}`));
  }
  return problems;
}

/**
 * What `create` would refuse in the host and the path of a rule, by their names on the wire, to be reported together
 * with what else is wrong with a body. What is not said is not judged.
 */
export function egressPlaceProblems({
  hostPattern,
  pathPrefix = '/',
}: Partial<Pick<EgressRuleSettings, 'hostPattern' | 'pathPrefix'>>): readonly FieldError[] {
  const problems: FieldError[] = [];
  if (hostPattern !== undefined && parseHostPattern(hostPattern) === undefined) {
    const message = 'must be a host, *.example.com or *, with an optional port: api.example.com:8443';
    problems.push(problem('host_pattern', message));
  }
  if (!/^\/[^?#\p{Cc}]*$/u.test(pathPrefix) || normalPath(pathPrefix).length > MAX_PATH_PREFIX) {
    const message = `must be a path without query, ${MAX_PATH_PREFIX} characters at most: /v1`;
    problems.push(problem('path_prefix', message));
  }
  return problems;
}

function problem(member: string, message: string): FieldError {
  return { pointer: `/body/${member}`, message };
}

/** A good rule as it is stored: hosts and paths in the one spelling in which requests are compared with them. */
function storedForm(
  settings: EgressRuleSettings,
): Pick<EgressRule, 'hostPattern' | 'pathPrefix' | 'action' | 'priority'> {
  const { hostPattern, pathPrefix = '/', action, priority = 0 } = settings;
  const pattern = parseHostPattern(hostPattern);
  return {
    hostPattern: pattern === undefined ? hostPattern : formatHostPattern(pattern),
    pathPrefix: normalPath(pathPrefix),
    action,
    priority,
  };
}

/** What WHATWG's URL makes of a path, as it does of every requested one. */
function normalPath(path: string): string {
  const url = new URL('http://host/');
  url.pathname = path;
  return url.pathname;
}
