import { field } from 'agent-gateway';
import Type, { type Static } from 'typebox';

/** Settings of the plugin. */
export const PascalNameConfig = Type.Object({
  max_items: field.integer({
    default: 1000,
    min: 1,
    description: 'Items that a tenant may keep',
  }),
});

/** The configuration as the plugin reads it. */
export type PascalNameSettings = Static<typeof PascalNameConfig>;
