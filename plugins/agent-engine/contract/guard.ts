import { defineErrors, type StreamRedactor, serviceRef } from 'agent-gateway';
import type { ChatMessage } from '../../records/contract.ts';

/** Where a text comes from that is about to reach a model. */
export type TextOrigin = 'user' | 'tool';

/** Whose request a text belongs to, for the log of what was found in it. */
export interface TextOwner {
  readonly requestId: string;
  readonly principal: { readonly tenantId: string };
}

/** What was found in a text. */
export interface Finding {
  /** Stable name of the rule: `override-instructions`, `encoded-payload`, `system-prompt-leak`. */
  readonly rule: string;
  /** For logs and metrics, in English; never holds the text itself. */
  readonly reason: string;
}

export type { StreamRedactor };

/** Watches an answer as it is made. */
export interface OutputCheck {
  /** Sees the next piece, before redaction; the finding that forbids the answer, once there is one. */
  push(text: string): Finding | undefined;
  end(): Finding | undefined;
}

/** The safety pipeline: what may come in, what may go out. Cheap for ordinary text. */
export interface Guard {
  /**
   * What makes a text unfit for a model; undefined for one that may pass. Returns a promise only for a long text, which
   * is checked piece by piece.
   */
  checkInput(
    text: string,
    origin: TextOrigin,
    owner?: TextOwner,
  ): Finding | undefined | Promise<Finding | undefined>;
  /**
   * Checks what is new in a conversation, which is what stands behind its last answer. Rejects with
   * `guard.input-blocked`.
   */
  inspect(messages: readonly ChatMessage[], owner?: TextOwner): Promise<void>;
  /** `secretPrompt` is the system prompt that an answer must not give away. */
  checkOutput(secretPrompt: string | undefined, owner?: TextOwner): OutputCheck;
  /** The text with every credential replaced by `[REDACTED:<kind>]`; all else is byte-identical. */
  redact(text: string): string;
  redactStream(): StreamRedactor;
  /** The same for JSON as text (arguments of a tool), which stays JSON; other text is redacted as text. */
  redactJsonText(text: string): string;
}

/** What the guardrails answer with. The reason names the rule, never the text. */
export const GuardErrors = defineErrors({
  /** 400: the request was not sent to a model. */
  inputBlocked: {
    code: 'guard.input-blocked',
    kind: 'invalid',
    title: 'The input was refused by the guardrails',
  },
  /** The answer is not shown and nothing is stored. */
  outputBlocked: {
    code: 'guard.output-blocked',
    kind: 'upstream',
    title: 'The answer was refused by the guardrails',
  },
  /** 503: a guard of a plugin failed or was late, so the text is refused. */
  failed: { code: 'guard.failed', kind: 'unavailable', title: 'A guard of chats failed' },
});

/** The guardrails of the deployment. */
export const GuardRef = serviceRef<Guard>('agent-engine.guard');
