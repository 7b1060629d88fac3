import { defineKind } from 'agent-gateway';
import Type from 'typebox';

/** `kind: PascalNamePreset` in agents.d: a text that items are made from. */
export const presetKind = defineKind({
  kind: 'PascalNamePreset',
  summary: 'A text that items are made from',
  spec: Type.Object({ text: Type.String({ minLength: 1, maxLength: 2000 }) }),
  build: ({ spec }) => spec.text,
});
