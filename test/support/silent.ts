import pino from 'pino';

/** A log that nobody reads, for what is made without a gateway. */
export const silent = { log: pino({ enabled: false }) };
