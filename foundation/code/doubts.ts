import type { FormOf } from './contribution-form.ts';

/** Settings of a plugin that are valid, and name something that other plugins bring. */
export interface DoubtfulSettings {
  /**
   * What they name and no plugin that runs brings, one line each, which begins with the variable and holds no secret.
   * It is no mistake, since the plugin may come. Asked when all plugins were set up; answers from memory.
   */
  doubts(): readonly string[];
}

/** The extension point to which plugins contribute them. */
export const DOUBTFUL_SETTINGS = 'gateway.doubtful-settings';
/** What is asked of each. */
export const DOUBTS: FormOf<DoubtfulSettings> = { doubts: 'function' };
