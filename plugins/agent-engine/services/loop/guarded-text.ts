import { type Finding, type Guard, GuardErrors } from '../../contract.ts';

/** The text of an answer on its way out. */
export interface GuardedText {
  /** What may leave now: checked and redacted. Throws `guard.output-blocked`. */
  push(text: string): string;
  /** The rest. */
  end(): string;
}

/** Passes an answer through the output check and redaction, piece by piece. */
export function guardText(guard: Guard, secretPrompt: string | undefined): GuardedText {
  const check = guard.checkOutput(secretPrompt);
  const redactor = guard.redactStream();
  const refuse = (finding: Finding | undefined) => {
    if (finding !== undefined)
      throw GuardErrors.outputBlocked(`The rule "${finding.rule}" refused the answer.`);
  };
  return {
    push(text) {
      refuse(check.push(text));
      return redactor.push(text);
    },
    end() {
      refuse(check.end());
      return redactor.end();
    },
  };
}

/**
 * The same for reasoning, which is no answer: where it gives away what it must not, the rest of it is withheld, and the answer goes on.
 */
export function guardReasoning(guard: Guard, secretPrompt: string | undefined): GuardedText {
  const check = guard.checkOutput(secretPrompt);
  const redactor = guard.redactStream();
  let isWithheld = false;
  return {
    push(text) {
      isWithheld ||= check.push(text) !== undefined;
      return isWithheld ? '' : redactor.push(text);
    },
    end() {
      isWithheld ||= check.end() !== undefined;
      return isWithheld ? '' : redactor.end();
    },
  };
}
