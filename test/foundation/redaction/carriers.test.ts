import test from 'ava';
import { createRedaction } from '../../../foundation/redaction/redaction.ts';
import { chosen, isWhole, SEED } from '../../support/sample.ts';
import { CARRIERS } from './carriers.ts';
import { credentialSamples, leaks } from './credential-samples.ts';
import { feed } from './pieces.ts';

const { redact, redactStream } = createRedaction();
const samples = credentialSamples(SEED);

for (const { title, carry, unwrap, isWhole: takesAll } of CARRIERS) {
  test(`every kind of credential is found as ${title}, however the stream is cut`, (t) => {
    for (const found of samples) {
      // Base64 in base64 is not looked into.
      if (found.kind === 'encoded-credential' && title.includes('base64')) continue;
      const carried = carry(`${found.lead}${found.secret}${found.tail}`);
      const text = `Here: ${carried} and more.`;
      const redacted = redact(text);
      const about = `TEST_SEED=${SEED}: ${found.kind}\n${text}\n${redacted}`;
      t.regex(redacted, /\[REDACTED:[a-z0-9-]+\]/, about);
      t.true(redacted.startsWith('Here: '), about);
      // A block without an end, and a password without one, go on.
      if (!found.isOpen) t.true(redacted.endsWith(' and more.'), about);
      const rest = redacted.slice('Here: '.length, found.isOpen ? undefined : -' and more.'.length);
      if (takesAll) t.regex(rest, /^\[REDACTED:[a-z0-9-]+\]$/, about);
      t.false(leaks(found.isOpen ? rest : unwrap(rest), found), about);
      t.is(feed(redactStream(), text.split('')).join(''), redacted, about);
      const splits = Array.from({ length: text.length }, (_, index) => index);
      for (const at of isWhole ? splits : chosen('', splits, 8)) {
        t.is(feed(redactStream(), [text.slice(0, at), text.slice(at)]).join(''), redacted, `${about}\n${at}`);
      }
    }
  });
}
