import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { column } from '../data/columns.ts';

/** Longest `action`: a method, a blank and a path. */
export const MAX_ACTION_LENGTH = 2100;
const ACTION_KEY_LENGTH = 190;

/** The indexed beginning of an action. An index over whole actions is longer than MySQL and PostgreSQL allow. */
export function actionKey(action: string): string {
  return action.slice(0, ACTION_KEY_LENGTH);
}

/**
 * The condition that finds an action. A short one is its own key, and then an index alone gives how often it occurs.
 */
export function ofAction(action: string): { readonly actionKey: string; readonly action?: string } {
  const key = actionKey(action);
  return action.length < ACTION_KEY_LENGTH ? { actionKey: key } : { actionKey: key, action };
}

/** One audit record (core API, "Audit log record"). Written once; only its retention and a user's erasure change it. */
export const AuditLog = defineEntity({
  name: 'AuditLog',
  tableName: 'audit_logs',
  indexes: [
    { name: 'audit_logs_tenant', properties: ['tenantId', 'createdAt', 'id'] },
    { name: 'audit_logs_action', properties: ['tenantId', 'actionKey', 'createdAt', 'id'] },
    // Lists and retention over all tenants.
    { name: 'audit_logs_action_of_all', properties: ['actionKey', 'createdAt', 'id'] },
    { name: 'audit_logs_created', properties: ['createdAt', 'id'] },
  ],
  properties: {
    id: column.id().primary(),
    /** Empty when a failed authentication names no tenant. */
    tenantId: column.tenant(),
    /** Identity of the credential. */
    userId: column.string(255),
    /** `METHOD /path`, or the name of an event like `egress.denied`. */
    action: column.string(MAX_ACTION_LENGTH),
    /** `actionKey(action)`. */
    actionKey: column.string(ACTION_KEY_LENGTH),
    /** Sanitized query and the names of body fields; never values of the body. */
    detail: column.json<Record<string, unknown>>(),
    requestId: column.string(255),
    statusCode: column.integer(),
    latencyMs: column.integer(),
    createdAt: column.time(),
    sessionId: column.string(128).strictNullable(),
    sourceIp: column.string(64).strictNullable(),
    userAgent: column.string(512).strictNullable(),
    errorCode: column.string(128).strictNullable(),
    authMethod: column.string(32).strictNullable(),
  },
});

/** A row of `audit_logs`. */
export type AuditLogRow = InferEntity<typeof AuditLog>;
