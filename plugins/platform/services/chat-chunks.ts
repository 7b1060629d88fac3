import type { ChatChunk, Usage } from '../../agent-engine/contract.ts';

/** What an answer is called, whichever provider gives it. */
export interface AnswerHead {
  /** `chatcmpl-<uuid>`. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** The alias that the client asked for; the provider's own name stays inside. */
  readonly model: string;
}

/** Turns a provider's chunks into the gateway's, as JSON text. */
export interface ChunkRewriter {
  /** The chunk for the client; `undefined` for one that tells him nothing. */
  next(chunk: ChatChunk): string | undefined;
  /** The usage chunk, after the last of `next`; `undefined` when it was not asked for, or the provider does not meter. */
  end(): string | undefined;
}

/**
 * A rewriter for one stream (decisions 1.6). The first delta has a role, also where the provider leaves it out. Usage
 * comes once, in a chunk of its own after the `finish_reason`, however the provider reports it, and only with
 * `stream_options.include_usage`; the other chunks then say `usage: null`, as OpenAI's do.
 */
export function createChunkRewriter(head: AnswerHead, includeUsage: boolean): ChunkRewriter {
  let usage: Usage | undefined;
  let hasRole = false;

  function write(choices: ChatChunk['choices'], told: Usage | null | undefined, chunk?: ChatChunk): string {
    return JSON.stringify({
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
      service_tier: chunk?.service_tier,
      system_fingerprint: chunk?.system_fingerprint,
      choices,
      usage: told,
    });
  }

  return {
    next(chunk) {
      if (chunk.usage) usage = chunk.usage;
      // Of the port's chunks without choices only the usage is meant for clients; the others are a provider's notices.
      if (chunk.choices.length === 0) return undefined;
      const choices = hasRole ? chunk.choices : withRole(chunk.choices);
      hasRole = true;
      return write(choices, includeUsage ? null : undefined, chunk);
    },
    end: () => (includeUsage && usage !== undefined ? write([], usage) : undefined),
  };
}

function withRole(choices: ChatChunk['choices']): ChatChunk['choices'] {
  if (choices.every((choice) => choice.delta?.role !== undefined)) return choices;
  return choices.map((choice) => ({ ...choice, delta: { role: 'assistant', ...choice.delta } }));
}
