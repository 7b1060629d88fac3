import type { AuditLogs } from '../audit/audit-logs.ts';
import { type Database, eachRow } from '../data/database.ts';
import { ApiKey } from '../tables/api-key.ts';
import { AuditLog } from '../tables/audit-log.ts';
import type { PersonalData, PersonalRecord } from './personal-data.ts';

/** What the gateway itself keeps about people, with what it is kept. */
interface GatewayDataParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly audit: Pick<AuditLogs, 'all' | 'renameIdentities'>;
}

/**
 * What the gateway itself keeps about people: API keys, without anything of what they are made of, and audit records.
 * An erasure deletes neither (decisions 1.5): keys are revoked by their administration, and audit records hold no
 * content. Where they name the user, they keep the pseudonym.
 */
export function createGatewayData({ database, audit }: GatewayDataParts): PersonalData {
  async function* keyRecords(tenantId: string, userId: string | undefined): AsyncGenerator<PersonalRecord> {
    const entities = database.forTenant(tenantId);
    const theirs = userId === undefined ? [{}] : [{ id: userId }, { createdBy: userId }];
    for (const where of theirs) {
      // One key has the id, so it needs no order of several.
      const by = 'id' in where ? (['createdAt'] as const) : (['createdAt', 'id'] as const);
      for await (const key of eachRow(entities, ApiKey, where, { by, fields: KEY_FIELDS })) {
        const { id, name, roles, scopes, createdBy } = key;
        yield {
          id,
          name,
          roles,
          scopes,
          created_by: createdBy,
          created_at: key.createdAt,
          expires_at: key.expiresAt,
          revoked_at: key.revokedAt,
          last_used_at: key.lastUsedAt,
        };
      }
    }
  }

  async function* auditRecords(tenantId: string, userId: string | undefined): AsyncGenerator<PersonalRecord> {
    for await (const entry of audit.all(tenantId, userId)) {
      yield {
        id: entry.id,
        user_id: entry.userId,
        action: entry.action,
        detail: entry.detail,
        request_id: entry.requestId,
        status_code: entry.statusCode,
        latency_ms: entry.latencyMs,
        session_id: entry.sessionId,
        source_ip: entry.sourceIp,
        user_agent: entry.userAgent,
        error_code: entry.errorCode,
        auth_method: entry.authMethod,
        created_at: entry.createdAt,
      };
    }
  }

  return {
    name: 'gateway',
    sections: [
      {
        name: 'api_keys',
        entities: [ApiKey],
        read: ({ tenantId, userId }) => keyRecords(tenantId, userId),
      },
      {
        name: 'audit_logs',
        entities: [AuditLog],
        read: ({ tenantId, userId }) => auditRecords(tenantId, userId),
      },
    ],
    async erase(entities, erasure) {
      const { userId, pseudonym } = erasure;
      const makers = { createdBy: userId ?? { $ne: null } };
      await entities.update(ApiKey, makers, { createdBy: pseudonym });
      await audit.renameIdentities(entities, erasure);
      return {};
    },
  };
}

/** Neither the hash nor the beginning of the raw value. */
const KEY_FIELDS = [
  'id',
  'name',
  'roles',
  'scopes',
  'createdBy',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
] as const;
