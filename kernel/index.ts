/**
 * The only module of the kernel that plugins import, as `agent-gateway`. What is not exported here is not part of the
 * plugin contract and may change without notice.
 */

/** From the gateway's own copy: entities of another copy of MikroORM are not recognized. */
export { defineEntity } from '@mikro-orm/core';
export { type Grant, GrantErrors, grantProblems, requireGrant } from './access/grants.ts';
export type { Identity } from './access/identity.ts';
export { DEFAULT_TENANT_ID, isOperator } from './access/identity.ts';
export { isRole, ROLES, TENANT_ADMINISTRATION } from './access/roles.ts';
export { ADMIN_SCOPE, hasAnyScope } from './access/scopes.ts';
export type { Access } from './api/access.ts';
export { access } from './api/access.ts';
export type { Call, CallSource } from './api/call.ts';
export { defineEvent, type EventRef } from './api/events.ts';
export {
  type GrpcCall,
  type GrpcEffect,
  type GrpcMessage,
  type GrpcMethod,
  type GrpcMethodDefinition,
  type GrpcService,
  type GrpcServiceDefinition,
  grpcMethod,
  grpcService,
} from './api/grpc.ts';
export {
  type BuildContext,
  defineKind,
  type KindDeclaration,
  type KindDefinition,
  type LiveResource,
  type Resource,
  type ResourceLease,
  type ResourceMetadata,
  type ResourceProblem,
  type ResourceReference,
  type ResourceView,
} from './api/kind.ts';
export type { Plugin, PluginDefinition } from './api/plugin.ts';
export { definePlugin } from './api/plugin.ts';
export { defineQueue, type QueueRef } from './api/queue.ts';
export type { ExtensionPoint, ServiceRef } from './api/refs.ts';
export { extensionPoint, serviceRef } from './api/refs.ts';
export type { SseEvent, SseStream } from './api/reply.ts';
export { Reply, reply } from './api/reply.ts';
export type { ErrorDialect, Route, RouteCall, RouteDefinition, RouteSchema } from './api/route.ts';
export { route } from './api/route.ts';
export type { Scope } from './api/scope.ts';
export type { KernelServices } from './api/services.ts';
export type { AuditEntry } from './audit/audit-entry.ts';
export {
  AUDIT_DEFAULT_LIMIT,
  AUDIT_MAX_LIMIT,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  parseAuditTime,
} from './audit/audit-query.ts';
export type { ApiKeyRecord, NewApiKey } from './auth/api-key-record.ts';
export type { ApiKeyPage, ApiKeyStore } from './auth/api-key-store.ts';
export { ApiKeyErrors, AuthErrors } from './auth/errors.ts';
export { ConfigurationError, type ConfigurationProblem } from './config/configuration-error.ts';
export { parseDuration } from './config/duration.ts';
export { field } from './config/field.ts';
export { nearestName } from './config/nearest-name.ts';
export type {
  ColumnTypes,
  Database,
  EntityRegistration,
  Migration,
  MigrationSchema,
  MovedMigration,
  PlainCondition,
  PlainWhere,
  RowsQuery,
  RowWrite,
  TenantData,
  TenantEntityManager,
  TransactionOptions,
} from './database/database.ts';
export {
  assertOutsideTransaction,
  column,
  DatabaseErrors,
  isDatabaseUnavailable,
  isUniqueViolation,
  writes,
} from './database/database.ts';
export { KernelErrors } from './errors/catalogue.ts';
export type { ErrorExtras, ErrorFactory, FieldError } from './errors/gateway-error.ts';
export { defineErrors, GatewayError } from './errors/gateway-error.ts';
export type { OpenApiDocument } from './http/openapi.ts';
export { type Page, type PageQuery, pageOf, pageQuery } from './http/page.ts';
export type { Logger } from './observability/logger.ts';
export type { HistogramOptions, MetricOptions, PluginMetrics } from './observability/plugin-metrics.ts';
export { ResourceErrors } from './resources/errors.ts';
export type { DocumentReport, FileReport, ResourcesReport } from './resources/report.ts';
export type { ReloadSummary, ResourceSource, Resources } from './resources/resources.ts';
export type { Validation } from './resources/validate.ts';
export type { Clock } from './services/clock.ts';
export { EGRESS_DENIED } from './services/egress/denials.ts';
export type {
  Egress,
  EgressContext,
  EgressLimits,
  EgressRequest,
  EgressResponse,
} from './services/egress/egress.ts';
export { EgressErrors } from './services/egress/errors.ts';
export type { EgressRule } from './services/egress/rule.ts';
export type { EgressRuleSettings } from './services/egress/rule-settings.ts';
export type { EgressRulePage, EgressRules } from './services/egress/rules.ts';
export { EventErrors } from './services/events/errors.ts';
export type { EventListener, EventMeta, Events } from './services/events/events.ts';
export type { Ids } from './services/ids.ts';
export { LockErrors } from './services/locks/errors.ts';
export type { Lock, LockOptions, Locks } from './services/locks/locks.ts';
export { ObjectErrors } from './services/objects/object-errors.ts';
export type {
  ByteRange,
  Deleted,
  GetOptions,
  ListOptions,
  ObjectBody,
  ObjectInfo,
  ObjectPage,
  ObjectSpace,
  Objects,
  PutOptions,
  StoredObject,
} from './services/objects/objects.ts';
export { PermitErrors } from './services/permits/errors.ts';
export type {
  HeldPlace,
  Permit,
  PermitOptions,
  PermitRefusal,
  Permits,
} from './services/permits/permits.ts';
export { QueueErrors } from './services/queue/errors.ts';
export type {
  ConsumeOptions,
  MessageContext,
  MessageHandler,
  PublishOptions,
  Queue,
  QueueConsumer,
} from './services/queue/queue.ts';
export { SecretErrors } from './services/secrets/errors.ts';
export { isSecretReference } from './services/secrets/secret-reference.ts';
export type { SecretOrigin, Secrets } from './services/secrets/secrets.ts';
export { TenantErrors } from './tenancy/errors.ts';
export type { TenantRecord } from './tenancy/tenant-record.ts';
export {
  PLANS,
  TENANT_DEFAULTS,
  type TenantPage,
  type TenantSettings,
  type Tenants,
} from './tenancy/tenants.ts';
