import type { Finding, OutputCheck } from '../../../contract.ts';
import { createInvisibleRunDetector } from './invisible-run.ts';
import { createMarkupScanner } from './markup-scanner.ts';
import { createLeakDetector } from './prompt-leak.ts';

const LEAK: Finding = {
  rule: 'system-prompt-leak',
  reason: 'the answer repeats a run of words of the system prompt',
};
const SMUGGLED: Finding = {
  rule: 'hidden-characters',
  reason: 'the answer carries a text in invisible characters',
};

/**
 * The check of what a model answers, in pieces of any size: the system prompt given away, URLs that carry text to another server, scripts
 * and embedded pages in rendered Markdown, control tokens that open a turn, invisible text. The first finding stays. Memory is bounded by
 * the secret's length plus 16 KiB; time is linear.
 */
export function createOutputCheck(): (secretPrompt: string | undefined) => OutputCheck {
  return (secretPrompt) => {
    const leak = createLeakDetector(secretPrompt ?? '');
    const isSmuggling = createInvisibleRunDetector();
    const markup = createMarkupScanner();
    let finding: Finding | undefined;
    return {
      push(text) {
        finding ??= leak.push(text) ? LEAK : isSmuggling(text) ? SMUGGLED : markup.push(text);
        return finding;
      },
      end() {
        finding ??= leak.end() ? LEAK : markup.end();
        return finding;
      },
    };
  };
}
