import type { Finding } from '../../../contract.ts';
import { judgeTarget } from './link-target.ts';

const OPENS_TURN =
  /^<(?:\|(?:im_start|start_header_id|system|user|assistant|channel)\||start_of_turn|<sys>)>?/i;
/** Bounded, so that a tag of thousands of blanks costs no more than its length. */
const HANDLER = /[\s/"']on[a-z]{3,24}\s{0,8}=/i;
const SOURCE =
  /[\s/"'](src|href|action|data|poster|background|srcset)\s{0,8}=\s{0,8}["']?([^"'>\s]{1,8192})/gi;
const EMBEDS = /^<(?:iframe|object|embed|base|meta\s[^>]{0,200}http-equiv)\b/i;

/** What forbids a tag in rendered Markdown, `<…>` as it stands in the answer. Undefined for any other. Linear, pure. */
export function judgeTag(tag: string): Finding | undefined {
  if (OPENS_TURN.test(tag)) {
    return { rule: 'control-token', reason: 'the answer holds a control token that opens another turn' };
  }
  if (
    HANDLER.test(tag) ||
    (/^<script\b/i.test(tag) && /\bsrc\s{0,8}=/i.test(tag)) ||
    (EMBEDS.test(tag) && tag.includes('='))
  ) {
    return {
      rule: 'active-content',
      reason: 'the answer holds HTML that runs a script or embeds another page',
    };
  }
  for (const [, attribute, target] of tag.matchAll(SOURCE)) {
    const finding = judgeTarget(target!, attribute!.toLowerCase() !== 'href');
    if (finding !== undefined) return finding;
  }
  return undefined;
}
