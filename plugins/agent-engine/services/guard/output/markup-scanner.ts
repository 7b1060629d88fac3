import type { Finding, OutputCheck } from '../../../contract.ts';
import { judgeTag, judgeTarget } from './link-target.ts';

/** What is longer is judged by its beginning. */
const MAX_CAPTURE = 8192;
const SCRIPT_CODE = /[(=;]/;
const SPECIAL = /[`~<[\]\n]/;
const TAG_START = /[a-z/|<]/i;

/**
 * A scanner of Markdown at any split, which judges targets of links and images, and raw tags. Fenced and inline code
 * passes, since examples live there; a backtick that nothing closes in its paragraph makes no code, so what follows it
 * counts after all. Memory is bounded, time linear.
 */
export function createMarkupScanner(): OutputCheck {
  let finding: Finding | undefined;
  // Found in what may turn out to be inline code.
  let pending: Finding | undefined;
  let fence = '';
  let codeRun = 0;
  // Backticks or tildes in a row, and of which character.
  let run = 0;
  let runCharacter = '';
  let isLineStart = true;
  let runAtLineStart = false;
  let isInfoString = false;
  let isBlankLine = true;
  let isAfterFenceEnd = false;

  let before = '';
  let sawImage = false;
  let capture: 'target' | 'tag' | undefined;
  let captured = '';
  // Open parentheses in a target: balanced ones belong to it.
  let depth = 0;
  let isScript = false;
  let hasScriptCode = false;

  function report(found: Finding | undefined): void {
    if (found === undefined) return;
    if (codeRun > 0) pending ??= found;
    else finding ??= found;
  }

  function endCapture(): void {
    if (capture === 'target') report(judgeTarget(captured, sawImage));
    else if (capture === 'tag') {
      if (/^<\/script/i.test(captured) && isScript && hasScriptCode) {
        report({ rule: 'active-content', reason: 'the answer holds a script' });
      }
      if (captured.startsWith('</')) isScript = false;
      else if (/^<script\b/i.test(captured)) {
        isScript = true;
        hasScriptCode = false;
      }
      report(judgeTag(captured));
    }
    capture = undefined;
    captured = '';
  }

  /** A paragraph ends: an open inline code was none. */
  function endParagraph(): void {
    codeRun = 0;
    if (pending !== undefined) finding ??= pending;
    pending = undefined;
  }

  function endRun(): void {
    const length = run;
    run = 0;
    if (fence !== '') {
      if (runAtLineStart && runCharacter === fence[0] && length >= fence.length) isAfterFenceEnd = true;
    } else if (runAtLineStart && length >= 3 && codeRun === 0) {
      fence = runCharacter.repeat(Math.min(length, 100));
      isInfoString = true;
    } else if (runCharacter === '`') {
      if (codeRun === 0) codeRun = length;
      else if (codeRun === length) {
        codeRun = 0;
        pending = undefined;
      }
    }
  }

  function takeLineBreak(): void {
    if (capture === 'target' && captured.trim() !== '') endCapture();
    if (isAfterFenceEnd) fence = '';
    isAfterFenceEnd = false;
    isInfoString = false;
    if (isBlankLine && fence === '') endParagraph();
    isLineStart = true;
    isBlankLine = true;
    sawImage = false;
    before = '\n';
  }

  /** Where a target ends: its parenthesis, or the blank before a title; one in angle brackets may hold blanks. */
  function endsTarget(character: string): boolean {
    if (character === '(') depth += 1;
    if (character === ')') {
      depth -= 1;
      return depth < 0;
    }
    if (character !== ' ') return false;
    const target = captured.trimStart();
    return target !== '' && !target.startsWith('<');
  }

  function takeProse(character: string): void {
    if (capture !== undefined) {
      const isEnd = capture === 'tag' ? character === '>' : endsTarget(character);
      if (capture === 'tag' && character === '<' && captured !== '<') captured = '';
      if (captured.length < MAX_CAPTURE && !(isEnd && capture === 'target')) captured += character;
      if (isEnd || captured.length === MAX_CAPTURE) endCapture();
      else if (capture === 'tag' && captured.length === 2 && !TAG_START.test(character)) {
        capture = undefined;
        captured = '';
      }
    } else if (character === '<') {
      capture = 'tag';
      captured = character;
    } else if (character === '[') sawImage ||= before === '!';
    else if (before === ']' && (character === '(' || character === ':')) {
      // A reference definition may belong to an image.
      sawImage ||= character === ':';
      capture = 'target';
      captured = '';
      depth = 0;
    }
    if (isScript && SCRIPT_CODE.test(character)) hasScriptCode = true;
    before = character;
  }

  function take(character: string): void {
    const isMark = character === '`' || (character === '~' && (isLineStart || run > 0));
    if (isMark && (run === 0 || character === runCharacter)) {
      if (run === 0) runAtLineStart = isLineStart;
      runCharacter = character;
      run += 1;
      isLineStart = false;
      isBlankLine = false;
      // Backticks in what looked like a fence's info string: it was inline code.
      if (isInfoString && character === '`' && fence[0] === '`') {
        isInfoString = false;
        codeRun = fence.length;
        fence = '';
      }
      return;
    }
    if (run > 0) endRun();
    if (character === '\n') {
      takeLineBreak();
      return;
    }
    const isIndent = character === ' ' || character === '\t' || character === '>' || character === '\r';
    if (!isIndent) {
      isBlankLine = false;
      isLineStart = false;
      isAfterFenceEnd = false;
    }
    if (fence === '') takeProse(character);
  }

  /**
   * Most pieces are prose in the middle of a line, or code in a fence: nothing in them changes a state but `before`.
   */
  function isOrdinary(text: string): boolean {
    const isIdle = capture === undefined && run === 0 && !isLineStart && !isScript && !isAfterFenceEnd;
    return isIdle && before !== ']' && before !== '!' && !SPECIAL.test(text);
  }

  return {
    push(text) {
      if (isOrdinary(text)) {
        before = text.at(-1) ?? before;
        return finding;
      }
      for (let index = 0; index < text.length; index += 1) take(text[index]!);
      return finding;
    },
    end() {
      if (run > 0) endRun();
      if (capture === 'target') endCapture();
      endParagraph();
      return finding;
    },
  };
}
