/** Who works with definitions. */
export interface DefinitionCaller {
  readonly tenantId: string;
  /** The credential's identity, which records name as their author. */
  readonly identityId: string;
  /**
   * Whether he may write definitions. Who may sees graphs as they were written, so that what he reads he can send back; for others
   * credentials in them are redacted.
   */
  readonly isAuthor: boolean;
}
