import type {
  Erasure,
  PersonalDataRequest,
  PersonalScope,
  PersonalSection,
  RetainedRecords,
  TenantEntityManager,
} from 'agent-gateway';
import type { RunEventRecord, RunRecord, StepRecord, VersionRecord } from './runs.ts';

/** Tables of an engine that hold personal data, as a section of `PersonalData` names them. */
export interface EngineTables {
  /** Runs, their steps and their events. */
  readonly runs: PersonalSection['entities'];
  /** Versions of graphs. */
  readonly versions: PersonalSection['entities'];
}

/** A run with its steps and events. Wire names, redacted. */
export interface ArchivedRun extends RunRecord {
  /** The user for whom it was started; null of runs of earlier versions. */
  readonly user_id: string | null;
  readonly steps: readonly (StepRecord & { readonly completed_by: string | null })[];
  readonly events: readonly RunEventRecord[];
}

/** What an engine keeps, for data protection and for the retention of its runs (decisions 1.5). */
export interface EngineArchive {
  /**
   * All runs, or those that one user started, or that were started for the user; oldest first, one at a time in memory.
   */
  runs(scope: PersonalDataRequest): AsyncIterable<ArchivedRun>;
  /** All versions of graphs, or those that one user published. */
  versions(scope: PersonalDataRequest): AsyncIterable<VersionRecord>;
  /** Cancels the runs whose steps are carried out now, so that they write no more. */
  halt(scope: PersonalScope, signal: AbortSignal): Promise<void>;
  /**
   * Deletes runs with all their rows, and without `userId` the versions too, inside the caller's transaction of the
   * engine's database. With `userId` it deletes the runs that the user started, or that were started for the user, and
   * replaces the user by the pseudonym in the runs of others. May be repeated.
   */
  erase(entities: TenantEntityManager, erasure: Erasure): Promise<ErasedRuns>;
  /** The runs that have ended, with all their rows, as records that retention may delete. */
  retained(kind: Pick<RetainedRecords, 'name' | 'summary' | 'keptFor'>): RetainedRecords;
}

/** How many rows an erasure has deleted. */
export interface ErasedRuns {
  readonly runs: number;
  readonly steps: number;
  readonly events: number;
  readonly versions: number;
}
