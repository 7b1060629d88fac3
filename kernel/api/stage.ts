import type { Identity } from '../access/identity.ts';
import type { TenantRecord } from '../tenancy/tenants.ts';

/** What a stage sees of an HTTP request or a gRPC call. */
export interface StagedRequest {
  /** `GET`, …; of a gRPC call `GRPC`. */
  readonly method: string;
  /** As the client sent it, without the query; of gRPC `/svc.notes.v1.NotesService/GetNote`. */
  readonly path: string;
  /** Pattern of the route that will answer, `/v1/sessions/{id}`; of gRPC `svc.notes.v1.NotesService/GetNote`. */
  readonly route: string;
  /** The header `Host` (HTTP/2: `:authority`), lower case, no port. Trust it only where a proxy in front checks it. */
  readonly host: string;
  /** IP address of the caller, after trusted proxies were peeled off. */
  readonly address: string;
  readonly requestId: string;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** A header, or text of the metadata; of several the first. */
  header(name: string): string | undefined;
  /**
   * Sets a header of the answer, whatever the answer is; of gRPC an entry of the initial metadata.
   *
   * @throws Error for headers that say how the body is sent, and for the gateway's own: the request id and the rate
   * limits. gRPC keeps `grpc-…` and `…-bin`, too
   */
  setHeader(name: string, value: string): void;
}

/** Who was admitted. On a public route without a credential the identity is anonymous and there is no tenant. */
export interface StagedCaller {
  readonly identity: Identity;
  readonly tenant: TenantRecord | undefined;
}

/**
 * A stage around every HTTP request and gRPC call that a plugin answers; those of the kernel itself (health, metrics,
 * plugin administration, reflection) have none: an operator can switch off what refuses too much. A `GatewayError`
 * that a hook throws is the answer.
 */
export interface RequestStage {
  /** For logs; unique in the plugin. */
  readonly name: string;
  /** Stages are asked by this number, smallest first, then by plugin and name. Default 0. */
  readonly order?: number;
  /** Milliseconds for each hook, 1 to 30,000. Default 2,000. */
  readonly timeoutMs?: number;
  /** What becomes of a request whose hook failed or missed its deadline: 503, or it goes on. Default `refuse`. */
  readonly onFailure?: 'refuse' | 'pass';
  /** Before any credential is looked at: no caller is known, and what is refused here is in no audit record. */
  readonly before?: (request: StagedRequest) => void | Promise<void>;
  /** When the caller is known and the access rule lets it pass. The hook can refuse more; it cannot let more pass. */
  readonly admitted?: (request: StagedRequest, caller: StagedCaller) => void | Promise<void>;
}
