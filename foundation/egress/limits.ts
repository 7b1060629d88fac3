/** Bounds of the egress service in one process; times in milliseconds. */
export interface EgressBounds {
  /** How long a name may take to be resolved; default 5,000. */
  readonly dnsTimeout: number;
  /** Names that are resolved at one time; default 256. */
  readonly maxLookups: number;
  /** How long a connection may take to open, name and TLS included; default 10,000. */
  readonly connectTimeout: number;
  /** Requests that a tenant may have open; default 64, above it `egress.busy`. */
  readonly openPerTenant: number;
  /** Requests of all tenants that may be open; default 1,024. */
  readonly open: number;
  /** Connections of a tenant to one origin; default 16. Requests beyond them wait, within their own deadline. */
  readonly connectionsPerOrigin: number;
  /** Origins of a tenant, and of all tenants, to which unused connections are kept; default 8 and 256. */
  readonly idleOriginsPerTenant: number;
  readonly idleOrigins: number;
  /** How long an unused connection is kept at most; default 10,000. */
  readonly keepAlive: number;
}

/** The bounds that hold where nothing else is said. */
export const DEFAULT_BOUNDS: EgressBounds = {
  dnsTimeout: 5_000,
  maxLookups: 256,
  connectTimeout: 10_000,
  openPerTenant: 64,
  open: 1_024,
  connectionsPerOrigin: 16,
  idleOriginsPerTenant: 8,
  idleOrigins: 256,
  keepAlive: 10_000,
};
