import type { Static, TSchema } from 'typebox';

/** A typed name for a queue of hints. Compare by `id`; the type parameter exists at compile time only. */
export interface QueueRef<T> {
  readonly kind: 'queue';
  /** `<plugin>.<queue>`, unique in the deployment. */
  readonly id: string;
  /** Both sides check every message against it: another version of the gateway may have sent it. */
  readonly schema: TSchema;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

const QUEUE_ID = /^[a-z0-9][a-z0-9.-]{0,99}$/;

/**
 * Declares a queue. Its messages are hints: every one may be lost, come twice, or come late, so a consumer reads from its
 * own tables what there is to do, and looks there from time to time without being told (its sweeper). A message names
 * the work by ids and holds no secret; the consumer checks the tenant in its tables.
 *
 * A schema changes so that old and new replicas understand each other; messages that do not fit are dropped.
 *
 * @param id lower-case letters, digits, `.` and `-`, at most 100 characters
 * @throws TypeError for another id
 *
 * @example
 * export const Steps = defineQueue('workflow.steps', Type.Object({ run_id: Type.String() }));
 */
export function defineQueue<const S extends TSchema>(id: string, schema: S): QueueRef<Static<S>> {
  if (!QUEUE_ID.test(id)) {
    throw new TypeError(
      `The id of a queue is lower-case letters, digits, "." and "-", not ${JSON.stringify(id)}`,
    );
  }
  return { kind: 'queue', id, schema };
}
