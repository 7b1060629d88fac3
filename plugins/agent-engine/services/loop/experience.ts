import { type Clock, type Logger, throttledLog, within } from 'agent-gateway';
import type {
  AgentSignal,
  ChatMessage,
  Experience,
  ExperiencedRun,
  Guard,
  RunExperience,
  TextOwner,
} from '../../contract.ts';
import { textOf } from '../../contract.ts';
import type { Frame, Turn } from './frame.ts';
import type { Toolbox } from './toolbox.ts';

/** Passes the signals of a run to the plugins that learn from it, if any. */
export interface FrameExperience {
  tell(signal: AgentSignal): void;
  /** The run is over, or paused. */
  end(): void;
}

/**
 * Begins a run with the plugins that learn from it, and puts their advice into the frame. Not a promise where there are
 * none.
 */
export type OpenExperience = (
  turn: Turn,
  frame: Frame,
  toolbox: Toolbox,
) => FrameExperience | Promise<FrameExperience>;

/** No plugin learns from the run. */
export const NO_EXPERIENCE: FrameExperience = { tell: () => {}, end: () => {} };

/** Characters of one plugin's advice, and of its memo as JSON. */
const MAX_ADVICE = 6_000;
const MAX_MEMO = 16 * 1024;
/** Milliseconds that a run waits for one plugin. */
const BEGIN_MS = 250;

/** What `createExperience` works with. */
interface ExperienceParts {
  readonly learners: () => readonly Experience[];
  readonly guard: Pick<Guard, 'checkInput'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}

/** Opens runs for the plugins that learn from them. */
export function createExperience({ learners, guard, clock, log }: ExperienceParts): OpenExperience {
  const logFailure = throttledLog<{ readonly err: unknown; readonly learner: string }>(
    clock,
    ({ err, learner }, count) =>
      log.warn({ err, learner, count }, 'learning from the run of an agent failed'),
  );

  function attempt({ name }: Experience, work: () => void): void {
    try {
      work();
    } catch (err) {
      logFailure({ err, learner: name });
    }
  }

  /** Not a promise where the plugin answers at once. */
  function begin(
    learner: Experience,
    run: ExperiencedRun,
  ): RunExperience | undefined | Promise<RunExperience | undefined> {
    const failed = (err: unknown) => {
      logFailure({ err, learner: learner.name });
      return undefined;
    };
    try {
      const begun = learner.begin(run);
      return begun instanceof Promise
        ? within(BEGIN_MS, 'what a plugin learned', begun).catch(failed)
        : begun;
    } catch (err) {
      return failed(err);
    }
  }

  /** The advice that may stand in a prompt. */
  async function checked(
    learner: Experience,
    { advice = '' }: RunExperience,
    owner: TextOwner,
  ): Promise<string> {
    if (advice.length > MAX_ADVICE) {
      logFailure({
        err: new Error(`advice of ${advice.length} characters is left out`),
        learner: learner.name,
      });
      return '';
    }
    const finding = advice === '' ? undefined : await guard.checkInput(advice, 'tool', owner);
    if (finding === undefined) return advice;
    logFailure({ err: new Error(`the rule "${finding.rule}" refused the advice`), learner: learner.name });
    return '';
  }

  async function open(
    turn: Turn,
    frame: Frame,
    toolbox: Toolbox,
    asked: readonly Experience[],
  ): Promise<FrameExperience> {
    const { agent, path, messages, experience: paused } = frame;
    const { principal, sessionId, requestId, taskClass } = turn.context;
    const begun: { readonly learner: Experience; readonly run: RunExperience }[] = [];
    for (const learner of asked) {
      const run = await begin(learner, {
        tenantId: principal.tenantId,
        agent: agent.name,
        agentPath: path,
        sessionId,
        requestId,
        task: taskOf(messages),
        taskClass: taskClass ?? agent.evolution?.taskClass,
        tools: toolbox.refs(),
        minConfidence: agent.evolution?.minConfidence,
        maxSuggestions: agent.evolution?.maxSuggestions,
        memo: paused?.memos[learner.name],
      });
      if (run !== undefined) begun.push({ learner, run });
    }
    if (paused === undefined && begun.length > 0) {
      const advice = await Promise.all(begun.map(({ learner, run }) => checked(learner, run, turn.context)));
      frame.experience = {
        advice: advice.filter((text) => text !== '').join('\n\n'),
        memos: Object.fromEntries(
          begun.flatMap(({ learner, run: { memo } }) => (isKept(memo) ? [[learner.name, memo]] : [])),
        ),
      };
    }
    const wanted = agent.evolution?.collect ?? [];
    return {
      tell(signal) {
        if (wanted.length > 0 && !wanted.includes(signal.type)) return;
        for (const { learner, run } of begun) attempt(learner, () => run.tell(signal));
      },
      end() {
        for (const { learner, run } of begun) attempt(learner, () => run.end?.());
      },
    };
  }

  return (turn, frame, toolbox) => {
    if (frame.agent.evolution === undefined) return NO_EXPERIENCE;
    const asked = learners();
    return asked.length === 0 ? NO_EXPERIENCE : open(turn, frame, toolbox, asked);
  };
}

/** The last text of the caller. */
function taskOf(messages: readonly ChatMessage[]): string {
  const said = messages.findLast(({ role }) => role === 'user');
  return said === undefined ? '' : textOf(said);
}

function isKept(memo: unknown): boolean {
  return memo !== undefined && (JSON.stringify(memo) ?? '').length <= MAX_MEMO;
}
