import { isJsonObject, parsedJson } from '../base/json-object.ts';

/** One record of the audit log (specification 1, Audit log record; decisions 1.4). */
export interface AuditEntry {
  /** UUID v7; writing an entry twice under one id writes it once. */
  readonly id: string;
  /** The tenant of the credential, or of the one that was tried; empty when it is not known. */
  readonly tenantId: string;
  /** The credential's identity; empty when there is none. */
  readonly userId: string;
  /** `METHOD /path`, or the name of a recorded event (`egress.denied`). */
  readonly action: string;
  /** Sanitized particulars (`auditDetail`): never content, never a secret. */
  readonly detail: AuditDetail;
  readonly requestId: string;
  /** The status that was sent, 499 when the client left before. */
  readonly statusCode: number;
  /** Whole milliseconds. */
  readonly latencyMs: number;
  readonly createdAt: Date;
  readonly sessionId?: string | undefined;
  readonly sourceIp?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly authMethod?: string | undefined;
}

/** What an audit record says about a request beyond its columns. */
export type AuditDetail = Readonly<Record<string, unknown>>;

/** An entry with its line of the journal. */
export interface EncodedEntry {
  readonly entry: AuditEntry;
  readonly line: string;
}

/** No line of the journal is longer; a reader may take a longer one for damage. */
const MAX_LINE = 65_536;

/**
 * The entry with its line of the journal, line feed included. A `detail` that is too long or is no JSON is left out of
 * both.
 *
 * @throws RangeError where the other members are too long.
 */
export function encodeEntry(given: AuditEntry): EncodedEntry {
  for (const entry of [given, { ...given, detail: { omitted: true } }]) {
    const line = tryEncode(entry);
    if (line !== undefined) return { entry, line };
  }
  throw new RangeError(`An audit entry is longer than ${MAX_LINE} characters`);
}

function tryEncode(entry: AuditEntry): string | undefined {
  try {
    // A number for the time: with a Date inside, JSON.stringify takes three times as long.
    const json = JSON.stringify({ ...entry, createdAt: entry.createdAt.getTime() });
    return json.length < MAX_LINE ? `${json}\n` : undefined;
  } catch {
    // Cyclic, or holds a value that JSON has no form for.
    return undefined;
  }
}

/** The entry that a line of the journal holds, or `undefined` where the line is damaged. */
export function decodeEntry(line: string): AuditEntry | undefined {
  const entry = parsedJson(line);
  if (!isJsonObject(entry)) return undefined;
  const createdAt = new Date(entry.createdAt as number);
  if (typeof entry.id !== 'string' || Number.isNaN(createdAt.getTime())) return undefined;
  return { ...(entry as unknown as AuditEntry), createdAt };
}

/** What a handler may add to its audit record. */
export interface AuditExtra {
  readonly sessionId?: string;
  /**
   * The identity of the record where the call itself finds out who is calling, as a login does. The id is empty while
   * only the tenant is known.
   */
  readonly actor?: { readonly id: string; readonly tenantId: string; readonly method: string };
  /**
   * What the call made or changed, by name: ids, versions, states (`{definition_id, version}`). 16 at most; a text is
   * cut to 256 characters.
   */
  readonly changes?: Readonly<Record<string, string | number | boolean | null>>;
  /** Parameters of the query whose values are not recorded: they name a user whom the call erases. */
  readonly hidden?: readonly string[];
}

/** Bounds of the trail; times in milliseconds. */
export const DEFAULT_LIMITS = {
  /** Records that are written at one time, at most. */
  batchSize: 500,
  /**
   * Records for which a batch begins before its time. Few, since a database in this process stops everything else while
   * it writes them. While more wait, batches have a multiple of it, so that their statements are the same ones.
   */
  batchFrom: 100,
  /** How long a record waits for others that are written with it. */
  batchDelay: 200,
  /** How long one write to the sink may take. */
  sinkDeadline: 15_000,
  /** Bytes that the journal of this process may hold before callers wait. */
  journalBytes: 256 * 1_048_576,
  /** Size of one journal file. */
  segmentBytes: 4 * 1_048_576,
  /** Bytes that memory may hold while the disk fails, before callers wait. */
  memoryBytes: 16 * 1_048_576,
  /** How long a caller waits for room. */
  roomDeadline: 5_000,
  /** Callers that may wait for room at one time. */
  maxWaiting: 1_000,
  /** Delays between attempts while the sink is away. */
  backoff: { first: 200, most: 10_000 },
  /** How often this process writes its heartbeat and looks for journals of processes that have died. */
  heartbeat: 10_000,
};

/** The same with other values. */
export type AuditTrailLimits = Readonly<typeof DEFAULT_LIMITS>;
