import test from 'ava';
import { judgeTarget } from '../../../../../../plugins/agent-engine/services/guard/output/link-target.ts';

const text = 'my secret plan is to leave the company on Monday';

for (const { target, isImage = false, rule } of [
  { target: `https://a.test/?d=${Buffer.from(text).toString('base64')}`, rule: 'data-in-url' },
  { target: `//a.test/${Buffer.from(text).toString('hex')}`, rule: 'data-in-url' },
  {
    target: `https://a.test/#${encodeURIComponent(Buffer.from(text).toString('base64'))}`,
    rule: 'data-in-url',
  },
  { target: `https://a.test/?d=${encodeURIComponent(text.repeat(3))}`, isImage: true, rule: 'data-in-url' },
  { target: `https://a.test/?text=${encodeURIComponent(text.repeat(3))}`, rule: undefined },
  { target: ' JaVaScRiPt:alert(1)', rule: 'active-content' },
  { target: 'data:text/html,<b>x</b>', rule: 'active-content' },
  { target: '#javascript:intro', rule: undefined },
  { target: '/docs/javascript', rule: undefined },
  { target: 'mailto:a@b.test?body=hello', rule: undefined },
]) {
  test(`${isImage ? 'image' : 'link'} ${target.slice(0, 60)} is ${rule ?? 'fine'}`, (t) =>
    t.is(judgeTarget(target, isImage)?.rule, rule));
}
