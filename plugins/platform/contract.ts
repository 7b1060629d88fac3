import { extensionPoint, type TenantEntityManager } from 'agent-gateway';

/** A JSON object of an export, ready to be written. */
export type PersonalRecord = { readonly [name: string]: unknown };

/** One line of an export. */
export interface PersonalDataItem {
  /** What kind of record it is, the plural noun of its own list: `workflow_runs`. Each plugin has sections of its own. */
  readonly section: string;
  /** As the plugin's own routes show it, and redacted like there. */
  readonly record: PersonalRecord;
}

/** What is to be exported. */
export interface PersonalDataRequest {
  readonly tenantId: string;
  /** Only what belongs to this user: an identity (user id, or API key id), or a value of `X-Svc-User-Id`. Absent: all of the tenant. */
  readonly userId?: string | undefined;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

/**
 * What one plugin keeps about people, for export and deletion (specification 1, Data protection; decisions 1.5). Every plugin that stores what
 * users gave it contributes one.
 */
export interface PersonalData {
  /** Names the contribution in logs and errors; once in the deployment, `[a-z][a-z0-9-]{0,63}`. */
  readonly name: string;
  /**
   * Everything that is kept, record by record: it is streamed without a cap, so it must be read in pages. Ends early, without an error, when
   * the signal aborts. Records that appear or go while it runs may be missing.
   */
  export(request: PersonalDataRequest): AsyncIterable<PersonalDataItem>;
  /**
   * Deletes what is kept, inside the caller's transaction, which covers all plugins: it waits for nothing but the database. `userId` narrows it
   * as in an export; what belongs to others and only names the user keeps a pseudonym in his place.
   *
   * @returns how many records of each section were deleted: `{ workflow_runs: 12 }`.
   */
  erase(
    entities: TenantEntityManager,
    scope: { readonly userId?: string | undefined },
  ): Promise<Readonly<Record<string, number>>>;
}

/** What plugins keep about people. The routes of data protection of this plugin ask all of them. */
export const PersonalDataPoint = extensionPoint<PersonalData>('platform.personal-data');
