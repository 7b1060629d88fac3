import type { Finding, OutputCheck } from '../../../contract.ts';
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
 * The check of what a model answers, in pieces of any size: the system prompt given away, URLs that carry text to
 * another server, scripts and embedded pages in rendered Markdown, control tokens that open a turn, invisible text. The
 * first finding stays. Memory is bounded by the secret's length plus 16 KiB; time is linear.
 */
export function createOutputCheck(secretPrompt: string): OutputCheck {
  const leak = createLeakDetector(secretPrompt);
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
}

/** A flag has six tags; a message has more. */
const TAGS = 8;
/** Emoji sequences need a joiner or selector here and there, never so many in a row. */
const OTHERS = 32;
/** UTF-16 units of which such a run is made. */
const ANY = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\ufe00-\ufe0f]|\udb40|[\udc20-\uddef]/;

/** A detector of text smuggled out in invisible characters, in pieces: true once there is a run. Constant memory. */
function createInvisibleRunDetector(): (text: string) => boolean {
  let tags = 0;
  let others = 0;
  let isPlane14 = false;
  let found = false;
  return (text) => {
    if (text === '') return found;
    if (!ANY.test(text)) {
      tags = 0;
      others = 0;
      isPlane14 = false;
      return found;
    }
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code < 0x200b) {
        tags = 0;
        others = 0;
      } else if (code === 0xdb40) {
        isPlane14 = true;
        continue;
      } else if (isPlane14 && code >= 0xdc00 && code <= 0xddef) tags += 1;
      else if (isInvisible(code)) others += 1;
      else {
        tags = 0;
        others = 0;
      }
      isPlane14 = false;
      found ||= tags >= TAGS || others >= OTHERS;
    }
    return found;
  };
}

function isInvisible(code: number): boolean {
  return (
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x206f) ||
    (code >= 0xfe00 && code <= 0xfe0f) ||
    code === 0xfeff
  );
}
