import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type EntityRegistration } from 'agent-gateway';
import type { Platform } from '../contract.ts';

/** Characters of a hash: 32 bytes in hexadecimal digits. */
const HASH = 64;
/** Characters of an app key. */
export const APP_KEY_LENGTH = 128;

/** An app of a tenant at a provider, through which its users log in. Of secrets it has references. */
export const AppTable = defineEntity({
  name: 'ChannelApp',
  tableName: 'channel_apps',
  indexes: [{ name: 'channel_apps_tenant', properties: ['tenantId', 'id'] }],
  // Across all tenants: an app key alone determines the tenant whose user logs in (decisions 1.10).
  uniques: [{ name: 'channel_apps_key', properties: ['platform', 'appKey'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    platform: column.string(16).$type<Platform>(),
    appKey: column.string(APP_KEY_LENGTH),
    appSecretRef: column.text().strictNullable(),
    oauthSecretRef: column.text().strictNullable(),
    webhookSecretRef: column.text().strictNullable(),
    /**
     * Which of the references a tenant wrote (`app,oauth`): these may name only what the tenant is allowed to. The
     * others are the operator's.
     */
    tenantRefs: column.string(32),
    enabled: column.boolean(),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** A user of an app, and the user id that the gateway has for that user. */
export const BindingTable = defineEntity({
  name: 'ChannelBinding',
  tableName: 'channel_bindings',
  indexes: [
    { name: 'channel_bindings_tenant', properties: ['tenantId', 'id'] },
    { name: 'channel_bindings_user', properties: ['tenantId', 'userId'] },
  ],
  uniques: [{ name: 'channel_bindings_hash', properties: ['tenantId', 'channelAppId', 'providerUserHash'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    channelAppId: column.id(),
    platform: column.string(16).$type<Platform>(),
    providerUserHash: column.string(HASH),
    /** The identity of the user's sessions: made with the binding, and kept when the user is let in again. */
    userId: column.id(),
    createdAt: column.time(),
    lastLoginAt: column.time(),
    revokedAt: column.time().strictNullable(),
  },
});

/** A link that was given out and not used yet. */
export const LinkTable = defineEntity({
  name: 'ChannelLink',
  tableName: 'channel_links',
  indexes: [
    { name: 'channel_links_app', properties: ['tenantId', 'channelAppId'] },
    { name: 'channel_links_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    /** Hash of its challenge. */
    id: column.string(HASH).primary(),
    tenantId: column.tenant(),
    channelAppId: column.id(),
    createdAt: column.time(),
    expiresAt: column.time(),
  },
});

/** A login that has begun: the browser is at the provider. */
export const StateTable = defineEntity({
  name: 'ChannelState',
  tableName: 'channel_states',
  indexes: [
    { name: 'channel_states_app', properties: ['tenantId', 'channelAppId'] },
    { name: 'channel_states_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    /** Hash of its state. */
    id: column.string(HASH).primary(),
    tenantId: column.tenant(),
    channelAppId: column.id(),
    platform: column.string(16).$type<Platform>(),
    /** Of the secret in the cookie of the browser that began. */
    browserHash: column.string(HASH),
    returnTo: column.text(),
    /** When the link by which it began was made. */
    linkCreatedAt: column.time(),
    expiresAt: column.time(),
  },
});

/** A browser that is logged in. */
export const SessionTable = defineEntity({
  name: 'ChannelSession',
  tableName: 'channel_sessions',
  indexes: [
    { name: 'channel_sessions_user', properties: ['tenantId', 'userId'] },
    { name: 'channel_sessions_app', properties: ['tenantId', 'channelAppId'] },
    { name: 'channel_sessions_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    /** Hash of its token. */
    id: column.string(HASH).primary(),
    tenantId: column.tenant(),
    channelAppId: column.id(),
    userId: column.id(),
    csrfHash: column.string(HASH),
    createdAt: column.time(),
    expiresAt: column.time(),
  },
});

/** The tables of channels. All belong to tenants. */
export const entities: readonly EntityRegistration[] = [
  AppTable,
  BindingTable,
  { entity: LinkTable, impersonal: 'links of apps, which name no person and end after ten minutes' },
  { entity: StateTable, impersonal: 'logins that have begun: it is not known yet whose they are' },
  SessionTable,
];

export type AppRow = InferEntity<typeof AppTable>;
export type BindingRow = InferEntity<typeof BindingTable>;
export type LinkRow = InferEntity<typeof LinkTable>;
export type StateRow = InferEntity<typeof StateTable>;
export type SessionRow = InferEntity<typeof SessionTable>;
