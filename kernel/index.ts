/**
 * The only module of the kernel that plugins import, as `agent-gateway`. What is not exported here is not part of the
 * plugin contract and may change without notice.
 */

/** From the gateway's own copy: entities of another copy of MikroORM are not recognized. */
export { defineEntity } from '@mikro-orm/core';
export type { AuditEntry } from '../foundation/audit/audit-entry.ts';
export type { AuditLogs } from '../foundation/audit/audit-logs.ts';
export {
  AUDIT_DEFAULT_LIMIT,
  AUDIT_MAX_LIMIT,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  parseAuditTime,
  periodEnd,
  periodProblems,
} from '../foundation/audit/audit-query.ts';
export type { Pseudonymized } from '../foundation/audit/audit-traces.ts';
export { type BackoffBounds, backoffDelay, parseRetryAfter } from '../foundation/base/backoff.ts';
export { Bulkhead } from '../foundation/base/bulkhead.ts';
export { createSharedCache, type SharedCache, type SharedCacheOptions } from '../foundation/base/cache.ts';
export type { Clock } from '../foundation/base/clock.ts';
export type { Lifetime, LinkedSignal, SignalSource } from '../foundation/base/deadline.ts';
export { DeadlineError, linkSignals, orAborted, startLifetime, within } from '../foundation/base/deadline.ts';
export { KernelErrors } from '../foundation/base/error-catalogue.ts';
export { causesOf, messageOf } from '../foundation/base/failure.ts';
export { withFirst } from '../foundation/base/first-item.ts';
export { type FileToFollow, followFile } from '../foundation/base/follow-file.ts';
export type { ErrorExtras, ErrorFactory, FieldError } from '../foundation/base/gateway-error.ts';
export { defineErrors, GatewayError } from '../foundation/base/gateway-error.ts';
export { type Ids, isUuid } from '../foundation/base/ids.ts';
export { jsonExtent } from '../foundation/base/json-extent.ts';
export { isJsonObject, parsedJson } from '../foundation/base/json-object.ts';
export { pointerPath, pointerSegment } from '../foundation/base/json-pointer.ts';
export { compileSchema, type SchemaCheck, type SchemaOptions } from '../foundation/base/json-schema.ts';
export { type Lazy, lazy } from '../foundation/base/lazy.ts';
export { nearestName } from '../foundation/base/nearest-name.ts';
export {
  isOfferName,
  lacksOffer,
  type Offer,
  type OfferName,
  offerNamed,
} from '../foundation/base/offers.ts';
export { IdParams, type Page, type PageQuery, pageOf, pageQuery } from '../foundation/base/page.ts';
export { createPauses, mapWithPauses, type Pauses } from '../foundation/base/pauses.ts';
export { type RecentMap, recentMap } from '../foundation/base/recent-map.ts';
export { refusing, requireSound, type UnreadBody } from '../foundation/base/refusing.ts';
export type { SchemaError } from '../foundation/base/schema-errors.ts';
export { withExample } from '../foundation/base/schema-example.ts';
export {
  forEachLimited,
  KeyedMutex,
  Mutex,
  mapLimited,
  type Release,
  Semaphore,
  type TurnOptions,
} from '../foundation/base/semaphore.ts';
export { isStorableText, storableText } from '../foundation/base/storable-text.ts';
export { holdsText, SEARCHED_RECORDS, searchQuery } from '../foundation/base/text-search.ts';
export { throttledLog, throttledLogs } from '../foundation/base/throttle.ts';
export { TransientMap, TransientSet } from '../foundation/base/transient.ts';
export { Type } from '../foundation/base/type.ts';
export { AnyId, fromWire, Id, listOf, nullable, Timestamp, toWire } from '../foundation/base/wire.ts';
export type { DoubtfulSettings } from '../foundation/code/doubts.ts';
export { ConfigurationError, type ConfigurationProblem } from '../foundation/config/configuration-error.ts';
export { field } from '../foundation/config/field.ts';
export { sharedSettings } from '../foundation/config/shared-settings.ts';
export { type Address, formatDuration, parseDuration } from '../foundation/config/units.ts';
export type {
  AggregateQuery,
  AggregateRow,
  ColumnTypes,
  Database,
  EachRowQuery,
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
  TenantOwnedTable,
  TransactionOptions,
} from '../foundation/data/database.ts';
export {
  assertOutsideTransaction,
  column,
  DatabaseErrors,
  eachRow,
  eraseExpired,
  isDatabaseFull,
  isDatabaseUnavailable,
  isUniqueViolation,
  writes,
} from '../foundation/data/database.ts';
export { RETRY_RACES } from '../foundation/data/retry.ts';
export { EGRESS_DENIED } from '../foundation/egress/denials.ts';
export type {
  Egress,
  EgressContext,
  EgressLimits,
  EgressRequest,
  EgressResponse,
} from '../foundation/egress/egress.ts';
export { EgressErrors, isFaultOfReceiver } from '../foundation/egress/errors.ts';
export type { EgressRule } from '../foundation/egress/rule.ts';
export {
  type EgressRulePage,
  type EgressRuleSettings,
  type EgressRules,
  egressPlaceProblems,
} from '../foundation/egress/rules.ts';
export { cozeCode, type ErrorDialect, problemOf } from '../foundation/errors/render.ts';
export { byteRange } from '../foundation/http/byte-range.ts';
export { cookieOf, type NewCookie, setCookie } from '../foundation/http/cookies.ts';
export { type OutboundOptions, outbound, readAnswer } from '../foundation/http/outbound.ts';
export { expectsNumber, ifMatchHeader, precondition, rangeCounts } from '../foundation/http/preconditions.ts';
export type { SseEvent, SseStream } from '../foundation/http/sse-writer.ts';
export { LeaseErrors } from '../foundation/leases/lease-request.ts';
export type {
  HeldName,
  HeldPlace,
  Lease,
  LeaseOptions,
  LeaseRefusal,
  Leases,
  LeaseWaitOptions,
} from '../foundation/leases/leases.ts';
export {
  type DurableEventContext,
  type DurableEventHandler,
  type DurableEventRef,
  type DurableEvents,
  defineDurableEvent,
  type SubscribeOptions,
} from '../foundation/messages/durable-events/durable-events.ts';
export type { EventListener, EventMeta, Events } from '../foundation/messages/events/events.ts';
export { defineEvent, EventErrors, type EventRef } from '../foundation/messages/events/events.ts';
export type {
  HintConsumer,
  HintContext,
  HintHandler,
  HintOptions,
  Hints,
  SendOptions,
} from '../foundation/messages/hints/hints.ts';
export { defineHint, HintErrors, type HintRef } from '../foundation/messages/hints/hints.ts';
export type {
  JobContext,
  JobHandler,
  JobOwner,
  JobSettings,
  Jobs,
  PublishJobOptions,
  WorkerOptions,
} from '../foundation/messages/jobs/jobs.ts';
export { defineJob, JobErrors, type JobRef } from '../foundation/messages/jobs/jobs.ts';
export { ObjectErrors } from '../foundation/objects/object-errors.ts';
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
} from '../foundation/objects/objects.ts';
export type { OfferedObjectStore, OfferedPut } from '../foundation/objects/offered-store.ts';
export type { Logger, LogLevel } from '../foundation/observability/logger.ts';
export type {
  HistogramOptions,
  MetricOptions,
  PluginMetrics,
} from '../foundation/observability/plugin-metrics.ts';
export type { Readiness } from '../foundation/observability/readiness.ts';
export { redactText } from '../foundation/observability/redact-text.ts';
export type { SpanHandle, SpanOptions, Spans } from '../foundation/observability/tracing.ts';
export type {
  Erasure,
  PersonalData,
  PersonalDataRequest,
  PersonalRecord,
  PersonalScope,
  PersonalSection,
  StoredObjects,
} from '../foundation/protection/personal-data.ts';
export type { Protection } from '../foundation/protection/protection.ts';
export { retainedApiKeys } from '../foundation/protection/retained-api-keys.ts';
export {
  type RetainedRecords,
  retainedRows,
  rowsByTenant,
} from '../foundation/protection/retained-records.ts';
export {
  createSweptUntil,
  type SweptUntilOptions,
  type TenantSweep,
} from '../foundation/protection/swept-until.ts';
export { createRedaction, redactJsonTextWith } from '../foundation/redaction/redaction.ts';
export type { StreamRedactor } from '../foundation/redaction/redactor.ts';
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
  type UnreadResource,
} from '../foundation/resources/kind.ts';
export type {
  DocumentReport,
  FileReport,
  ReloadSummary,
  ResourceReading,
  ResourceSource,
  Resources,
  ResourcesReport,
  Validation,
} from '../foundation/resources/resources.ts';
export { ResourceErrors } from '../foundation/resources/resources.ts';
export { hideSecrets } from '../foundation/secrets/hide-secrets.ts';
export { createSeal, type Seal } from '../foundation/secrets/seal.ts';
export { SecretErrors } from '../foundation/secrets/secret-file.ts';
export {
  isSecretReference,
  isStoreReference,
  REFERENCE_FORMS,
  REFERENCE_PATTERN,
} from '../foundation/secrets/secret-reference.ts';
export type { SecretStore, WantedSecret } from '../foundation/secrets/secret-stores.ts';
export type { SecretOrigin, Secrets } from '../foundation/secrets/secrets.ts';
export type { TenantSecretUse } from '../foundation/secrets/tenant-secrets.ts';
export * from '../foundation/tables/lifecycle-events.ts';
export { TenantErrors } from '../foundation/tables/tenant.ts';
export { type Grant, GrantErrors, grantProblems, requireGrant } from './access/grants.ts';
export { DEFAULT_TENANT_ID, type Identity, isOperator } from './access/identity.ts';
export { livingTenant, narrowedTo, reachedTenant, reachOf, requireReach } from './access/reach.ts';
export { isRole, ROLES, TENANT_ADMINISTRATION } from './access/roles.ts';
export { ADMIN_SCOPE, hasAnyScope } from './access/scopes.ts';
export { type Access, access } from './api/access.ts';
export type { Call, CallSource } from './api/call.ts';
export type { Deployment, PluginStatus } from './api/deployment.ts';
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
export { definePlugin, type ListenRules, type Plugin, type PluginDefinition } from './api/plugin.ts';
export {
  DoubtfulSettingsPoint,
  ObjectStoresPoint,
  PersonalDataPoint,
  RetentionPoint,
  SecretStoresPoint,
  StoredObjectsPoint,
} from './api/points.ts';
export { type ExtensionPoint, extensionPoint, type ServiceRef, serviceRef } from './api/refs.ts';
export { Reply, type ReplyHeaders, reply } from './api/reply.ts';
export type {
  LimitedCall,
  MountOptions,
  Route,
  RouteCall,
  RouteDefinition,
  RouteLimit,
  RouteSchema,
} from './api/route.ts';
export { route } from './api/route.ts';
export type { Scope } from './api/scope.ts';
export type { KernelServices } from './api/services.ts';
export type { RequestStage, StagedCaller, StagedRequest } from './api/stage.ts';
export type { ApiKeyPage, ApiKeyRecord, ApiKeyStore, NewApiKey } from './auth/api-key-store.ts';
export type {
  AnyAuthenticator,
  Authenticator,
  BodyAuthenticator,
  Credentials,
  SignedCredentials,
} from './auth/authenticator.ts';
export { ApiKeyErrors, AuthErrors } from './auth/errors.ts';
export { createTokenComparison } from './auth/static-token.ts';
export type { OpenApiDocument } from './http/openapi.ts';
export type { TenantRecord } from './tenancy/tenants.ts';
export {
  PLANS,
  TENANT_DEFAULTS,
  type TenantPage,
  type TenantSettings,
  type Tenants,
} from './tenancy/tenants.ts';
