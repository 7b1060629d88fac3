import { column, defineEntity, type Migration } from 'agent-gateway';
import type { Action } from './moderator.ts';

/** Something that was refused or redacted, until it is in a report. */
export const Finding = defineEntity({
  name: 'ModerationFinding',
  tableName: 'moderation_findings',
  indexes: [{ name: 'moderation_findings_tenant', properties: ['tenantId', 'id'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    action: column.string(16).$type<Action>(),
  },
});

export const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('moderation_findings')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('tenant_id', types.tenant, (is) => is.notNull())
      .addColumn('action', types.string(16), (is) => is.notNull()),
    schema.index('moderation_findings', 'tenant', ['tenant_id', 'id']),
  ],
};
