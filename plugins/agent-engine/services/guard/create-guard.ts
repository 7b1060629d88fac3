import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRedaction, type Scope } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import {
  type ChatMessage,
  type Finding,
  type Guard,
  GuardErrors,
  type OutputCheck,
  type TextOrigin,
  type TextOwner,
} from '../../contract.ts';
import { findInput } from './input/input-check.ts';
import { createOutputCheck } from './output/output-check.ts';

/** Opens the guardrails as the deployment wants them; each finding is counted and logged, without the text. */
export function openGuard(scope: Pick<Scope<AgentEngineSettings>, 'config' | 'log' | 'metric'>): Guard {
  const { config, log } = scope;
  const findings = scope.metric.counter({
    name: 'svc_guard_findings_total',
    help: 'What the guardrails found, whether it was refused or only reported.',
    labels: ['direction', 'rule'],
  });
  return createGuard({
    input: config.guard_input,
    output: config.guard_output,
    onFinding: (direction, { rule, reason }, owner) => {
      findings.inc({ direction, rule });
      const whose = owner && { requestId: owner.requestId, tenantId: owner.principal.tenantId };
      log.warn({ direction, rule, ...whose }, `guardrails: ${reason}`);
    },
  });
}

/** What a finding leads to: `block` refuses the text, `report` only counts it. */
export type GuardMode = 'block' | 'report';

/** Called for each finding, whether it blocks or not. Must not throw. */
type OnFinding = (
  direction: 'input' | 'tool' | 'output',
  finding: Finding,
  owner: TextOwner | undefined,
) => void;

/** The guardrails. Credentials are redacted in every mode. Build it once: the rules are compiled at their first use. */
export function createGuard(options: {
  readonly input: GuardMode;
  readonly output: GuardMode;
  readonly onFinding: OnFinding;
}): Guard {
  const { input, output, onFinding } = options;
  const { redact, redactStream, redactJsonText } = createRedaction();

  const checkInput: Guard['checkInput'] = (text, origin, owner) => {
    if (text.length <= PIECE) return reportInput(findInput(text, origin), origin, owner);
    return checkInPieces(text, origin, findInput).then((finding) => reportInput(finding, origin, owner));
  };

  function reportInput(
    finding: Finding | undefined,
    origin: TextOrigin,
    owner: TextOwner | undefined,
  ): Finding | undefined {
    if (finding === undefined) return undefined;
    onFinding(origin === 'user' ? 'input' : 'tool', finding, owner);
    return input === 'block' ? finding : undefined;
  }

  function checkOutput(secretPrompt: string | undefined, owner?: TextOwner): OutputCheck {
    const check = createOutputCheck(secretPrompt ?? '');
    let isOver = false;
    /** A finding stays: it is reported once, and forbids the answer from then on. */
    function report(finding: Finding | undefined): Finding | undefined {
      if (finding === undefined) return undefined;
      if (!isOver) onFinding('output', finding, owner);
      isOver = true;
      return output === 'block' ? finding : undefined;
    }
    // Once reported there is nothing more to find.
    const look = (find: () => Finding | undefined) =>
      isOver && output === 'report' ? undefined : report(find());
    return { push: (text) => look(() => check.push(text)), end: () => look(check.end) };
  }

  const inspect: Guard['inspect'] = (messages, owner) => inspectInput(checkInput, messages, owner);
  return { checkInput, inspect, checkOutput, redact, redactStream, redactJsonText };
}

/** Where the messages of a role come from; `function` is what `tool` was before it. */
const ORIGINS: ReadonlyMap<string, TextOrigin> = new Map([
  ['user', 'user'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);

/**
 * Checks what is new in a conversation: the messages of users and tools behind the last answer. Rejects with
 * `guard.input-blocked`, naming the rule, at the first finding; what was said before passed the check when it was new.
 */
export async function inspectInput(
  check: Guard['checkInput'],
  messages: readonly ChatMessage[],
  owner?: TextOwner,
): Promise<void> {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const { role, content } of messages.slice(last + 1)) {
    const origin = ORIGINS.get(role);
    if (origin === undefined) continue;
    for (const text of textsOf(content)) {
      const finding = await check(text, origin, owner);
      if (finding === undefined) continue;
      throw GuardErrors.inputBlocked(`The rule "${finding.rule}" refused the input: ${finding.reason}.`, {
        param: 'messages',
      });
    }
  }
}

function textsOf(content: ChatMessage['content']): readonly string[] {
  if (typeof content === 'string') return [content];
  return (content ?? []).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}

/** Characters that are looked at in one go: some milliseconds of work, a fifth of a second for hostile text. */
export const PIECE = 64 * 1024;
/** Characters that two pieces share, so that what lies across their border is seen whole. */
export const OVERLAP = 4 * 1024;

/** Checks a long text piece by piece, and lets other requests run in between. */
export async function checkInPieces(
  text: string,
  origin: TextOrigin,
  check: (text: string, origin: TextOrigin) => Finding | undefined,
): Promise<Finding | undefined> {
  for (let start = 0; start === 0 || start + OVERLAP < text.length; start += PIECE - OVERLAP) {
    const finding = check(text.slice(start, start + PIECE), origin);
    if (finding !== undefined) return finding;
    await nextTurn();
  }
  return undefined;
}
