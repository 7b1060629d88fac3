/** Seconds between two heartbeats of a node, and without one until it counts as gone (decisions 3.6). */
export const HEARTBEAT_S = 30;
export const TTL_S = 60;

/** How a node stands. */
export type NodeStatus = 'healthy' | 'expired' | 'conflict';

/** A node, as far as its standing depends on it. */
export interface Standing {
  readonly publicKey: string;
  readonly endpoint: string;
  /** The other key that somebody has brought for its id; null: nobody has. */
  readonly rivalKey: string | null;
  readonly lastSeenAt: Date;
}

/** How a node stands at a time. Pure. */
export function statusOf(
  { rivalKey, lastSeenAt }: Pick<Standing, 'rivalKey' | 'lastSeenAt'>,
  now: Date,
): NodeStatus {
  if (rivalKey !== null) return 'conflict';
  return now.getTime() - lastSeenAt.getTime() <= TTL_S * 1000 ? 'healthy' : 'expired';
}

/** What becomes of a registration. */
export type RegistrationDecision =
  /** There is no such node: it becomes one. */
  | 'new'
  /** The same key again: it is seen, and its capabilities are those that it says now. */
  | 'again'
  /** The same key, at another place, and the envelope says so itself. */
  | 'moved'
  /** The same key, at another place, and nothing shows that its owner says so. */
  | 'unsigned'
  /** Another key, the first one: both are flagged, and neither counts until an operator has decided. */
  | 'rival'
  /** It is flagged already: whoever comes has to wait. */
  | 'flagged';

/** Decides about a registration. A known id stays with its key for as long as the node is not deleted, also when it has expired. Pure. */
export function decideRegistration(
  known: Standing | undefined,
  wanted: { readonly publicKey: string; readonly endpoint: string; readonly isSigned: boolean },
): RegistrationDecision {
  if (known === undefined) return 'new';
  if (known.rivalKey !== null) return 'flagged';
  if (known.publicKey !== wanted.publicKey) return 'rival';
  if (known.endpoint === wanted.endpoint) return 'again';
  return wanted.isSigned ? 'moved' : 'unsigned';
}

/** What an operator's word about a key comes to. Pure. */
export function decideConfirmation(
  { publicKey, rivalKey }: Pick<Standing, 'publicKey' | 'rivalKey'>,
  confirmed: string,
): 'first' | 'rival' | 'neither' {
  if (confirmed === publicKey) return 'first';
  return confirmed === rivalKey ? 'rival' : 'neither';
}
