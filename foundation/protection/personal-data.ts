import type { FormOf } from '../code/contribution-form.ts';
import type { TenantEntityManager } from '../data/database.ts';
import type { AnyEntitySchema } from '../data/tenancy.ts';

/**
 * A JSON object of an export, ready to be written. A member may be an async iterable: it is written as an array, one
 * item after the other, so that a record is never in memory with all that hangs on it.
 */
export type PersonalRecord = { readonly [name: string]: unknown };

/** Whose data. */
export interface PersonalScope {
  readonly tenantId: string;
  /**
   * Only what belongs to this user: an identity (user id, or API key id), or a value of `X-Svc-User-Id`. Absent: all of
   * the tenant.
   */
  readonly userId?: string | undefined;
}

/** What is to be exported. */
export interface PersonalDataRequest extends PersonalScope {
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

/** What is to be erased. */
export interface Erasure extends Pick<PersonalScope, 'userId'> {
  /** New for each erasure: it takes the user's place in what belongs to others and only names the user. */
  readonly pseudonym: string;
}

/** One array of an export. */
export interface PersonalSection {
  /**
   * Its member in the document: the plural noun of its own list, `workflow_runs`. Each plugin has sections of its own.
   */
  readonly name: string;
  /** The entities whose rows it shows. */
  readonly entities: readonly AnyEntitySchema[];
  /**
   * Everything that is kept, record by record, as the plugin's own routes show it, and redacted like there: it is
   * streamed without a cap, so it must be read in pages (`eachRow`). Ends early when the signal aborts. Records that
   * appear or go while it runs may be missing.
   */
  read(request: PersonalDataRequest): AsyncIterable<PersonalRecord>;
}

/**
 * What a plugin keeps about people, for export and erasure (specification 1, Data protection; decisions 1.5). Every
 * plugin with tables that belong to tenants contributes one: its sections show all of its entities but those that it
 * registers as `impersonal`. The conformance suite checks it.
 */
export interface PersonalData {
  /** Names the contribution in logs and errors; once in the deployment, `[a-z][a-z0-9-]{0,63}`. */
  readonly name: string;
  readonly sections: readonly PersonalSection[];
  /**
   * Called before the transaction of an erasure, and before a tenant is purged: ends what is under way and would write
   * such data again. Resolves when it has ended; throws when it does not. Default: there is no such thing.
   */
  halt?(scope: PersonalScope, signal: AbortSignal): Promise<void>;
  /**
   * Deletes what is kept, inside the caller's transaction, which covers all plugins: it waits for nothing but the
   * database, and publishes a job for what is to be done outside of it, also in a database of its own. May run again
   * where the transaction has lost a race. `userId` narrows it as in an export; what belongs to others and only names
   * the user keeps the pseudonym instead. Use `entities.erase` where it may be a lot.
   *
   * @returns how many records of each kind were deleted: `{ workflow_runs: 12 }`.
   */
  erase(entities: TenantEntityManager, erasure: Erasure): Promise<Readonly<Record<string, number>>>;
  /**
   * Removes what is kept of a tenant outside of the gateway's database and object storage, as in a database of the
   * plugin's own, when the tenant is purged. May run again. Default: nothing is kept there.
   */
  purge?(tenantId: string, signal: AbortSignal): Promise<void>;
  /** Called when an erasure is committed, to drop what is cached of it, here and in other replicas. Does not throw. */
  erased?(scope: PersonalScope): void;
}

/** What is asked of each contribution. */
export const PERSONAL_DATA: FormOf<PersonalData> = {
  name: 'text',
  sections: [{ name: 'text', entities: 'list', read: 'function' }],
  halt: 'function?',
  erase: 'function',
  purge: 'function?',
  erased: 'function?',
};

/**
 * Which objects of tenants are a plugin's, and which of them something refers to, for the clean-up of objects
 * (decisions 1.5). An object that no contribution claims is never deleted.
 */
export interface StoredObjects {
  /** Names the contribution in logs and errors. */
  readonly name: string;
  /** What the keys of its objects begin with, as text: `files/`. */
  readonly prefixes: readonly string[];
  /**
   * Hands over those of the keys that nothing refers to, at a moment in which nothing can begin to: `remove` resolves
   * when they are deleted. An object that several claim is deleted when all of them hand it over.
   */
  unreferenced(
    tenantId: string,
    keys: readonly string[],
    remove: (keys: readonly string[]) => Promise<void>,
  ): Promise<void>;
}

/** What is asked of each contribution. */
export const STORED_OBJECTS: FormOf<StoredObjects> = {
  name: 'text',
  prefixes: 'list',
  unreferenced: 'function',
};
