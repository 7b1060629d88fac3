import { field } from 'agent-gateway';
import Type, { type Static } from 'typebox';

/** Settings of the notes plugin. */
export const NotesConfig = Type.Object({
  max_notes: field.integer({
    env: 'NOTES_MAX',
    default: 1000,
    min: 1,
    description: 'Notes that a tenant may keep',
  }),
});

/** The configuration as the plugin reads it. */
export type NotesSettings = Static<typeof NotesConfig>;
