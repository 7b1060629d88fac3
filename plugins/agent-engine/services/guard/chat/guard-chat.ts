import { linkSignals } from 'agent-gateway';
import type {
  ChatGuard,
  ChatGuarding,
  ChatMessage,
  GuardedChat,
  InputText,
  InputVerdict,
} from '../../../contract.ts';
import { guardChunks, guardCompletion } from './guard-answer.ts';
import { type GuardAtWork, type OnGuardEvent, openGuards, refusal, VerdictError } from './opened-guards.ts';

/** Guards a chat; undefined where no guard wants to look at it. Throws `guard.failed`. */
export async function guardChat(
  contributed: readonly ChatGuard[],
  chat: GuardedChat,
  onEvent: OnGuardEvent,
): Promise<ChatGuarding | undefined> {
  // Ends with the chat.
  const { signal, abort: endEarly } = linkSignals(chat.signal);
  /** Without `work` there is no chat. */
  const ended = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      endEarly(error);
      throw error;
    }
  };
  const guards = await ended(openGuards(contributed, { ...chat, signal }, onEvent));
  if (guards.length === 0) return undefined;
  const looksAtAnswers = guards.some(({ output }) => output !== undefined);
  return {
    endEarly,
    input: (messages) => ended(guardInput(guards, messages)),
    async toolResult(text) {
      const [message] = await guardInput(guards, [{ role: 'tool', content: text }]);
      return message?.content as string;
    },
    stream: (chunks, keeps = []) => (looksAtAnswers ? guardChunks(guards, chunks, keeps) : chunks),
    completion: async (completion) => (looksAtAnswers ? guardCompletion(guards, completion) : completion),
  };
}

async function guardInput(
  guards: readonly GuardAtWork[],
  messages: readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  let current = messages;
  for (const { name, isOut, input, ask, report } of guards) {
    if (isOut() || input === undefined) continue;
    const texts = textsOf(current);
    if (texts.length === 0) continue;
    const read = await ask(
      'input',
      () => input(texts),
      (verdict) => readVerdict(name, verdict, texts),
    );
    if (read === undefined) continue;
    if ('refused' in read) {
      report('input', 'refused');
      throw read.refused;
    }
    if (texts.every(({ text }, index) => text === read.texts[index])) continue;
    report('input', 'replaced');
    current = withTexts(current, read.texts);
  }
  return current;
}

/** What a verdict means. Throws `VerdictError` for what is none: a misspelled one must not let a text pass. Pure. */
function readVerdict(guard: string, verdict: InputVerdict, texts: readonly InputText[]) {
  if (verdict === undefined) return { texts: texts.map(({ text }) => text) };
  if (typeof verdict === 'object' && verdict !== null) {
    if ('refuse' in verdict) return { refused: refusal(guard, 'input', verdict.refuse) };
    const replaced: unknown = verdict.replace;
    if (Array.isArray(replaced) && replaced.length === texts.length && replaced.every(isText)) {
      return { texts: replaced as readonly string[] };
    }
  }
  throw new VerdictError('it said something that is no verdict, or did not replace all texts');
}

const isText = (value: unknown) => typeof value === 'string';

/** All texts of a conversation, in order. */
function textsOf(messages: readonly ChatMessage[]): readonly InputText[] {
  const firstNew = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  return messages.flatMap(({ role, content }, index) => {
    const isNew = index >= firstNew;
    if (typeof content === 'string') return [{ role, text: content, isNew }];
    return (content ?? []).flatMap(({ text }) => (typeof text === 'string' ? [{ role, text, isNew }] : []));
  });
}

/** The conversation with other texts, in the order of `textsOf`. */
function withTexts(messages: readonly ChatMessage[], texts: readonly string[]): readonly ChatMessage[] {
  let next = 0;
  return messages.map((message) => {
    const { content } = message;
    if (typeof content === 'string') return { ...message, content: texts[next++]! };
    if (!Array.isArray(content)) return message;
    return {
      ...message,
      content: content.map((part) =>
        typeof part.text === 'string' ? { ...part, text: texts[next++]! } : part,
      ),
    };
  });
}
