import type { Clock, Ids } from 'agent-gateway';
import type { ChatChunk, Usage } from '../../../agent-engine/contract.ts';

/** The head of an answer, the same for every provider. */
export interface AnswerHead {
  /** `chatcmpl-<uuid>`. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** The alias that the client asked for; the provider's own name stays inside. */
  readonly model: string;
}

/** Makes the head of an answer that begins now. */
export function answerHead(
  model: string,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): AnswerHead {
  return { id: `chatcmpl-${ids.uuid()}`, created: Math.floor(clock.now() / 1000), model };
}

type Notes = Partial<Pick<ChatChunk, 'service_tier' | 'system_fingerprint'>>;

/** Writes the chunks of one answer, as JSON text. */
export type ChunkWriter = ReturnType<typeof createChunkWriter>;

/**
 * A writer for one stream (decisions 1.6). The first delta has a role, also where the provider leaves it out. Usage
 * comes once, in a chunk of its own after the `finish_reason`, however the provider reports it, and only with
 * `stream_options.include_usage`; the other chunks then say `usage: null`, as OpenAI's do.
 */
export function createChunkWriter(head: AnswerHead, includeUsage: boolean) {
  let hasRole = false;

  function write(choices: ChatChunk['choices'], usage: Usage | null | undefined, notes?: Notes): string {
    return JSON.stringify({
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
      service_tier: notes?.service_tier,
      system_fingerprint: notes?.system_fingerprint,
      choices,
      usage,
    });
  }

  return {
    /** A chunk with these choices; `notes` holds members of the provider's own chunk (`system_fingerprint`). */
    choices(choices: ChatChunk['choices'], notes?: Notes): string {
      const sent = hasRole ? choices : withRole(choices);
      hasRole = true;
      return write(sent, includeUsage ? null : undefined, notes);
    },
    /** The usage chunk, where it was requested; after it comes `DONE`. */
    usage: (usage: Usage) => (includeUsage ? write([], usage) : undefined),
  };
}

/** Some providers write null where they leave the role out. */
function withRole(choices: ChatChunk['choices']): ChatChunk['choices'] {
  if (choices.every((choice) => typeof choice.delta?.role === 'string')) return choices;
  return choices.map((choice) => {
    const { role, ...delta } = choice.delta ?? {};
    return { ...choice, delta: { role: role ?? 'assistant', ...delta } };
  });
}
