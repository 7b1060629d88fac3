import type { ChatMessage, Finding, Guard, OutputCheck, TextOrigin } from '../../contract.ts';
import { checkInPieces, PIECE } from './check-in-pieces.ts';
import { createInputCheck } from './input/input-check.ts';
import { inspectInput } from './inspect-input.ts';
import { createOutputCheck } from './output/output-check.ts';
import { createRedaction } from './redaction/redaction.ts';

/** What a finding leads to: `block` refuses the text, `report` only counts it. */
export type GuardMode = 'block' | 'report';

/** Told of each finding, whether it blocks or not. Must not throw. */
export type OnFinding = (direction: 'input' | 'tool' | 'output', finding: Finding) => void;

/** The guardrails. Credentials are redacted in every mode. Build it once: the rules are compiled here. */
export function createGuard(options: {
  readonly input: GuardMode;
  readonly output: GuardMode;
  readonly onFinding: OnFinding;
}): Guard {
  const { input, output, onFinding } = options;
  const findInput = createInputCheck();
  const watchOutput = createOutputCheck();
  const { redact, redactStream, redactJsonText } = createRedaction();

  function checkInput(text: string, origin: TextOrigin): Finding | undefined | Promise<Finding | undefined> {
    if (text.length <= PIECE) return tellInput(findInput(text, origin), origin);
    return checkInPieces(text, origin, findInput).then((finding) => tellInput(finding, origin));
  }

  function tellInput(finding: Finding | undefined, origin: TextOrigin): Finding | undefined {
    if (finding === undefined) return undefined;
    onFinding(origin === 'user' ? 'input' : 'tool', finding);
    return input === 'block' ? finding : undefined;
  }

  function checkOutput(secretPrompt: string | undefined): OutputCheck {
    const check = watchOutput(secretPrompt);
    let isOver = false;
    /** A finding stays: it is told once, and forbids the answer from then on. */
    function tell(finding: Finding | undefined): Finding | undefined {
      if (finding === undefined) return undefined;
      if (!isOver) onFinding('output', finding);
      isOver = true;
      return output === 'block' ? finding : undefined;
    }
    // Once reported there is nothing more to find.
    const look = (find: () => Finding | undefined) =>
      isOver && output === 'report' ? undefined : tell(find());
    return { push: (text) => look(() => check.push(text)), end: () => look(check.end) };
  }

  const inspect = (messages: readonly ChatMessage[]) => inspectInput(checkInput, messages);
  return { checkInput, inspect, checkOutput, redact, redactStream, redactJsonText };
}
