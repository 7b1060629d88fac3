import test from 'ava';
import { redactValue } from '../../../../plugins/agent-engine/contract.ts';
import { createGuard } from '../../../../plugins/agent-engine/services/guard/create-guard.ts';

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => {} });
/** What chance makes of bytes: it looks like a token of Okta. */
const LOOKALIKE = `/00${'aB3dE5gH7jK9mN1pQ2rS'.repeat(2)}/`;
const SOUND = `${'UklGRgAAAAA'.repeat(100)}${LOOKALIKE}${'b'.repeat(200)}`;
const MEDIA = {
  'a sound': { audio: { data: SOUND } },
  'a sound with its padding': { audio: { data: `${SOUND}==` } },
  'an image': { images: [{ image_url: { url: `data:image/svg+xml;base64,${SOUND}` } }] },
};

for (const [name, value] of Object.entries(MEDIA)) {
  test(`${name} stays as it is`, (t) => t.deepEqual(redactValue(value, guard) as unknown, value));
}

const json = Buffer.from(JSON.stringify({ filler: 'x'.repeat(2000), key: `AKIA${'QW3RTY7UIOPASD2F'}` }));
const OTHERS = {
  'a short text': { data: LOOKALIKE },
  'a text with anything else in it': { data: `${SOUND} ${LOOKALIKE}` },
  'a text that is no member': SOUND,
  'base64 of a text': { data: `${'a'.repeat(2000)}${LOOKALIKE}` },
  'base64 of JSON that holds a credential': { data: json.toString('base64') },
  'a URL of an unknown form': { url: `data:${LOOKALIKE};base64,${SOUND}` },
};

for (const [name, value] of Object.entries(OTHERS)) {
  test(`${name} is redacted`, (t) => t.regex(JSON.stringify(redactValue(value, guard)), /\[REDACTED:/));
}
