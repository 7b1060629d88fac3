import { createHash } from 'node:crypto';

/** What nodes report of their genes. */
export const HUB_EVENTS = ['gene_promoted', 'gene_revoked'] as const;

/** One of them. */
export type HubEvent = (typeof HUB_EVENTS)[number];

/** The headers of an envelope, as Node spells them. */
export const ENVELOPE = {
  node: 'x-svc-node-id',
  timestamp: 'x-svc-timestamp',
  nonce: 'x-svc-nonce',
  signature: 'x-svc-signature',
} as const;

/** The parts of a request that an envelope signs. */
export interface SignedParts {
  /** Unix seconds, as in the header. */
  readonly timestamp: string;
  readonly method: string;
  /** The path with its query, as it is sent. */
  readonly target: string;
  readonly body: Uint8Array;
  /** Id of the node, or of the hub's key, that signs. */
  readonly signer: string;
}

/** The text that is signed with Ed25519 (decisions 3.6). Pure. */
export function signedText({ timestamp, method, target, body, signer }: SignedParts): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return [timestamp, method, target, digest, signer].join('\n');
}
