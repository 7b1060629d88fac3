import type { TenantEntityManager } from 'agent-gateway';

/** Where a user is named in what belongs to others. */
export interface PersonalTraces {
  /**
   * Puts `pseudonym` in the place of `userId` inside the caller's transaction, wherever runs, steps, events, definitions and versions of the
   * tenant name the user: assignees, who completed a task, who cancelled a run, who made a definition. Graphs are configuration, and keep the
   * assignees that their authors wrote. Returns how many records were changed.
   */
  pseudonymize(entities: TenantEntityManager, userId: string, pseudonym: string): Promise<number>;
}
