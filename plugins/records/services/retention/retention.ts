import type { Clock, Database, RetainedRecords } from 'agent-gateway';
import { type Retention, RetentionErrors, type RetentionInForce } from '../../contract.ts';
import { findRules, RetentionRuleRow, type StoredRule } from '../../store/retention.ts';
import { ruleOf } from './rules.ts';

/** What the rules of retention are kept with. */
export interface RetentionParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly clock: Pick<Clock, 'now'>;
  /** All kinds that plugins contribute, by name. */
  readonly kinds: () => ReadonlyMap<string, RetainedRecords>;
  /** `SVC_RETENTION`, by kind. */
  readonly deployment: ReadonlyMap<string, number | null>;
  /** Milliseconds. */
  readonly grace: number;
}

/** Makes the service. */
export function createRetention(parts: RetentionParts): Retention {
  const { database, clock, kinds, deployment, grace } = parts;

  function kindOf(name: string): RetainedRecords {
    const kind = kinds().get(name);
    if (kind === undefined) throw RetentionErrors.unknownKind(`Known are ${[...kinds().keys()].join(', ')}`);
    return kind;
  }

  function inForce(kind: RetainedRecords, tenant: StoredRule | undefined): RetentionInForce {
    const rule = ruleOf({ tenant, deployment: deployment.get(kind.name), plugin: kind.keptFor });
    return { kind: kind.name, summary: kind.summary, ...rule };
  }

  return {
    async inForce(tenantId) {
      const own = tenantId === undefined ? undefined : await findRules(database.forTenant(tenantId));
      return [...kinds().values()].map((kind) => inForce(kind, own?.get(kind.name)));
    },

    async set(tenantId, name, keep) {
      const kind = kindOf(name);
      const entities = database.forTenant(tenantId);
      const before = (await findRules(entities)).get(name);
      // A repetition must not begin the grace anew: a rule that is written each day would never delete anything.
      if (before?.keepMs === keep) return inForce(kind, before);
      const rule = { kind: name, keepMs: keep, deletesFrom: new Date(clock.now() + grace) };
      await entities.upsert(RetentionRuleRow, rule, { conflict: ['kind'] });
      return inForce(kind, rule);
    },

    async reset(tenantId, name) {
      const { name: kind } = kindOf(name);
      const deleted = await database.forTenant(tenantId).delete(RetentionRuleRow, { kind });
      if (deleted === 0) throw RetentionErrors.notFound();
    },

    async preview(tenantId, name, keep) {
      const kind = kindOf(name);
      const records = await kind.count(tenantId);
      const isSome = records > 0 && keep !== null;
      const expired = isSome ? await kind.count(tenantId, new Date(clock.now() - keep)) : 0;
      return { tenantId, records, expired };
    },
  };
}
