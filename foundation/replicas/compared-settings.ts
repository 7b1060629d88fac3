import { createHash } from 'node:crypto';
import type { KernelSettings } from '../config/kernel-settings.ts';
import type { ObjectStoreUrl } from '../objects/object-store-url.ts';

/** The variables that are compared: where they differ, replicas work past each other, or one refuses what others do. */
export const COMPARED = [
  'SVC_DEPLOYMENT',
  'REDIS_URL',
  'SVC_DATABASE_ROLE',
  'OBJECT_STORE_URL',
  'SVC_EGRESS_DEFAULT',
  'SVC_EGRESS_ALLOW_PRIVATE',
  'SVC_TENANT_SECRETS',
  'SVC_JWT_JWKS_URL',
  'SVC_JWT_AUDIENCE',
  'SVC_JWT_ISSUER',
] as const;

export type ComparedSetting = (typeof COMPARED)[number];

/** A mark for each setting that is known: equal where the settings say the same. */
export type Marks = Readonly<Partial<Record<ComparedSetting, string>>>;

/** What is compared of the settings of a process. */
export type SettingsToCompare = Pick<KernelSettings, 'databaseRole' | 'jwt'> & {
  readonly services: Pick<
    KernelSettings['services'],
    'deployment' | 'objectStore' | 'tenantSecrets' | 'egress'
  >;
};

/**
 * The marks of settings. Pure.
 *
 * @param redis what tells one Redis from another, null without one, undefined while that is not known. Its URL says
 * nothing: replicas may reach one Redis by several names.
 */
export function marksOf(settings: SettingsToCompare, redis: string | null | undefined): Marks {
  const { databaseRole, jwt, services } = settings;
  const { deployment, objectStore, tenantSecrets, egress } = services;
  return {
    SVC_DEPLOYMENT: mark(deployment),
    ...(redis !== undefined && { REDIS_URL: mark(redis) }),
    SVC_DATABASE_ROLE: mark(databaseRole),
    OBJECT_STORE_URL: mark(placeOf(objectStore)),
    SVC_EGRESS_DEFAULT: mark(egress.default),
    SVC_EGRESS_ALLOW_PRIVATE: mark(egress.allowPrivate.toSorted()),
    SVC_TENANT_SECRETS: mark(tenantSecrets.toSorted()),
    SVC_JWT_JWKS_URL: mark(jwt.jwksUrl),
    SVC_JWT_AUDIENCE: mark(jwt.audience),
    SVC_JWT_ISSUER: mark(jwt.issuer),
  };
}

/** Where objects are, as far as it is the same for all who reach it: paths and endpoints have several names. */
function placeOf(store: ObjectStoreUrl): readonly string[] {
  if (store.form === 's3') return [store.form, store.bucket];
  return store.form === 'plugin' ? [store.form, store.name] : [store.form];
}

const mark = (value: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(value ?? null))
    .digest('hex')
    .slice(0, 16);

/**
 * The settings of which two replicas are known to have other values. Pure. Where the deployment has another name there,
 * its part of a Redis is another one as well, which says nothing about the Redis.
 */
export function differing(own: Marks, other: Marks): readonly ComparedSetting[] {
  const all = COMPARED.filter(
    (name) => own[name] !== undefined && other[name] !== undefined && own[name] !== other[name],
  );
  return all.includes('SVC_DEPLOYMENT') ? all.filter((name) => name !== 'REDIS_URL') : all;
}
