import type { Clock, Ids } from 'agent-gateway';

/** What an answer is called, whichever provider gives it. */
export interface AnswerHead {
  /** `chatcmpl-<uuid>`. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** The alias that the client asked for; the provider's own name stays inside. */
  readonly model: string;
}

/** Names an answer that begins now. */
export function answerHead(
  model: string,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): AnswerHead {
  return { id: `chatcmpl-${ids.uuid()}`, created: Math.floor(clock.now() / 1000), model };
}
