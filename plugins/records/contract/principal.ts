/** For whom work is done. It comes from the credential; `X-Svc-User-Id` only divides what belongs to the tenant. */
export interface Principal {
  readonly tenantId: string;
  /** The credential's identity: a user id or an API key id. */
  readonly identityId: string;
  /** `X-Svc-User-Id`, or the identity where it is absent. Divides sessions, memories and profiles inside the tenant. */
  readonly userId: string;
}
