import type { FormOf } from './contribution-form.ts';

/** Settings and resources of a plugin that are valid, and name something that comes from elsewhere. */
export interface DoubtfulSettings {
  /**
   * What they name and is not there, one line each, which begins with the variable or resource and holds no secret.
   * It is no mistake, since it may come. Asked when all plugins were set up; answers from memory.
   */
  doubts(): readonly string[];
}

/** The extension point to which plugins contribute them. */
export const DOUBTFUL_SETTINGS = 'gateway.doubtful-settings';
/** What is asked of each. */
export const DOUBTS: FormOf<DoubtfulSettings> = { doubts: 'function' };
