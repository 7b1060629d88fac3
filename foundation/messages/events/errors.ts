import { defineErrors } from '../../base/gateway-error.ts';

/** Mistakes of whoever emits an event. They are defects of a plugin, so callers see `internal`. */
export const EventErrors = defineErrors({
  unfit: { code: 'event.unfit', kind: 'internal', title: 'The payload does not fit the schema of its event' },
  tooLarge: { code: 'event.too-large', kind: 'internal', title: 'The payload of an event is too large' },
});
