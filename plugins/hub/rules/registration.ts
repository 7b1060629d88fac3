/**
 * Seconds between two heartbeats of a node, and seconds without one after which it counts as expired (decisions 3.6).
 */
export const HEARTBEAT_S = 30;
export const TTL_S = 60;

/** The status of a node. */
export type NodeStatus = 'healthy' | 'expired' | 'conflict';

/** The columns of a node on which its status depends. */
export interface Standing {
  readonly publicKey: string;
  readonly endpoint: string;
  /** Another key with which its id was registered; null: there was none. */
  readonly rivalKey: string | null;
  /** Who registered it; null: it was registered before this was kept. */
  readonly owner: string | null;
  readonly lastSeenAt: Date;
}

/** The status of a node at a time. Pure. */
export function statusOf(
  { rivalKey, lastSeenAt }: Pick<Standing, 'rivalKey' | 'lastSeenAt'>,
  now: Date,
): NodeStatus {
  if (rivalKey !== null) return 'conflict';
  return now.getTime() - lastSeenAt.getTime() <= TTL_S * 1000 ? 'healthy' : 'expired';
}

/** The outcome of a registration. */
export type RegistrationDecision =
  /** The id is unknown: the node is added. */
  | 'new'
  /** The same key and endpoint: the node counts as seen, and its capabilities are replaced. */
  | 'again'
  /** The same key with another endpoint, and the registration is signed with the key. */
  | 'moved'
  /**
   * The same key, with another endpoint or for a node without an owner, and nothing shows yet that the holder of the
   * key sent it.
   */
  | 'unsigned'
  /** A second key for the id: both are flagged, and neither counts until an operator has decided. */
  | 'rival'
  /** The id is flagged already: every registration has to wait for the operator. */
  | 'flagged';

/**
 * Decides about a registration. A known id stays with its key for as long as the node is not deleted, also when it has
 * expired. Pure.
 */
export function decideRegistration(
  known: Standing | undefined,
  wanted: {
    readonly publicKey: string;
    readonly endpoint: string;
    /** The request carries a signature. */
    readonly hasSignature: boolean;
    /** It was verified, with this key. */
    readonly isSigned: boolean;
  },
): RegistrationDecision {
  if (known === undefined) return 'new';
  if (known.rivalKey !== null) return 'flagged';
  if (known.publicKey !== wanted.publicKey) return 'rival';
  if (known.endpoint !== wanted.endpoint) return wanted.isSigned ? 'moved' : 'unsigned';
  return known.owner === null && wanted.hasSignature && !wanted.isSigned ? 'unsigned' : 'again';
}

/**
 * The owner of a node after a registration with its key. It stays, and where it has none, it gets the one whose
 * registration the key has signed: anybody may repeat what the list of nodes shows. Pure.
 */
export function ownerAfter(known: string | null, registrant: string, isSigned: boolean): string | null {
  return known ?? (isSigned ? registrant : null);
}

/** Which of a node's keys an operator has confirmed. Pure. */
export function decideConfirmation(
  { publicKey, rivalKey }: Pick<Standing, 'publicKey' | 'rivalKey'>,
  confirmed: string,
): 'first' | 'rival' | 'neither' {
  if (confirmed === publicKey) return 'first';
  return confirmed === rivalKey ? 'rival' : 'neither';
}
